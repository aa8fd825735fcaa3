"""What the Accuracy page says, as text made of the published errors and of the scenario's own estimate."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import pandas as pd

import costmodel as cm
from costmodel import accuracy
from pages.accuracy.numbers import (
    DATA_CENTRE,
    OPERATIONS,
    Errors,
    Row,
    classes,
    format_name,
    gpu_name,
    kind_of,
    whole_steps,
)
from pages.parts import borrowed, format
from pages.parts.components import Column, Figure, Ink, Question, Table
from pages.parts.components import Part as Words
from pages.parts.format import Quantity, count, many, significant
from pages.parts.scenario import Scenario

ROWS = {"operation": "By operation", "gpu": "By GPU", "dtype": "By format"}
CONTEXT = "errors on measurements that the fits had not seen"


def share(value: float) -> Quantity:
    """An error in percent, to two digits.

    >>> str(share(0.0602)).replace(format.NBSP, " "), str(share(2.5517)).replace(format.NBSP, " ")
    ('6.0 %', '255 %')
    """
    return format.percentage(significant(100 * value, 2 if value < 1 else 3), value)


@cache
def headline() -> list[Words]:
    """The sentence of numbers that the page opens with."""
    dense, moe = whole_steps("dense"), whole_steps("MoE")
    low, high = sorted((dense.floor_median_error, moe.floor_median_error))
    floor = share(low) if str(share(low)) == str(share(high)) else Quantity(f"{share(low).value} to {share(high)}", "")
    return [
        "On whole steps that others measured, the floor is ",
        Ink(floor, strong=True),
        " too fast. The estimate is ",
        Ink(share(dense.median_error), strong=True),
        " off for dense models and ",
        Ink(share(moe.median_error), strong=True),
        " for mixtures of experts.",
    ]


@cache
def figures() -> list[Figure]:
    """The numbers of the page."""
    dense, moe = whole_steps("dense"), whole_steps("MoE")
    kernels = accuracy.published()
    kernels = kernels[~kernels.operation.isin([accuracy.STEP, accuracy.HOST]) & (kernels.gpu != accuracy.UNSEEN)]
    return [
        Figure("dense, half within", share(dense.median_error)),
        Figure("dense, nine in ten within", share(dense.p90_error)),
        Figure("MoE, half within", share(moe.median_error)),
        Figure("MoE, nine in ten within", share(moe.p90_error)),
        Figure("whole steps judged", count(dense.n + moe.n)),
        Figure("kernels timed", count(kernels.n.sum())),
    ]


def below_picture(errors: Errors) -> str:
    """How to read the picture."""
    unseen = " These are GPUs left out of the fit, one after the other." if errors.gpu == accuracy.UNSEEN else ""
    return (
        "Median error, as a share of what was measured; a mark is the mean over its small ones. Filled: the estimate, "
        "by cross-validation over shapes; hollow: the datasheet's floor, a bound and no prediction. The thin line "
        "reaches as far as nine in ten estimates are off. Circles are decode-like (at most 256 rows), diamonds "
        "prefill-like. Whole steps were fitted to nothing: "
        f"they are what the kernels add up to.{unseen}"
    )


def errors_alt(errors: Errors) -> str:
    """The message of the picture."""
    lines = "; ".join(f"{row.label}: estimate {share(row.estimate)}, floor {share(row.floor)}" for row in errors.rows)
    return f"Median error against published measurements, {gpu_name(errors.gpu)}. {lines}."


def errors_table(errors: Errors) -> Table:
    """The picture in figures."""

    def several(row: Row) -> list[Words]:
        return [count(row.measurements), f" (in {many(row.classes, 'class', 'classes')})"]

    return Table(
        columns=[
            Column("", lambda row: row.label, left=True),
            Column("floor", lambda row: share(row.floor)),
            Column("estimate", lambda row: share(row.estimate)),
            Column("nine in ten", lambda row: share(row.p90)),
            Column("measurements", several, wide_only=True),
        ],
        rows=errors.rows,
        title="Errors of floor and estimate",
    )


def sources(errors: Errors) -> list[str]:
    """Where the measurements come from, once each."""
    return sorted({part.strip() for source in errors.classes.source for part in source.split(":", 1)[:1]})


# ---- where it is weak ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Weakness:
    """A weak spot: what it is, and what is known of it."""

    name: str
    text: str


@cache
def weaknesses() -> list[Weakness]:
    """Where the estimate should not be leant on, in figures."""
    return [_experts(), _latent(), _first_token(), _borrowed(), _small_models(), _two_models()]


def _spread(table: pd.DataFrame, column: str = "median_error") -> str:
    return f"{share(table[column].min())} to {share(table[column].max())}"


def _experts() -> Weakness:
    prefill = classes("moe", "prefill", DATA_CENTRE)
    worst = prefill.iloc[int(prefill.median_error.argmax())]
    return Weakness(
        "Experts in prefill",
        f"Medians of {_spread(prefill)}, worst on {gpu_name(worst.gpu)} for {format_name(worst['dtype'])}; one in "
        f"ten is off by {share(prefill.p90_error.mean())} or more. The kernels were timed under one skewed "
        "distribution of tokens over experts, and the estimate takes a uniform one: real routing differs by layer and "
        "by text.",
    )


def _latent() -> Weakness:
    decode = classes("mla_decode", None, ("h100-sxm",))
    blackwell = classes("mla_decode", None, ("b200", "gb200"))
    return Weakness(
        "Latent attention on Hopper",
        f"Its kernels are within {_spread(decode)} on an H100 (and {_spread(blackwell)} on Blackwell), but only those "
        "of TensorRT-LLM and SGLang were timed, with DeepSeek's widths, and no whole step of such a model on Hopper "
        "is among the judged ones: what engines do around the kernel there is unchecked.",
    )


def _first_token() -> Weakness:
    return Weakness(
        "Time to the first token",
        "A prefill here is the time of its kernels. What a user waits for has the queue, the tokenizer and the "
        "network in it too; no measurement of that is among the judged ones, so take it as a lower limit.",
    )


def _borrowed() -> Weakness:
    kernels = ("matmul", "attention_decode", "attention_prefill", "moe")
    unseen = pd.concat([classes(name, None, (accuracy.UNSEEN,)) for name in kernels])
    own = pd.concat([classes(name) for name in kernels])
    return Weakness(
        "GPUs that nobody measured",
        f"Fitted to the other GPUs, medians are {share(unseen.median_error.mean())} on average instead of "
        f"{share(own.median_error.mean())}, and up to {share(unseen.median_error.max())}. AMD, Google, Intel, Apple "
        "and AWS have no measurement at all here: their estimates assume that they do as well as NVIDIA's GPUs do.",
    )


def _small_models() -> Weakness:
    host = classes(accuracy.HOST, None, (accuracy.UNSEEN,))
    worst = host.iloc[int(host.floor_median_error.argmax())]
    return Weakness(
        "Small models, old engines",
        "The engine's own time a step is not in a bare forward pass. Without it the kernels alone were "
        f"{share(worst.floor_median_error)} too fast against {_engine(worst['dtype'])}, and "
        f"{share(host.floor_median_error.min())} against the best one; name the engine in a table below to add it.",
    )


def _engine(name: str) -> str:
    """An engine and its generation in words."""
    engine, _, year = name.rpartition("-")
    return f"{_ENGINES.get(engine, engine)} of {year}"


_ENGINES = {"vllm": "vLLM", "sglang": "SGLang", "tensorrt-llm": "TensorRT-LLM"}


def _two_models() -> Weakness:
    steps = classes(accuracy.STEP)
    worst = steps.iloc[int(steps.median_error.argmax())]
    tail = steps.iloc[int(steps.p90_error.argmax())]
    return Weakness(
        "Two models in particular",
        f"{_model_on(worst)} is off by {share(worst.median_error)} in the median. {_model_on(tail)} is good in the "
        f"median ({share(tail.median_error)}), and one step in ten is off by {share(tail.p90_error)} or more. "
        "DeepSeek-R1 is shown in the command's table and "
        "not judged: it ran with drafts, which no column marks.",
    )


def _model_on(row: pd.Series) -> str:
    return f"{cm.model(row['dtype']).name} on {gpu_name(row['gpu'])}"


# ---- the scenario's own estimate ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Estimate:
    """One step of the sidebar's scenario as floor and as estimate."""

    name: str
    meaning: str
    floor: cm.Cost
    cost: cm.Cost

    @property
    def rests_on(self) -> tuple[str, ...]:
        """What each of its rates rests on."""
        return borrowed.rates_of(self.cost)

    def sentence(self) -> list[Words]:
        """The estimate and its band in words."""
        low, high = (format.seconds(value, 2) for value in (self.cost.low, self.cost.high))
        below, above = (abs(value / self.cost.seconds - 1) for value in (self.cost.low, self.cost.high))
        return [
            f"{self.name}: ",
            Ink(format.seconds(self.cost.seconds, 2), self.meaning, strong=True),
            f", between {low} and {high} ({share(below)} less to {share(above)} more), ",
            f"{significant(self.cost.seconds / self.floor.seconds, 2)} times the floor. ",
            "The band is where eight in ten measurements of such kernels lie, all of them off the same way at once.",
        ]


