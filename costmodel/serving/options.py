"""What a simulation is asked for, checked, and what follows from it: prices, blocks, and the pools of engines."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

from costmodel.dtypes import DTYPES
from costmodel.errors import ConfigError
from costmodel.hardware import Hardware
from costmodel.memory import Allocation, memory
from costmodel.model import Model
from costmodel.precision import Precision, settle
from costmodel.rates import Rates
from costmodel.serving.disaggregated import DisaggregatedSimulation, Link, PrefillPool
from costmodel.serving.estimate import priced_steps
from costmodel.serving.policies.base import Limits, Policy, check_whole
from costmodel.serving.pricing import EqualSteps, Pricer
from costmodel.serving.request import UNLIMITED
from costmodel.serving.simulation import Side, Simulation
from costmodel.serving.steps import Observer
from costmodel.serving.summary import Slo, slo_of
from costmodel.serving.workload import Oversize, Workload, fitted, workload

BLOCK_SIZE = 16


@dataclass(frozen=True, kw_only=True)
class Options:
    """How requests are to be simulated.

    Attributes
    ----------
    step_seconds: every step takes this long, whatever is in it ("unit steps"); arrivals are in the same unit.
    model, hardware, precision, rates, host, tensor_parallel: what prices a step otherwise; see ``costmodel.price``.
    num_blocks, block_size: the KV pool. None: what ``costmodel.memory`` says fits (``UNLIMITED`` blocks without a
        model), in blocks of 16 tokens.
    utilization, reserve_bytes, allocation: how much of the memory, less what is kept free, such a pool may have, and
        what layers with a window keep; see ``costmodel.memory``.
    engine: "steps", the plain loop, or "jump", which gives the same run and does many steps at once. What the jump
        engine does not serve is run by the plain loop, and ``summary["note"]`` says so.
    users: so many users issue the requests in order, each the next one when its last has finished; only the first
        request of each comes at its arrival. None: all come at their arrival (or the table's own users, see
        ``closed_loop``).
    slo: limits (ttft_s, tpot_s, itl_s, latency_s) that a request has to keep to count as goodput.
    lag: steps that a finished request keeps its place and blocks; 1: asynchronous scheduling.
    oversize: what becomes of a request that could never be finished: "reject" (it is in the results with the reason),
        "truncate", "error", or "admit" (let it in, as an engine without a check would).
    prefill_pool: read prompts in a pool of its own; ``model`` and ``hardware`` are then those of the decoding pool.
    progress: called now and then with the share of requests that have finished. cancel: called as often; True ends the
        run, and what is not finished is then unfinished.

    Raises
    ------
    ConfigError: for values that cannot be used.
    """

    step_seconds: float | None = None
    model: Model | None = None
    hardware: Hardware | None = None
    precision: Precision | None = None
    rates: str | Rates = "datasheet"
    host: str | None = None
    tensor_parallel: int = 1
    num_blocks: int | None = None
    block_size: int | None = None
    utilization: float = 0.9
    reserve_bytes: float = 0.0
    allocation: Allocation = "windowed"
    engine: Literal["jump", "steps"] = "jump"
    users: int | None = None
    slo: Slo | Mapping[str, float] | None = None
    lag: int = 0
    oversize: Oversize = "reject"
    prefill_pool: PrefillPool | None = None
    progress: Callable[[float], object] | None = None
    cancel: Callable[[], bool] | None = None

    def __post_init__(self) -> None:
        check_whole(self, "num_blocks", "block_size", "users", optional=True)
        check_whole(self, "lag", least=0)
        if self.engine not in ("jump", "steps"):
            raise ConfigError("engine", self.engine, "jump or steps")
        if self.step_seconds is None and (self.model is None or self.hardware is None):
            missing = "model" if self.model is None else "hardware"
            raise ConfigError(missing, None, "a model and a hardware to price steps with, or step_seconds")
        if self.step_seconds is not None and self.model is not None:
            raise ConfigError("step_seconds", self.step_seconds, "either step_seconds or a model, not both")
        slo_of(self.slo)

    def pricer(self, hardware: Hardware | None, tensor_parallel: int) -> Pricer:
        """What prices the steps of a pool."""
        if self.model is None or hardware is None:
            return EqualSteps(self.step_seconds)
        return priced_steps(self.model, hardware, self.precision, self.rates, self.host, tensor_parallel)

    def blocks(self, hardware: Hardware | None, tensor_parallel: int, block_size: int, longest: int) -> int:
        """KV blocks that fit beside the weights; with windows it depends on how long requests become.

        Raises
        ------
        ConfigError: when the weights leave no room for caches.
        """
        if self.model is None or hardware is None:
            return UNLIMITED
        fit = memory(
            self.model,
            hardware,
            context=longest,
            precision=self.precision,
            utilization=self.utilization,
            reserve_bytes=self.reserve_bytes,
            allocation=self.allocation,
            block_size=block_size,
            tensor_parallel=tensor_parallel,
        )
        if fit.blocks < 1:
            need, have = fit.weight_bytes / 1e9, max(fit.budget_bytes - fit.reserve_bytes, 0.0) / 1e9
            raise ConfigError(
                "hardware", hardware.name, f"room for {need:.1f} GB of weights and caches; {have:.1f} GB are there"
            )
        return fit.blocks

    def kv_seconds_per_token(self, pool: PrefillPool) -> float:
        """Seconds that a token's keys and values take across the link.

        Raises
        ------
        ConfigError: when nobody says how many bytes a token's caches have.
        """
        each = pool.kv_bytes_per_token
        if each is None:
            if self.model is None or self.hardware is None:
                raise ConfigError("kv_bytes_per_token", None, "bytes a token, where there is no model to tell them")
            formats = settle(self.model, self.hardware, self.precision)
            each = self.model.kv_values_per_token * DTYPES[formats.kv].bytes
        return each / pool.bandwidth


@dataclass(frozen=True, kw_only=True)
class Setup:
    """A simulation, settled: the requests that are served, the pool that serves them, and the pool before it.

    Attributes
    ----------
    prefill: a pool of its own for prompts. link: makes the way across, empty.
    """

    work: Workload
    side: Side
    options: Options
    users: int | None = None
    prefill: Side | None = None
    link: Callable[[], Link] | None = None

    def begin(self, *, mapped: bool = False, observer: Observer | None = None) -> Simulation:
        """Return the plain simulation, before its first step."""
        common: dict[str, Any] = {"users": self.users, "lag": self.options.lag, "mapped": mapped, "observer": observer}
        if self.prefill is None or self.link is None:
            return Simulation(self.work, self.side, **common)
        return DisaggregatedSimulation(self.work, self.side, prefill=self.prefill, link=self.link(), **common)


def prepare(requests: object, policy: Policy, options: Options) -> Setup:
    """Settle a simulation."""
    work = workload(requests)
    side = _side(work, policy, options, options.hardware, options.tensor_parallel, options.num_blocks)
    users = options.users or getattr(requests, "attrs", {}).get("users")
    pool = options.prefill_pool
    if pool is None:
        return Setup(work=_fitted(work, side, options), side=side, options=options, users=users)
    prefill = _side(
        work,
        pool.policy or policy,
        options,
        pool.hardware or options.hardware,
        pool.tensor_parallel or options.tensor_parallel,
        pool.num_blocks,
    )
    link = partial(Link, options.kv_seconds_per_token(pool), pool.latency)
    work = _fitted(_fitted(work, side, options), prefill, options, prompts_only=True)
    return Setup(work=work, side=side, options=options, users=users, prefill=prefill, link=link)


def _side(  # each pool of the two names all six
    work: Workload,
    policy: Policy,
    options: Options,
    hardware: Hardware | None,
    tensor_parallel: int,
    num_blocks: int | None,
) -> Side:
    """Settle one pool."""
    if policy.max_model_len is None and options.model is not None and policy.takes_model_length:
        policy = replace(policy, max_model_len=options.model.max_context)
    block_size = options.block_size or policy.block_size or BLOCK_SIZE
    longest = min(work.longest, policy.length)
    blocks = num_blocks or policy.num_blocks or options.blocks(hardware, tensor_parallel, block_size, longest)
    pricer = options.pricer(hardware, tensor_parallel)
    return Side(policy=policy, pricer=pricer, num_blocks=blocks, block_size=block_size)


def _fitted(work: Workload, side: Side, options: Options, *, prompts_only: bool = False) -> Workload:
    """Deal with requests that this pool could not finish."""
    pool = side.policy.pool(side.num_blocks, side.block_size)
    limits = side.policy.limits(pool, work.longest)
    if prompts_only:
        limits = Limits(limits.prompt, limits.prompt_reason, UNLIMITED * side.block_size, "")
    return fitted(work, limits, side.policy.length, options.oversize)
