"""Where the step goes: one row an operation, with its shares."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import costmodel as cm
import live
from live.compare import measured_operations
from pages.parts import format
from pages.parts.components import Column, Ink, Table, Text, share_bar
from pages.parts.scenario import Scenario

SORTS = {"order": "in order", "seconds": "time", "bytes": "bytes", "flops": "FLOPs"}
STEPS = {"decode": "decode step", "prefill": "prefill", "mixed": "mixed step"}


def of_step(cost: cm.Cost, sort: str, ratios: Mapping[str, float] | None = None) -> Table:
    """The operations of a step, in order or by one of their amounts, with the shares of each.

    ``ratios``: measured over modelled seconds of those operations that were measured at these sizes.
    """
    amounts = ("flops", "weight_bytes", "kv_bytes", "activation_bytes")
    rows = [row for row in cost.rows if any(row[name] > 0 for name in amounts)]
    for name in ("bytes", "flops"):
        total = sum(row[name] for row in rows)
        for row in rows:
            row[f"{name}_share"] = row[name] / total if total else 0.0
    if sort != "order":
        rows.sort(key=lambda row: -row[sort])
    whole = {"name": "whole step", "count": "", "bytes": cost.bytes, "flops": cost.flops, "seconds": cost.seconds}
    shown = {"bytes": "bytes_share", "flops": "flops_share"}.get(sort, "share")
    columns = [*_columns(rows, shown), *([_measured(ratios)] if ratios else [])]
    return Table(columns, rows, [{**whole, "bound": str(cost.bound)}])


def ratios(scenario: Scenario, step: cm.Step, profile: live.Profile | None) -> dict[str, float]:
    """Measured over modelled seconds by operation: the multiplies that a profile holds at the rows of this step."""
    if profile is None:
        return {}
    if {scenario.stored_weights, scenario.formats.compute} != {profile.dtype}:
        return {}
    rows = {"LM head": int(step.logit_positions)}
    tokens = int(step.tokens)
    table: Iterator[Any] = measured_operations(profile, scenario.model, {tokens, *rows.values()}).itertuples()
    return {row.name: row.ratio for row in table if row.tokens == rows.get(row.name, tokens)}


def _measured(ratios: Mapping[str, float]) -> Column:
    def cell(row: dict[str, Any]) -> Text:
        found = ratios.get(row["name"])
        return Ink("–", "muted") if found is None else format.times(found)

    return Column("measured / modelled", cell)


def _columns(rows: list[dict[str, Any]], shown: str) -> list[Column]:
    byte_unit, byte_scale = _unit(max(row["bytes"] for row in rows), format.BYTES)
    flop_unit, flop_scale = _unit(max(row["flops"] for row in rows), format.FLOP)
    time_unit, time_scale = _unit(max(row["seconds"] for row in rows), format.SECONDS)
    return [
        Column("operation", lambda row: row["name"]),
        Column("times", lambda row: Ink(row["count"], "muted"), wide_only=True),
        Column(byte_unit, lambda row: _amount(row["bytes"], byte_scale, "B"), named="bytes"),
        Column(flop_unit, lambda row: _amount(row["flops"], flop_scale, "FLOP"), named="arithmetic"),
        Column(time_unit, lambda row: _amount(row["seconds"], time_scale, "s"), named="time"),
        *(_share(name, key, bar=key == shown) for name, key in _SHARES),
        Column("waits for", lambda row: Ink(row["bound"], row["bound"]) if row["seconds"] else Ink("–", "muted")),
    ]


_SHARES = (("of bytes", "bytes_share"), ("of FLOPs", "flops_share"), ("of time", "share"))


def _share(name: str, key: str, *, bar: bool) -> Column:
    meaning = {"bytes_share": "memory", "flops_share": "compute"}.get(key)

    def cell(row: dict[str, Any]) -> Text:
        if key not in row:
            return ""
        text = format.percentage(_whole_percent(row[key]), row[key])
        return [text, share_bar(row[key], meaning or row["bound"])] if bar else Ink(text, "muted")

    return Column(f"share {name}", cell, wide_only=not bar)


def _amount(raw: float, scale: float, base: str) -> format.Quantity:
    """Three digits, no finer than a thousandth of the column's unit."""
    value, written = raw / scale, "–"
    if value > 0:
        written = format.significant(value) if value >= 0.1 else f"{value:.3f}" if value >= 0.0005 else "< 0.001"  # noqa: PLR2004
    return format.Quantity(written, "", raw, base)


def _whole_percent(share: float) -> str:
    return "< 1" if 0 < share < 0.005 else f"{100 * share:.0f}"  # noqa: PLR2004


def _unit(largest: float, ladder: format.Ladder) -> tuple[str, float]:
    """One unit for a whole column: that of its largest entry."""
    unit = format.quantity(float(largest), ladder).unit
    return unit, next(scale for scale, name in ladder if name == unit)
