"""What the picture of time against T is drawn from: rows of tokens, FLOPs and bytes, and the frame around them."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np

import costmodel as cm
from pages.parts import format
from pages.parts.datasets import Columns, Dataset, nothing, row, stacked, table
from pages.roofline.numbers import Roofline

DRAGGED = math.log10(4)  # decades that a hand moves a line
_PER_DECADE = 40  # points of a curve


@lru_cache(maxsize=64)
def time_data(r: Roofline) -> dict[str, Dataset]:
    """Datasets of the picture, made once for everybody who looks at it."""
    return {"frame": frame(r), "curve": curves(r), "marks": marks(r), "answers": answers(r)}


def last_token(r: Roofline) -> float:
    """Right end of the axis of tokens."""
    return 1.4 * 10 ** max(4, math.ceil(math.log10(max(r.prompt, r.batch))))


def frame(r: Roofline) -> Dataset:
    """One row: the corners of the picture, and the multipliers of the sidebar."""
    bottom, top = _times(r)
    corners = {"left": 0.7, "right": last_token(r), "bottom": bottom, "top": top}
    return row(**corners, bandwidth_x=r.scenario.bandwidth_x, compute_x=r.scenario.compute_x)


def _times(r: Roofline) -> tuple[float, float]:
    """Shortest and longest time on the axis, the same under every what-if.

    Room is kept, wherever a hand may drag the lines: at the top left over the flat line and the decode curve, and at
    the bottom right under the flat line, for the names of the regions and for labels.
    """
    few = r.price_base(cm.Step.prefill(np.array([1.0, 512.0, last_token(r)])))  # 512: experts are reached by then
    lowest, plateau, _ = np.log10(few.memory_seconds)
    first, _, last = np.log10(few.compute_seconds)
    over = [(plateau + DRAGGED, 0.38 if r.estimates else 0.3)]
    if r.counts_caches:
        busiest = r.price_base(cm.Step.decode(256, r.context)).seconds
        over.append((math.log10(busiest) + DRAGGED, 0.3))
    bottom, top = float(first) - 0.4, float(last) + 0.8
    for _ in range(30):  # each share of the height moves the other end; the shares sum to less than one
        height = top - bottom
        top = max(top, *(level + share * height for level, share in over))
        bottom = min(bottom, lowest - DRAGGED - 0.33 * height)
    return float(10.0**bottom), float(10.0**top)


def curves(r: Roofline) -> Dataset:
    """Steps over T, without the what-if.

    The "step" curve is one prompt of T tokens; "decode" is T sequences over the context, where caches count.
    """
    last = last_token(r)
    tokens = np.geomspace(1, last, round(math.log10(last) * _PER_DECADE))
    steps = {"step": cm.Step.prefill(tokens)}
    if r.counts_caches:
        steps["decode"] = cm.Step.decode(tokens, r.context)
    amounts = [_amounts(r.price_base(step)) for step in steps.values()]
    columns: dict[str, Any] = {name: np.concatenate([a[name] for a in amounts]) for name in amounts[0]}
    columns |= {"curve": np.repeat(list(steps), len(tokens)), "t": np.tile(tokens, len(steps))}
    return table({**columns, "bandwidth": r.base.hardware.bandwidth})


def _amounts(cost: cm.Cost) -> dict[str, Any]:
    """FLOPs, bytes, and the peak at which the arithmetic runs (of all its formats together)."""
    return {"flops": cost.flops, "bytes": cost.bytes, "peak": cost.flops / cost.compute_seconds}


def marks(r: Roofline) -> Dataset:
    """One row: the decode step and the prefill of the page, and the steps by which their labels find room."""
    prompt, batch = float(r.prompt), float(r.batch)
    decodes = {"decode": batch, "ahead": 16 * batch, "beside": max(1.0, 0.15 * prompt), "over": prompt}
    decodes["beyond"] = 16 * prompt
    prompts = {"prefill": prompt, "later": 16 * prompt}
    columns: dict[str, Any] = {
        "bandwidth": r.base.hardware.bandwidth,
        "caches": r.counts_caches,
        "context": r.context if r.scenario.model.kv_values_per_token else None,
        "asymptote": r.asymptote if r.counts_caches else None,
        **_answered(r),
    }
    columns |= _priced(r, decodes, cm.Step.decode(np.array([*decodes.values()]), r.context))
    columns |= _priced(r, prompts, cm.Step.prefill(np.array([*prompts.values()])))
    return row(**columns)


def _priced(r: Roofline, tokens: dict[str, float], steps: cm.Step) -> dict[str, float]:
    """Columns ``<name>_t``, ``<name>_flops`` ... of each named step of a sweep."""
    columns = _amounts(r.price_base(steps)) | {"t": list(tokens.values())}
    return {f"{name}_{what}": float(column[i]) for i, name in enumerate(tokens) for what, column in columns.items()}


def _answered(r: Roofline) -> dict[str, Any]:
    """What another source says of the two marks, and the line that says so."""
    if not r.estimates:
        return {"decode_e": None, "prefill_e": None, "answer": ""}
    sign, what = {"calibrated": ("◐", "estimated"), "live": ("●", "measured here")}[r.scenario.source]
    ratio = format.times(r.estimate.seconds / r.decode.seconds)
    answer = f"{sign} {what}: {ratio} the floor at B = {format.count(r.batch)}"
    return {"decode_e": r.estimate.seconds, "prefill_e": r.prefill_estimate.seconds, "answer": answer}


def answers(r: Roofline) -> Dataset:
    """What another source says over T, decode steps and prefills apart; no rows where the datasheet speaks."""
    if not r.estimates:
        return nothing("kind", "t", "seconds", "low", "high")
    tokens = 2.0 ** np.arange(14)
    steps = {"decode": cm.Step.decode(tokens[:10], r.context), "prefill": cm.Step.prefill(tokens)}
    return stacked(*(_answer(r, kind, step) for kind, step in steps.items()))


def _answer(r: Roofline, kind: str, step: cm.Step) -> Columns:
    """A sweep of steps priced by the source that speaks, with its band."""
    cost = r.scenario.price(step)
    return {"t": np.ravel(step.tokens), "seconds": cost.seconds, "low": cost.low, "high": cost.high, "kind": kind}
