"""Run requests through a scheduling policy: the one call that the rest of the dashboard needs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from costmodel.serving.explain import Replay
from costmodel.serving.jump import engine_for, why_not
from costmodel.serving.jump.outcome import Reader
from costmodel.serving.options import Options, Setup, prepare
from costmodel.serving.policies.base import Policy
from costmodel.serving.results import Facts, Run
from costmodel.serving.summary import slo_of

_ROUNDS_BETWEEN_CALLS = 256  # how often progress and cancel are called


def simulate(requests: object, policy: Policy, **options: Any) -> Run:
    """Run requests through a scheduling policy.

    Parameters
    ----------
    requests: a table with arrival_s, prompt_tokens, output_tokens and, if wanted, id, priority, token_ids, prefix_ids.
    policy: from ``serving.policy``.
    options: see ``Options``; at least ``step_seconds``, or a ``model`` and a ``hardware``.

    Raises
    ------
    ConfigError: for values that cannot be used.

    >>> import pandas as pd
    >>> from costmodel import serving
    >>> table = pd.DataFrame({"id": ["A", "B"], "arrival_s": [0, 1], "prompt_tokens": [5, 5], "output_tokens": [3, 1]})
    >>> run = serving.simulate(table, serving.policy("orca"), step_seconds=1.0, engine="steps")
    >>> [tokens for tokens, free in run.schedule]
    [{'A': 5}, {'A': 1, 'B': 5}, {'A': 1}]
    """
    setup = prepare(requests, policy, Options(**options))
    if setup.options.engine == "steps":
        return _plain(setup, "")
    reason = why_not(setup)
    return _plain(setup, f"run by the plain engine: {reason}") if reason else _jump(setup)


def _plain(setup: Setup, note: str) -> Run:
    """Run by the plain engine."""
    simulation = setup.begin()
    cancelled = _drive(simulation.advance, lambda: simulation.finished, setup)
    gaps = np.array(simulation.record.other_gaps, dtype=np.float64)
    return Run(
        setup.work,
        simulation.outcome(),
        simulation.segments(),
        _facts(setup, "steps", len(simulation.record.start), note, simulation.livelock, cancelled=cancelled),
        np.column_stack([gaps, np.ones(len(gaps))]),
        simulation,
        _replay(setup),
    )


def _jump(setup: Setup) -> Run:
    """Run by the jump engine."""
    engine = engine_for(setup)
    cancelled = _drive(engine.advance, lambda: engine.finished, setup)
    log = Reader(engine)
    return Run(
        setup.work,
        log.outcome(),
        log.segments(),
        _facts(setup, "jump", engine.iterations, "", engine.livelock, cancelled=cancelled),
        log.other_gaps(),
        log,
        _replay(setup),
    )


def _drive(advance: Callable[[int], bool], finished: Callable[[], int], setup: Setup) -> bool:
    """Go on to the end, or until the caller ends it; return whether he did."""
    options, served = setup.options, max(len(setup.work.served), 1)
    while advance(_ROUNDS_BETWEEN_CALLS):
        if options.progress is not None:
            options.progress(finished() / served)
        if options.cancel is not None and options.cancel():
            return True
    if options.progress is not None:
        options.progress(1.0)
    return False


def _facts(setup: Setup, engine: str, rounds: int, note: str, livelock: str | None, *, cancelled: bool) -> Facts:
    return Facts(
        policy=setup.side.policy,
        engine=engine,
        iterations=rounds,
        num_blocks=setup.side.num_blocks,
        block_size=setup.side.block_size,
        pricing=setup.side.pricer.words,
        priced=setup.side.pricer.priced,
        pools=1 if setup.prefill is None else 2,
        slo=slo_of(setup.options.slo),
        note=note,
        livelock=livelock,
        cancelled=cancelled,
    )


def _replay(setup: Setup) -> Callable[[], Replay]:
    return lambda: Replay(lambda observer: iter(setup.begin(mapped=True, observer=observer)))
