"""What the page says: its sentence of numbers, the two policies side by side, the alt texts and the questions."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from costmodel import serving
from costmodel.model import Model
from costmodel.serving.request import UNLIMITED
from pages.parts import format
from pages.parts.components import Column, Html, Ink, Line, Part, Question, Table, Text
from pages.parts.format import Number, Quantity
from pages.parts.layers import block, keeps
from pages.parts.scenario import Scenario
from pages.scheduler import frames
from pages.scheduler.runs import BUDGETED, SHORT, Plan


@dataclass(frozen=True)
class Side:
    """A run with the plan it came from."""

    plan: Plan
    run: serving.Run

    @property
    def name(self) -> str:
        """The policy in two words, with its budget where it has one."""
        budget = frames.budget_of(self.run) if self.plan.knobs.policy in BUDGETED else None
        return f"{SHORT[self.plan.knobs.policy]}{f' of {budget:,}' if budget else ''}"

    @property
    def steps(self) -> int:
        """Steps that its cursor can stand at."""
        run = self.run
        return len(run.segments.start) if run.facts.engine == "steps" else int(self.summary["steps"])

    @property
    def summary(self) -> dict[str, Any]:
        """Its figures."""
        return self.run.summary


def refused(error: ValueError, scenario: Scenario) -> str:
    """Why nothing was simulated, and what to change."""
    key, machine = getattr(error, "key", ""), scenario.hardware.name
    blocks = f"say how many {block(scenario.model)}s there are, under Workload, memory and knobs"
    narrower = "choose more GPUs or narrower weights, keep less free on the Memory page"
    if key == "hardware":
        return f"{scenario.model.name} does not fit into {machine}: {narrower}, or {blocks}."
    if key == "memory":
        return (
            f"How much memory of {machine} a program can use is not published: {blocks}, or give it on the Memory page."
        )
    return f"{error}."


def headline(a: Side, b: Side | None) -> list[Part]:
    """The longest wait between two tokens, of one policy against the other's."""
    said: list[Part] = [f"{format.capitalised(a.name)}: ", *_waits(a)]
    if b is None:
        return said
    comparable = all(_has_gaps(side) for side in (a, b))
    of = f", {_of(b).removesuffix(', ')}" if _of(b) else ""
    same: list[Part] = ["it is ", _longest(b.summary), " and ", _first(b.summary), f"{of}."]
    return [*said, f" With {b.name} ", *(same if comparable else _waits(b))]


def _waits(side: Side) -> list[Part]:
    """How long the requests of a run wait, as the end of a sentence."""
    s = side.summary
    if s["finished"] == 0:
        return [f"no request is finished, {s['livelock'] or 'none can be served'}."]
    if not _has_gaps(side):
        return [f"{_of(side)}half wait ", _first(s), " for their first token."]
    longest: list[Part] = [f"{_of(side)}nobody waits longer than ", _longest(s), " for the next token"]
    return [*longest, ", half wait ", _first(s), " for their first."]


def _has_gaps(side: Side) -> bool:
    """Whether anything is finished and somebody has two tokens."""
    return bool(side.summary["finished"]) and math.isfinite(side.summary["worst_itl_s"])


def _of(side: Side) -> str:
    """Of how many requests the waits are, where not all are served."""
    served = _served(side)
    return f"of {format.many(served, 'request')} served, " if served < side.summary["arrived"] else ""


def _served(side: Side) -> int:
    """Requests that have a first token: the others' waits are in no figure."""
    return int(side.run.requests["ttft_s"].notna().sum())


def _longest(summary: dict[str, Any]) -> Ink:
    """The longest wait for a next token."""
    return Ink(format.seconds(summary["worst_itl_s"]), "decode", strong=True)


def _first(summary: dict[str, Any]) -> Ink:
    """The wait for the first token that half do not exceed."""
    return Ink(format.seconds(summary["ttft_p50_s"]), "prefill", strong=True)


def context(a: Side) -> str:
    """What was simulated, for the line above the headline."""
    count = a.summary["arrived"]
    kind = {"datasheet": "floors", "calibrated": "estimates", "live": "measured rates"}[a.plan.scenario.source]
    return f"simulated, {format.many(count, 'request')}, steps priced by {kind}"


