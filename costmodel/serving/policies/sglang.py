"""SGLang: a step reads prompts or decodes, prompts go first, and admission bets on how long outputs will become.

Source: SGLang's own scheduler (``copies`` has the version).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from costmodel.errors import ConfigError
from costmodel.hardware import Hardware
from costmodel.serving.blocks import BlockPool
from costmodel.serving.policies.base import Limits, Policy, Scheduled, Scheduler, Stop, check_flag, check_whole
from costmodel.serving.prefix import PrefixPool
from costmodel.serving.request import Request
from costmodel.serving.words import many

_CLIP_NEW_TOKENS = 4096  # of what a request may write, at most so much counts when it is admitted
_MIN_RATIO_FACTOR, _RATIO_DECAY_STEPS = 0.14, 600
_RETRACT_STEPS = 20  # decode steps that a retraction makes room for
_LPM_MOST_WAITING = 128
_CHUNK_SIZES, _LARGEST_CHUNK = ((20e9, 2048), (60e9, 4096), (160e9, 8192)), 16384  # by bytes of memory


class SglangScheduler(Scheduler):
    """A batch of prompts while any can be read, else one token for everybody who decodes.

    Attributes
    ----------
    chunked: the one request whose prompt has been cut.
    ratio: share of what running requests may still write that admission keeps free for them.
    full: nobody is admitted until somebody leaves.
    """

    running_waits = Stop("policy", note="prompts go first, and a step that reads prompts decodes nobody")

    def __init__(self, pool: BlockPool, policy: Sglang) -> None:
        super().__init__(pool, policy.max_num_seqs)
        self.policy, self.budget = policy, policy.chunked_prefill_size
        self.chunked: Request | None = None
        self.full = False
        self._first_ratio = min(0.7 * policy.schedule_conservativeness, 1.0)
        self._least_ratio = _MIN_RATIO_FACTOR * self._first_ratio
        self.ratio = self._first_ratio
        self._were_running = 0

    def schedule(self) -> Scheduled:
        """Choose the next step."""
        scheduled: Scheduled = {}
        if self.occupied < self._were_running:
            self.full = False
        self._prefill(scheduled)
        if not scheduled:
            self._decode(scheduled)
        self._were_running = self.occupied
        return scheduled

    # ---- prompts ----------------------------------------------------------------------------------------------------

    def _prefill(self, scheduled: Scheduled) -> None:
        """Go on with the cut prompt, then take new ones in order."""
        chunk, prefill = self.policy.chunked_prefill_size, self.policy.max_prefill_tokens
        if self.chunked is not None:
            request = self.chunked
            tokens = min(request.target - request.computed, chunk)
            self.pool.allocate(request, request.computed + tokens)
            scheduled[request] = tokens
            chunk, prefill = chunk - tokens, prefill - tokens
            if request.computed + tokens == request.target:
                self.chunked = None
        elif self.full:
            self.stopped = Stop("policy", note="the batch is full until somebody leaves")
            return
        self._order_line()
        while self.waiting and self.chunked is None:
            taken = self._take_head(chunk, prefill, scheduled)
            if not taken:
                return
            chunk, prefill = chunk - taken, prefill - taken

    def _take_head(self, chunk: int, prefill: int, scheduled: Scheduled) -> int:
        """Admit the head of the line with what it may read now; return how much, 0 when it stays."""
        if self.occupied >= self.max_num_seqs:
            self.stopped, self.full = Stop("seqs", self.occupied + 1, self.max_num_seqs), True
            return 0
        head, page = self.waiting[0], self.pool.block_size
        hits = self.pool.find_cached(head)
        computed = max(len(hits) * page, head.arrived_with)
        wish = head.known - computed
        needed = wish + self._may_write(head) + page * (1 + self.pool.needed(head, len(hits) * page, hits))
        room = self.pool.free * page - self._kept_for_running(scheduled)
        if needed > room:
            self.stopped, self.full = Stop("blocks", -(-needed // page), int(room // page)), True
            return 0
        tokens = wish if wish <= chunk else chunk // page * page
        if tokens <= 0 or (scheduled and wish > prefill):
            self.stopped = Stop("budget", wish, min(chunk, prefill))
            return 0
        scheduled[self.admit(computed + tokens, hits)] = tokens
        if tokens < wish:
            self.chunked = head
        return tokens

    def _order_line(self) -> None:
        """Put the longest cached prefixes first, when asked, and while the line is short enough to look at each."""
        if self.policy.schedule_policy == "lpm" and 1 < len(self.waiting) <= _LPM_MOST_WAITING:
            ordered = sorted(self.waiting, key=lambda request: -len(self.pool.find_cached(request)))
            self.waiting.clear()
            self.waiting.extend(ordered)

    def _kept_for_running(self, scheduled: Scheduled) -> float:
        """Tokens that admission leaves to those who run for what they may still write (all, to those of this step)."""
        return sum(self._may_write(r) * (1.0 if r in scheduled else self.ratio) for r in self.running)

    @staticmethod
    def _may_write(request: Request) -> int:
        return min(request.output - request.sampled, _CLIP_NEW_TOKENS)

    # ---- tokens -----------------------------------------------------------------------------------------------------

    def _decode(self, scheduled: Scheduled) -> None:
        """Give everybody a token; without room, retract those who have written least, then read most."""
        before = len(self.running)
        while len(self.running) > 1 and self._pages_needed() > self.pool.free:
            victim = min(self.running, key=lambda request: (request.sampled, -request.prompt))
            self.running.remove(victim)
            self.preempt(victim)
            self.waiting.rotate(-1)  # it goes to the end of the line
        if len(self.running) < before:
            self.full = False
            written = sum(request.sampled for request in self.running)
            may_write = sum(request.output for request in self.running)
            self.ratio = min((written + _RETRACT_STEPS * len(self.running)) / (may_write + 1), 1.0)
        else:
            decay = (self._first_ratio - self._least_ratio) / _RATIO_DECAY_STEPS
            self.ratio = max(self.ratio - decay, self._least_ratio)
        if self._pages_needed() > self.pool.free:
            return
        for request in self.running:
            self.pool.allocate(request, request.computed + 1)
            scheduled[request] = 1

    def _pages_needed(self) -> int:
        """Pages that one token for everybody takes."""
        return sum(self.pool.needed(request, request.computed + 1) for request in self.running)


@dataclass(frozen=True, kw_only=True)
class Sglang(Policy):
    """SGLang's default scheduler.

    Attributes
    ----------
    chunked_prefill_size: tokens of prompts in a step (2048 below 20 GB, 4096 below 60 GB, 8192 below 160 GB, else
        16384).
    max_prefill_tokens: tokens of new prompts in a step, except that one is always taken.
    schedule_policy: "fcfs", or "lpm" (longest cached prefix first).
    schedule_conservativeness: above 1: keep more free for running requests.
    prefix_caching: the radix cache.
    """

    name = "sglang"
    copies = "SGLang 0.5.23, from reading its code (not checked step by step)"

    max_num_seqs: int = 256
    block_size: int | None = 1
    chunked_prefill_size: int = 8192
    max_prefill_tokens: int = 16384
    schedule_policy: str = "fcfs"
    schedule_conservativeness: float = 1.0
    prefix_caching: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        check_whole(self, "chunked_prefill_size", "max_prefill_tokens")
        check_flag(self, "prefix_caching")
        if self.schedule_policy not in ("fcfs", "lpm"):
            raise ConfigError("schedule_policy", self.schedule_policy, "fcfs or lpm")
        if not 0 < self.schedule_conservativeness < 100:  # noqa: PLR2004  # far above any use
            raise ConfigError("schedule_conservativeness", self.schedule_conservativeness, "a number above 0")

    @classmethod
    def knobs_on(cls, hw: Hardware, *, offline: bool = False) -> dict[str, Any]:  # noqa: ARG003  # vLLM asks
        """Return what SGLang sets by itself, by the memory of the device.

        >>> from costmodel.hardware import hardware
        >>> Sglang.knobs_on(hardware("l4"))["chunked_prefill_size"]
        4096
        """
        memory = hw.memory or 0.0
        size = next((size for most, size in _CHUNK_SIZES if memory < most), _LARGEST_CHUNK)
        return {"chunked_prefill_size": size, "prefix_caching": True}

    def pool(self, usable: int, block_size: int) -> BlockPool:
        """Return a pool, with a prefix cache if asked."""
        return PrefixPool(usable, block_size) if self.prefix_caching else BlockPool(usable, block_size)

    def scheduler(self, pool: BlockPool, longest: int) -> SglangScheduler:  # noqa: ARG002  # the reserving ones need it
        """Return a scheduler with empty queues."""
        return SglangScheduler(pool, self)

    def limits(self, pool: BlockPool, longest: int) -> Limits:  # noqa: ARG002  # as in scheduler
        """Return what a request may be at most; see ``Policy.limits``."""
        room = (pool.usable - 1) * pool.block_size
        why = f"the {many(pool.usable, 'page')} of {pool.block_size}, one of them free"
        bounds = ((room - 1, why), (self.length - 1, f"max_model_len {self.length:,}"))
        return Limits(*min(bounds, key=lambda bound: bound[0]), room - 1, why)
