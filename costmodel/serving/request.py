"""One request as a scheduler sees it: what it asks for, and how far it has come."""

from __future__ import annotations

from collections.abc import Sequence

UNLIMITED = 2**31
"""Blocks of a pool that nobody has bounded, and the length limit that nobody has set."""


class Request:
    """A prompt to be read and tokens to be written, with the schedulers' own bookkeeping.

    ``known`` tokens are the prompt and what has been sampled; ``computed`` of them have keys and values. The step in
    which ``computed`` reaches ``known`` samples the next token, so a request of P and O processes P + O - 1 tokens.

    Attributes
    ----------
    index: place in the table of requests; it breaks ties of arrival.
    target: tokens to be prefilled since it was last admitted: the prompt, and after a preemption what was sampled too.
    held: KV blocks that it holds.
    token_ids: the tokens of the prompt; prefix_ids: ids of its 512-token parts, equal where all before is equal too.
        Either lets a prefix cache find what requests share.
    found: tokens that a prefix cache had for it.
    reading: whether it is between its (re)admission and the end of its prefill.
    arrived_with: tokens whose keys and values came with it from a prefill pool.
    """

    __slots__ = (
        "arrival", "arrived_with", "computed", "first_token", "found", "held", "index", "last_token", "name", "output",
        "preemptions", "prefix_ids", "priority", "prompt", "reading", "sampled", "scheduled", "target", "token_ids",
        "worst_gap",
    )  # fmt: skip

    def __init__(
        self,
        index: int,
        name: str,
        arrival: float,
        prompt: int,
        output: int,
        *,
        priority: float = 0,
        token_ids: Sequence[int] | None = None,
        prefix_ids: Sequence[int] | None = None,
    ) -> None:
        self.index, self.name, self.arrival = index, name, arrival
        self.prompt, self.output, self.priority = prompt, output, priority
        self.token_ids, self.prefix_ids = token_ids, prefix_ids
        self.sampled = self.computed = self.target = self.held = self.arrived_with = 0
        self.preemptions = self.found = 0
        self.reading = False
        self.scheduled: float | None = None
        self.first_token: float | None = None
        self.last_token: float | None = None
        self.worst_gap = 0.0

    @property
    def known(self) -> int:
        """Tokens whose values are known: the prompt and what has been sampled."""
        return self.prompt + self.sampled

    @property
    def finished(self) -> bool:
        """Whether it has all its tokens."""
        return self.sampled >= self.output

    def __repr__(self) -> str:
        return f"Request({self.name}: {self.computed}/{self.known} of {self.prompt}+{self.output})"
