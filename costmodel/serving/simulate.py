"""Run requests through a scheduling policy: the one call that the rest of the dashboard needs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from costmodel.serving.explain import Replay
from costmodel.serving.options import Options, Setup, prepare
from costmodel.serving.policies.base import Policy
from costmodel.serving.results import Facts, Run
from costmodel.serving.simulation import Simulation
from costmodel.serving.summary import slo_of

_STEPS_BETWEEN_CALLS = 256  # how often progress and cancel are called


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
    return _plain(setup, "")


def _plain(setup: Setup, note: str) -> Run:
    """Run by the plain engine."""
    simulation = setup.begin()
    cancelled, rounds = _drive(simulation, len(setup.work.served), setup.options)
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


def _drive(simulation: Simulation, served: int, options: Options) -> tuple[bool, int]:
    """Do all steps; return whether the caller ended it, and how many were done."""
    rounds = 0
    for rounds, _ in enumerate(simulation, start=1):  # noqa: B007  # the count is wanted after the loop
        if rounds % _STEPS_BETWEEN_CALLS == 0:
            if options.progress is not None:
                options.progress(simulation.finished / served)
            if options.cancel is not None and options.cancel():
                return True, rounds
    if options.progress is not None:
        options.progress(1.0)
    return False, rounds


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