def estimates(scenario: Scenario, batch: int, context: int, prompt: int) -> list[Estimate]:
    """A decode step and a prefill of the scenario; none where no fitted rate can price it."""
    decode = f"A decode step of {count(batch)} over {many(context, 'cached token')}{' each' * (batch > 1)}"
    steps = (
        (decode, "decode", cm.Step.decode(batch, context)),
        (f"A prefill of {many(prompt, 'token')}", "prefill", cm.Step.prefill(prompt)),
    )
    return [
        Estimate(name, meaning, scenario.datasheet().price(step), scenario.price(step)) for name, meaning, step in steps
    ]


def nearest_steps(scenario: Scenario) -> str:
    """What is known of whole steps like the scenario's."""
    kind, hw = kind_of(scenario.model), scenario.hardware.root
    here = classes(accuracy.STEP, kind, (hw.id,))
    what = {"dense": "dense models", "MoE": "mixtures of experts"}[kind]
    if here.empty:
        everywhere = whole_steps(kind)
        return (
            f"No whole step of {what} on {hw.name} is among the judged ones. Where they were measured, half of the "
            f"estimates are within {share(everywhere.median_error)} and nine in ten within "
            f"{share(everywhere.p90_error)}."
        )
    rows: list[dict[str, Any]] = here.to_dict("records")  # type: ignore[assignment]  # its keys are column names
    each = "; ".join(
        f"{cm.model(row['dtype']).name} {share(row['median_error'])} (nine in ten within {share(row['p90_error'])}, "
        f"{many(row['n'], 'step')})"
        for row in rows
    )
    return f"Whole steps of {what} measured on {hw.name}, and by how much the estimate is off in the median: {each}."


