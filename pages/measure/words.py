"""What the Measure page says, as text made of what was measured."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import costmodel as cm
import live
from pages.parts import format, live_rates
from pages.parts.components import Column, Figure, Ink, Part, Table

NO_TORCH = (
    "Measuring needs PyTorch in the Python that runs this server: pip install torch (pytorch.org has the builds for "
    "each kind of GPU), then look again. Everything else works without it."
)
_PERCENT_DIGITS = 2


def headline(profile: live.Profile | None) -> list[Part]:
    """The sentence of numbers that the page opens with."""
    if profile is None:
        return ["Nothing has been measured on this machine yet: every number here is a floor or an estimate."]
    reads, multiplies = best(profile)
    return [
        f"{profile.hardware.name} reads memory at ",
        Ink(format.byte_rate(reads, 3), "memory", strong=True),
        " and multiplies at ",
        Ink(format.flop_rate(multiplies, 3), "compute", strong=True),
        f" in {profile.dtype}, measured {live_rates.age(profile.taken)}.",
    ]


def best(profile: live.Profile) -> tuple[float, float]:
    """(bytes a second of the best reading, FLOP a second of the best multiply), as measured."""
    own = [point for point in profile.points if point.dtype == profile.dtype]
    reading = [point.bytes_rate for point in profile.of("read")]
    return (
        max(reading or [point.bytes_rate for point in own]),
        max((point.flops_rate for point in own), default=0.0),
    )


def plan(name: str) -> str:
    """A plan and how long it takes, for a control."""
    return f"{name}, about {format.count(live.PLANS[name].seconds)} s"


def progress(progress: live.Progress | None) -> str:
    """How far a measurement is, for its bar."""
    if progress is None:
        return "Starting PyTorch in a process of its own …"
    left = f"{format.count(max(progress.seconds_left, 1))} s left"
    what = progress.what.replace("*", "×").replace("_", " ")
    return f"{progress.done} of {progress.total}, {left}: {what}"


def what_it_does(model: cm.Model, device: live.Device) -> str:
    """What a measurement will run, and what that will say."""
    text = (
        f"Multiplies, attention and whole blocks in the shapes of {model.name}, with random weights, in a process of "
        "its own. What is measured then prices every page, until another source is chosen. "
    )
    if device.kind == "cpu":
        text += "This is a CPU: it will say what PyTorch does on this processor, and nothing about a GPU. "
    return f"{text}{device.match.reason}."


def figures(profile: live.Profile) -> list[Figure]:
    """The key numbers of a profile."""
    reads, multiplies = best(profile)
    rows = [
        Figure("memory read", format.byte_rate(reads, 3), "memory"),
        Figure(f"multiplied, {profile.dtype}", format.flop_rate(multiplies, 3), "compute"),
    ]
    if launches := profile.of("launch"):
        rows.append(Figure("one launch", format.seconds(min(point.seconds for point in launches))))
    rows.append(Figure("measured points", format.count(len(profile.points))))
    if profile.error is not None:
        rows.append(Figure("rates off by", share(profile.error)))
    return rows


def share(value: float) -> format.Quantity:
    """An error, in percent."""
    return format.percentage(format.significant(100 * value, _PERCENT_DIGITS), value)


def about(profile: live.Profile) -> list[str]:
    """What a reader should know of a profile: what was measured, and what disturbed it."""
    plan_ = f"Plan {profile.plan}, {format.seconds(profile.seconds)}, kernels launched {_launched(profile)}"
    said = [f"{plan_}, {_software(profile.software)}."]
    if profile.device.kind == "cpu":
        said.append("Measured on a CPU: the figures are of this processor and PyTorch's kernels for it, not of a GPU.")
    return [*said, *profile.notes]


def _launched(profile: live.Profile) -> str:
    return "replayed as a captured graph" if profile.modes[-1] == "graph" else "one by one"


def _software(software: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {version}" for name, version in software.items())


# ---- the fitted rates ------------------------------------------------------------------------------------------------


def fits(profile: live.Profile) -> Table:
    """The rates that were fitted, a row an operation, with what is left between them and the points."""
    left = live.residuals(profile)
    rows = [
        {"mode": mode, "operation": operation, "fit": fit, "left": _left(left, mode, operation)}
        for (mode, operation, _), fit in profile.fits.items()
    ]
    return Table(
        [
            Column("operation", lambda r: r["operation"].replace("_", " "), left=True),
            Column("launched", lambda r: r["mode"], left=True, wide_only=True),
            Column("of the bandwidth", lambda r: _fraction(r["fit"], "eb")),
            Column("of the peak", lambda r: _fraction(r["fit"], "ef")),
            Column("overhead", lambda r: _time(r["fit"].overhead), wide_only=True),
            Column("points", lambda r: format.count(r["fit"].rows), wide_only=True),
            Column("off where fitted", lambda r: share(r["left"])),
            Column("off on unseen points", lambda r: "–" if r["fit"].median is None else share(r["fit"].median)),
        ],
        rows,
    )


def _left(table: Any, mode: str, operation: str) -> float:
    own = table[(table["mode"] == mode) & (table.operation == operation)]
    return float((1 / own.ratio - 1).abs().median())


def _fraction(fit: Any, name: str) -> Part:
    return share(fit.numbers[name]) if name in fit.numbers else "–"


def _time(seconds: float) -> Part:
    return format.seconds(seconds) if seconds else "–"


# ---- steps -----------------------------------------------------------------------------------------------------------


def steps(table: Any) -> Table:
    """Whole steps: floor, estimate at the fitted rates, measured."""
    return Table(
        [
            Column("step", step_name, left=True),
            Column("run as", lambda r: f"{r.kind}, {r.mode}", left=True, wide_only=True),
            Column("floor", lambda r: Ink(format.seconds(r.floor), "muted")),
            Column("modelled", lambda r: format.seconds(r.predicted)),
            Column("measured", lambda r: Ink(format.seconds(r.measured), "ink", strong=True)),
            Column("measured / modelled", lambda r: format.times(r.ratio)),
        ],
        list(table.itertuples()),
    )


def step_name(row: Any) -> str:
    """A step in words: "decode, 8 sequences over 1,024 tokens each"."""
    if row.phase == "decode":
        each = "" if row.batch == 1 else " each"
        return f"decode, {format.sequences(row.batch)} over {format.many(row.cached, 'token')}{each}"
    over = f" over {format.count(row.cached)} cached" if row.cached else ""
    prompts = "" if row.batch == 1 else f"{format.count(row.batch)} × "
    return f"prefill of {prompts}{format.many(row.new, 'token')}{over}"


def operations(table: Any) -> Table:
    """Single matrix multiplies of the model: measured against the rates."""
    return Table(
        [
            Column("operation", lambda r: r.name, left=True),
            Column("tokens", lambda r: format.count(r.tokens)),
            Column("modelled", lambda r: format.seconds(r.predicted)),
            Column("measured", lambda r: Ink(format.seconds(r.measured), "ink", strong=True)),
            Column("measured / modelled", lambda r: format.times(r.ratio)),
        ],
        list(table.itertuples()),
    )


# ---- alt texts -------------------------------------------------------------------------------------------------------


def time_alt(profile: live.Profile, table: Any) -> str:
    """The message of the picture of measured steps."""
    told = "; ".join(
        f"{step_name(row)} {format.seconds(row.measured)}, {format.times(row.measured / row.floor)} the floor and "
        f"{format.times(row.ratio)} the model"
        for row in table.itertuples()
    )
    return f"Time of whole steps on {profile.hardware.name} against the tokens in them. Measured: {told}."


def roof_alt(profile: live.Profile) -> str:
    """The message of the achieved rates."""
    reads, multiplies = best(profile)
    return (
        f"Achieved FLOP/s of each measured kernel on {profile.hardware.name} against FLOP a byte, under a roof of "
        f"{format.byte_rate(profile.hardware.bandwidth)} and "
        f"{format.flop_rate(profile.hardware.peak[profile.dtype])}; read at {format.byte_rate(reads)}, multiplied at "
        f"{format.flop_rate(multiplies)}."
    )


def context_alt(table: Any) -> str:
    """The message of decode attention over context."""
    last = table.loc[table.cached.idxmax()]
    return (
        f"Time of one layer's decode attention against the cached tokens that it reads: {format.count(last.cached)} "
        f"take {format.seconds(last.measured)}, where the fitted rates say {format.seconds(last.predicted)}."
    )