HEADS_DIVIDED = (
    "The Memory page has attention data parallel, with whole sequences on each GPU. The engines here divide the heads "
    "over the GPUs, so that their pool is another."
)


def conservation(a: Side) -> Text:
    """That every request is accounted for, beside the throughput, and which engine the policy copies."""
    s = a.summary
    accounted = f"{s['finished']:,} finished + {s['rejected']:,} rejected + {s['unfinished']:,} unfinished"
    took = format.seconds(s["duration_s"])
    lost, again = format.many(s["preemptions"], "preemption"), format.many(s["recomputed_tokens"], "token")
    said: list[Part] = [
        f"{s['arrived']:,} arrived = {accounted}. ",
        f"{rate(s['output_tokens_per_s'])} output tokens/s over {took} in {format.many(s['steps'], 'step')}; ",
        f"{lost}, {again} computed again. ",
        _pool(a),
        f"Scheduling copies {s['copies']}.",
    ]
    if s["livelock"]:
        said.append(f" Livelock: {s['livelock']}.")
    if s["note"]:
        said.append(f" {format.capitalised(s['note'])}.")
    return said


def rate(value: float) -> Number:
    """Output tokens a second, without the unit."""
    return Number(format.per_second(value).value, value)


def _pool(side: Side) -> str:
    """What the pool holds."""
    model = side.plan.scenario.model
    blocks, size = side.summary["num_blocks"], format.many(side.summary["block_size"], "token")
    holds = "as many blocks as asked for" if blocks >= UNLIMITED else format.many(blocks, block(model))
    if not model.kv_values_per_token:
        kept = "This model keeps a state for each sequence, and no KV to put into blocks"
        return f"{kept}; the engine counts the room for states all the same in {holds} of {size}. "
    pool = "The pool" if side.run.facts.pools == 1 else "Each pool"
    return f"{pool} holds {holds} of {size}. "


def rejected(side: Side, letter: str = "") -> list[str]:
    """Why requests were turned away, a sentence for each kind of reason; ``letter``: whose, where there are two."""
    whose = f"{letter} ({side.name}), " if letter else ""
    return [f"{whose}{format.many(count, 'request')} rejected: {reason}." for count, reason in side.run.refusals]


def timeline_alt(a: Side, step: int) -> str:
    """The picture in a sentence."""
    s, whose = a.summary, "" if a.run.facts.pools == 1 else " in a pool"
    used = f"at most {format.many(s['peak_blocks'], 'block')} in use{whose}"
    return (
        f"Timeline of {format.many(s['arrived'], 'request')} under {a.name}: {s['finished']:,} finished in "
        f"{format.seconds(s['duration_s'])}, {format.many(s['steps'], 'step')}, "
        f"{format.many(s['preemptions'], 'preemption')}, {used}; "
        f"half have their first token within {format.seconds(s['ttft_p50_s'])}; the cursor stands at step {step:,}."
    )


# ---- two policies --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Measure:
    """A figure of two runs: how it reads, and whether less of it is better."""

    name: str
    key: str
    text: Callable[[float], Quantity | str]
    less: bool = True


MEASURES = (
    Measure("time to first token, median", "ttft_p50_s", format.seconds),
    Measure("time to first token, p95", "ttft_p95_s", format.seconds),
    Measure("time an output token, mean", "tpot_s", format.seconds),
    Measure("gap between tokens, p99", "itl_p99_s", format.seconds),
    Measure("longest gap of all", "worst_itl_s", format.seconds),
    Measure("output tokens a second", "output_tokens_per_s", rate, less=False),
)


def comparison(a: Side, b: Side) -> Table:
    """Both policies, figure by figure, with the difference."""
    return Table(
        (
            Column("", lambda m: m.name, left=True),
            Column("● A", lambda m: m.text(a.summary[m.key])),
            Column("○ B", lambda m: m.text(b.summary[m.key])),
            Column("", lambda m: _dumbbell(a.summary[m.key], b.summary[m.key]), wide_only=True),
            Column("A against B", lambda m: delta(m, a.summary[m.key], b.summary[m.key])),
        ),
        MEASURES,
    )