# ---- one's own steps -------------------------------------------------------------------------------------------------


def own_sentence(summary: accuracy.Summary, *, sample: bool) -> list[Words]:
    """What the table comes to."""
    whose = f"{count(summary.rows)} public measurements, until you bring yours" if sample else "Your steps"
    if not summary.rows and summary.impossible == 1:
        return ["Your step is faster than the floor allows, so it is not compared."]
    if not summary.rows:
        return [f"Your steps: all {count(summary.impossible)} are faster than the floor allows, so none is compared."]
    of = "" if sample else f" ({count(summary.rows)})"
    return [
        f"{whose}{of}: the estimate is within ",
        Ink(share(summary.estimate), strong=True),
        " of half of them and within ",
        Ink(share(summary.estimate_p90), strong=True),
        f" of nine in ten; the floor is {share(summary.floor)} {'off' if summary.unexpected else 'too fast'}. ",
        f"{share(summary.in_band)} lie in the estimate's own band.",
    ]


def impossible(judged: pd.DataFrame) -> str:
    """Which lines are faster than anything can be; "" where none is."""
    found = judged.line[judged.beats_floor]
    if found.empty:
        return ""
    return (
        f"Faster than the floor: {_lines(found)}. No step can be, so look at the clock (was the "
        "device waited for?), the sizes or the format. They are not counted."
    )


