"""A run as a trace that chrome://tracing and ui.perfetto.dev open: requests as threads, strips as counters.

The format is the JSON array form of the Trace Event Format (Google, "Trace Event Format", 2016): times in microseconds.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from costmodel.serving.results import Run

_MICROSECONDS = 1e6
_REQUESTS, _STEPS = 1, 2  # process ids: one group of rows each
_COUNTERS = ("prefill_tokens", "decode_tokens", "blocks_used", "waiting")


def chrome_trace(run: Run) -> dict[str, Any]:
    """Return the trace of a run, to be written as JSON.

    >>> from costmodel import serving
    >>> requests = serving.at_once(count=1, prompt=4, output=2)
    >>> run = serving.simulate(requests, serving.policy("vllm_v1"), step_seconds=1.0)
    >>> events = serving.chrome_trace(run)["traceEvents"]
    >>> [event["name"] for event in events if event["ph"] == "X" and event["pid"] == 1]
    ['prefill', 'decode']
    """
    events = [*_names(run), *_requests(run), *_steps(run)]
    return {"traceEvents": events, "displayTimeUnit": "ms", "otherData": {"policy": run.facts.policy.copies}}


def _names(run: Run) -> Iterator[dict[str, Any]]:
    for pid, name in ((_REQUESTS, "requests"), (_STEPS, "steps")):
        yield {"ph": "M", "pid": pid, "name": "process_name", "args": {"name": name}}
    for thread, name in enumerate(run.work.names):
        yield {"ph": "M", "pid": _REQUESTS, "tid": thread, "name": "thread_name", "args": {"name": name}}


def _requests(run: Run) -> Iterator[dict[str, Any]]:
    threads = {name: thread for thread, name in enumerate(run.work.names)}
    rows: Iterator[Any] = run.timeline.itertuples(index=False)
    for row in rows:
        span = {"ts": row.start_s * _MICROSECONDS, "dur": (row.end_s - row.start_s) * _MICROSECONDS}
        yield {"ph": "X", "pid": _REQUESTS, "tid": threads[row.id], "name": row.phase, "cat": "request", **span}


def _steps(run: Run) -> Iterator[dict[str, Any]]:
    rows: Iterator[Any] = run.steps.itertuples(index=False)
    for row in rows:
        start, figures = row.start_s * _MICROSECONDS, row._asdict()
        args = {name: int(figures[name]) for name in ("steps", "prefill_tokens", "decode_tokens", "sequences")}
        span = {"ts": start, "dur": row.seconds * _MICROSECONDS}
        yield {"ph": "X", "pid": _STEPS, "tid": 0, "name": row.bound or "step", "cat": "step", "args": args, **span}
        for name in _COUNTERS:
            yield {"ph": "C", "pid": _STEPS, "name": name, "ts": start, "args": {name: int(figures[name])}}
