"""Rows for the charts: what each request did when, what each step carried, and the one row that frames a picture."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import pandas as pd

from costmodel import serving
from costmodel.serving.request import UNLIMITED
from pages.parts import format
from pages.parts.datasets import Dataset, of_frames, row
from pages.scheduler.runs import BUDGETED

MOST_REQUESTS = 200  # drawn in one timeline: a row each, and at most MOST_MARKS marks in all
MOST_MARKS = 1800
THICKNESS = {"prefill": 0.88, "decode": 0.56, "preempted": 0.56, "transfer": 0.3}
MEANING = {"prefill": "prefill", "decode": "decode", "preempted": "ink", "queued": "muted", "transfer": "cached"}


@dataclass(frozen=True)
class Window:
    """A part of a run, in seconds."""

    start: float
    end: float

    @classmethod
    def of(cls, run: serving.Run, per_mille: tuple[int, ...] = (0, 1000)) -> Window:
        """The thousandths ``per_mille`` of a run's length, from its first arrival on."""
        first, last = run_span(run)
        low, high = (per_mille[0], per_mille[-1]) if len(per_mille) == 2 else (0, 1000)  # noqa: PLR2004
        low, high = (low, high) if low < high else (0, 1000)
        return cls(first + (last - first) * low / 1000, first + (last - first) * high / 1000)


def run_span(run: serving.Run) -> tuple[float, float]:
    """First arrival and end of the last step (a second later where there is none)."""
    arrivals = run.outcome.arrival[~np.isnan(run.outcome.arrival)]
    ends = run.segments.end
    first = float(arrivals.min()) if arrivals.size else 0.0
    last = float(ends.max()) if ends.size else first + 1.0
    return first, max(last, first + 1e-9)


def bars(run: serving.Run) -> pd.DataFrame:
    """A row a bar: request row (0 on top), times, thickness, what it is, and a sentence for whoever asks."""
    order = np.argsort(run.requests["arrival_s"].to_numpy(), kind="stable")[:MOST_REQUESTS]
    names = run.requests["id"].to_numpy()[order]
    place = dict(zip(names, range(len(names)), strict=True))
    table = run.timeline[run.timeline["id"].isin(place)]
    table = table[table["end_s"] > table["start_s"]].head(MOST_MARKS)
    height = table["id"].map(place).astype(float)
    half = table["phase"].map(THICKNESS).fillna(0.0) / 2
    return pd.DataFrame(
        {
            "phase": table["phase"],
            "meaning": table["phase"].map(MEANING),
            "t0": table["start_s"],
            "t1": table["end_s"],
            "y": height + 0.5,
            "y0": height + 0.5 - half,
            "y1": height + 0.5 + half,
            "text": [
                f"{id_}: {phase}, {format.seconds(start)} to {format.seconds(end)}"
                for id_, phase, start, end in zip(
                    table["id"], table["phase"], table["start_s"], table["end_s"], strict=True
                )
            ],
        }
    ).reset_index(drop=True)


def stalls(run: serving.Run) -> pd.DataFrame:
    """Times in which whoever decodes gets nothing, because a step carries prompts only; neighbours merged."""
    s = run.segments
    idle = (s.prefill_tokens > 0) & (s.decode_tokens == 0) & (s.running > s.sequences)
    starts, ends = s.start[idle], s.end[idle]
    if not starts.size:
        return pd.DataFrame({"t0": [], "t1": []}, dtype=np.float64)
    gap = np.flatnonzero(np.r_[True, starts[1:] > ends[:-1] + 1e-12])
    return pd.DataFrame({"t0": starts[gap], "t1": np.r_[ends[gap[1:] - 1], ends[-1]]})


def composition(run: serving.Run) -> pd.DataFrame:
    """A row a step (a segment of equal ones): tokens of each kind, blocks, waiting; zeros where nothing runs."""
    s = run.segments
    rows = pd.DataFrame(
        {
            "t": s.start,
            "decode": s.decode_tokens,
            "total": s.decode_tokens + s.prefill_tokens + s.padding_tokens,
            "blocks": s.blocks_used,
            "waiting": s.waiting,
        }
    )
    follows = np.r_[s.start[1:], np.inf]
    empty = s.end < follows - 1e-12
    after = pd.DataFrame({"t": s.end[empty], "decode": 0, "total": 0, "blocks": s.blocks_used[empty], "waiting": 0})
    return pd.concat([rows, after]).sort_values("t", kind="stable").reset_index(drop=True)


def row_names(run: serving.Run) -> pd.DataFrame:
    """Every fifth (tenth, ...) request with its row, so that names do not collide."""
    order = np.argsort(run.requests["arrival_s"].to_numpy(), kind="stable")[:MOST_REQUESTS]
    every = max(1, int(np.ceil(len(order) / 30)) * 5)
    rows = np.arange(0, len(order), every)
    names = [str(name)[:8] for name in run.requests["id"].to_numpy()[order[rows]]]
    return pd.DataFrame({"y": rows + 0.5, "name": names})


def frame(run: serving.Run, window: Window, crossing: float | None, budget: int | None, block: str) -> Dataset:
    """The row that frames a timeline: its window, the tops of its scales, and what the pool of blocks is called."""
    total, used, waiting = _tops(run)
    most = max(total, float(budget or 1))
    # A pool far larger than what is used would press its curve flat: then the axis ends above the peak.
    pool = float(run.facts.num_blocks) if run.facts.num_blocks < UNLIMITED else math.nan
    whose = " in the step's pool" if run.facts.pools > 1 else ""
    return row(
        t0=window.start,
        t1=window.end,
        rows=float(max(min(len(run.requests), MOST_REQUESTS), 1)),
        tokens=most,
        crossing=crossing if crossing is not None and 1 < crossing <= most else math.nan,
        blocks=pool if pool <= 4 * used else max(used * 1.25, 1.0),  # nan is not below
        blocks_are=f"{block}s in use{whose}, of {'as many as asked for' if math.isnan(pool) else f'{pool:,.0f}'}",
        waiting=max(waiting, 1.0),
    )


def _tops(run: serving.Run) -> tuple[float, float, float]:
    """Most tokens of a step (1 where there is none), blocks in use, and requests that wait."""
    s = run.segments
    if not s.start.size:
        return 1.0, 0.0, 0.0
    total = s.decode_tokens + s.prefill_tokens + s.padding_tokens
    return float(total.max()), float(s.blocks_used.max()), float(s.waiting.max())


def cursor(start: float, number: int) -> Dataset:
    """The step that is looked at."""
    return row(t=start, text=f"step {number:,}")


def datasets(run: serving.Run, window: Window, crossing: float | None, block: str = "KV block") -> dict[str, Dataset]:
    """Everything that a timeline shows, but for the cursor; ``block``: the name of a block of its pool."""
    return {"frame": frame(run, window, crossing, budget_of(run), block), **_whole(run)}


@lru_cache(maxsize=32)
def _whole(run: serving.Run) -> dict[str, Dataset]:
    """What every picture of a run shows, whichever part of it; made once, for it is drawn many times."""
    return of_frames({"bars": bars(run), "stalls": stalls(run), "steps": composition(run), "names": row_names(run)})


def budget_of(run: serving.Run) -> int | None:
    """Tokens that a step of the run's policy may have."""
    policy = run.facts.policy
    return next((int(getattr(policy, knob)) for knob in BUDGETED.values() if hasattr(policy, knob)), None)
