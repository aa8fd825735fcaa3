"""Run requests through a scheduling policy: the one call that the rest of the dashboard needs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from costmodel.serving.explain import Replay
from costmodel.serving.jump import engine_for, why_not
from costmodel.serving.jump.outcome import outcome_of, phases_of, segments_of
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
    cancelled, rounds = _drive(iter(simulation), lambda: simulation.finished, setup)
    gaps = np.array(simulation.record.other_gaps, dtype=np.float64)
    return Run(
        setup.work,
        simulation.outcome(),
        simulation.segments(),
        _facts(setup, "steps", rounds, note, simulation.livelock, cancelled=cancelled),
        np.column_stack([gaps, np.ones(len(gaps))]),
        lambda: simulation.record.phases,
        _replay(setup),
    )


def _jump(setup: Setup) -> Run:
    """Run by the jump engine."""
    engine = engine_for(setup)
    cancelled, rounds = _drive(iter(engine.advance, False), lambda: engine.finished, setup)
    return Run(
        setup.work,
        outcome_of(engine),
        segments_of(engine),
        _facts(setup, "jump", rounds, "", engine.livelock, cancelled=cancelled),
        np.array(engine.log.gaps, dtype=np.float64).reshape(-1, 2),
        lambda: phases_of(engine),
        _replay(setup),
    )


def _drive(rounds: Iterator[object], finished: Callable[[], int], setup: Setup) -> tuple[bool, int]:
    """Go on to the end; return whether the caller ended it, and how many rounds it took."""
    options, served = setup.options, max(len(setup.work.served), 1)
    done = 0
    for _ in rounds:
        done += 1
        if done % _ROUNDS_BETWEEN_CALLS == 0:
            if options.progress is not None:
                options.progress(finished() / served)
            if options.cancel is not None and options.cancel():
                return True, done
    if options.progress is not None:
        options.progress(1.0)
    return False, done


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