def delta(measure: Measure, a: float, b: float) -> str:
    """How A differs from B, and whether that is better: "−67 %, better"."""
    if not (math.isfinite(a) and math.isfinite(b)) or b == 0:
        return "–"
    change = a / b - 1
    if abs(change) < 0.005:  # noqa: PLR2004  # half a percent: the same, as far as a table tells
        return "the same"
    better = (change < 0) == measure.less
    sign = "−" if change < 0 else "+"
    written = f"{abs(100 * change):.0f}{format.NBSP}%" if abs(change) < 10 else format.times(a / b)  # noqa: PLR2004
    return f"{sign if abs(change) < 10 else ''}{written}, {'better' if better else 'worse'}"  # noqa: PLR2004


def _dumbbell(a: float, b: float) -> Html:
    """Both figures on one line from 0."""
    top = max((v for v in (a, b) if math.isfinite(v)), default=0.0)
    if not top or not (math.isfinite(a) and math.isfinite(b)):
        return Html("")
    pa, pb = (4 + 92 * v / top for v in (a, b))
    low, high = min(pa, pb), max(pa, pb)
    return Html(
        f'<span class="sc-dumbbell"><s style="left:{low:.1f}%;width:{high - low:.1f}%"></s>'
        f'<i style="left:{pb:.1f}%"></i><i class="a" style="left:{pa:.1f}%"></i></span>'
    )


def small_alt(side: Side) -> str:
    """A small timeline in a sentence."""
    s = side.summary
    return f"{format.many(s['arrived'], 'request')} under {side.name}, done after {format.seconds(s['duration_s'])}."


# ---- derivation and questions ----------------------------------------------------------------------------------


def arithmetic(a: Side, view: serving.StepView) -> list[Line]:
    """The chosen step's price, and two of the run's figures, with their values put in."""
    s, scenario = a.summary, a.plan.scenario
    lines = [
        Line(
            "step",
            f"{view.prefill_tokens:,} prefill + {format.many(view.decode_tokens, 'decode token')}",
            format.tokens(view.tokens),
        ),
        Line("its time", _why_so_long(view, scenario.source), Ink(format.seconds(view.seconds), view.bound)),
        Line(
            "throughput",
            f"{format.many(s['output_tokens'], 'token')} ÷ {format.seconds(s['duration_s'])}",
            format.per_second(s["output_tokens_per_s"]),
            gap=True,
        ),
        Line("in the system, by time", _presence(s), f"{s['in_system']:,.2f} requests"),
    ]
    served = s["arrived"] - s["rejected"]
    there = served / s["duration_s"] * s["stay_s"] if s["duration_s"] else math.nan
    duration, stay = format.seconds(s["duration_s"], 4), format.seconds(s["stay_s"], 4)
    law = f"{format.many(served, 'request')} ÷ {duration} × {stay} each"
    return [*lines, Line("Little's law", law, f"{there:,.2f} requests")]


def _presence(summary: dict[str, Any]) -> str:
    """Who is in the system, weighted by time."""
    parts = {"running": "mean_running", "waiting": "mean_waiting", "on the link": "mean_on_link"}
    shown = {name: summary[key] for name, key in parts.items() if summary[key] or name != "on the link"}
    return " + ".join(f"{mean:,.2f} {name}" for name, mean in shown.items())


def _why_so_long(view: serving.StepView, source: str) -> Text:
    if source != "datasheet":
        return "the sum of its operations at fitted rates"
    other = {"memory": "its bytes ÷ bandwidth", "compute": "its FLOPs ÷ peak"}.get(view.bound, "as given")
    return f"the longer of bytes ÷ bandwidth and FLOPs ÷ peak: {other}"


def questions(model: Model) -> list[Question]:
    """Questions whose answer sets the controls."""
    return [*_QUESTIONS, Question(f"How few blocks until somebody loses its {keeps(model)}?", "Show 400 blocks", _FEW)]


_FEW = {"kv_blocks": 400}
_QUESTIONS: Sequence[Question] = (
    Question(
        "A smaller budget shortens the gaps between tokens. What does it do to the first one?",
        "Show a budget of 128",
        {"token_budget": 128},
    ),
    Question(
        "Does prefill first ever win?",
        "Show all at once",
        {"arrivals": "at_once", "policy": "vllm_v0", "against": "vllm_v1"},
    ),
)