def unexpected(judged: pd.DataFrame) -> str:
    """Which lines are faster than a floor that rests on the expected number of experts; "" where none is."""
    found = judged.line[accuracy.faster_than_expected(judged)]
    if found.empty:
        return ""
    return (
        f"Faster than the expected floor: {_lines(found)}. That floor reads as many experts as are expected; a step "
        "whose tokens are sent to fewer can be faster, so these count."
    )


def _lines(found: pd.Series) -> str:
    """Numbers of lines, the first few of many."""
    named = ", ".join(str(line) for line in found[:8]) + (", …" if len(found) > 8 else "")  # noqa: PLR2004
    return f"line{'s' * (len(found) > 1)} {named}"


def own_alt(judged: pd.DataFrame, summary: accuracy.Summary) -> str:
    """The message of the second picture."""
    off = (
        f" Estimates are off by {share(summary.estimate)} in the median, floors by {share(summary.floor)}."
        if summary.rows
        else " All of them are faster than their floor, so that no error is given."
    )
    return f"Predicted against measured seconds of {many(len(judged), 'step')}, both logarithmic.{off}"


def own_table(judged: pd.DataFrame, most: int = 12) -> Table:
    """The steps that the estimate is furthest off on."""
    order = judged.estimate_error.abs().sort_values(ascending=False, kind="stable").index
    rows = list(judged.loc[order].head(most).itertuples())
    return Table(
        columns=[
            Column("step", step_name, left=True),
            Column("line", lambda row: str(row.line), wide_only=True),
            Column("measured", lambda row: format.seconds(row.measured)),
            Column("floor", lambda row: format.seconds(row.floor), wide_only=True),
            Column("estimate", lambda row: format.seconds(row.estimate)),
            Column("off by", lambda row: signed(row.estimate_error)),
            Column("note", lambda row: row.note[:40], left=True, wide_only=True),
        ],
        rows=rows,
        title="Steps that the estimate is furthest off on",
    )


def signed(error: float) -> format.Number:
    """An error with its sign.

    >>> signed(-0.0489).replace(format.NBSP, " "), signed(0.0713).replace(format.NBSP, " ")
    ('−4.9 %', '+7.1 %')
    """
    return format.Number(f"{'−' if error < 0 else '+'}{share(abs(error))}", error)


def step_name(row: Any) -> str:
    """A measured step in a few words: "Llama-3.1-8B fp8 on 2 × H100 SXM, prefill of 8 × 500 over 2,000 cached"."""
    stored = f" {row.weights}" if row.weights else ""
    gpus = f"{count(row.tensor_parallel)} × " if row.tensor_parallel > 1 else ""
    return f"{row.model}{stored} on {gpus}{row.hardware}, {_sizes(row)}"


def _sizes(row: Any) -> str:
    decodes = f"{count(row.batch)} at {count(row.context)}"
    if row.phase == "decode":
        return f"decode of {decodes}"
    chunk = count(row.new) + (f" over {count(row.cached)} cached" if row.cached else "")
    if row.phase == "mixed":
        return f"{chunk} beside {decodes}"
    return f"prefill of {f'{count(row.batch)} × ' if row.batch > 1 else ''}{chunk}"


@cache
def questions() -> list[Question]:
    """What a reader may want to try next; the answers set the controls."""
    kernels = accuracy.published()
    kernels = kernels[~kernels.operation.isin([accuracy.STEP, accuracy.HOST]) & ~kernels.gpu.isin(["general", "all"])]
    gap = (kernels.floor_median_error - kernels.median_error).groupby(kernels.operation).mean()
    furthest = str(gap.idxmax())
    return [
        Question(
            "How much worse is it on a GPU that no measurement was taken on?",
            "Show GPUs it never saw",
            {"error_gpu": accuracy.UNSEEN, "error_rows": "operation", "error_operation": "all"},
        ),
        Question(
            "For which kernel is the floor the furthest from an estimate?",
            f"Show {OPERATIONS[furthest].lower()}, by GPU",
            {"error_operation": furthest, "error_rows": "gpu", "error_gpu": "all"},
        ),
        Question(
            "What does an estimate rest on where nobody measured the machine?",
            "Show MI300X",
            {"hardware": "mi300x", "rates": "calibrated"},
        ),
    ]
