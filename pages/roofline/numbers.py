"""The numbers of the Roofline page: everything that it says or draws, each from one call of the cost model."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

import costmodel as cm
from costmodel.dtypes import dtype as cm_dtype
from pages.parts import format
from pages.parts.scenario import Scenario
from pages.roofline import labels

CHUNK = 256  # tokens of the prompt in the mixed step, at most
_VAST = 1e9  # sequences: so many that the weights no longer count
_PER_DECADE = 40  # points of a curve
_DRAGGED = 0.6021  # decades that a hand moves a line: a factor of four
_NO_TIME = 1e23  # bytes a second
_SHORT = {
    "q, k, v projections": "projections",
    "o projection": "projections",
    "gate, up": "MLP",
    "down": "MLP",
}


@dataclass(frozen=True)
class Page:
    """A width of page that labels are laid out for: px of the plot and of its type, and the columns for it."""

    width: float
    type: float
    margin: float  # px at the right where the names of the roofs stand
    text: str
    lane: str
    shift: str


ROOF_HEIGHT = 320  # px of the plot
PAGES = (Page(850, 14, 160, "text", "lane", "shift"), Page(300, 11, 70, "short", "lane_phone", "shift_phone"))
_NAME_DECADE = 60  # px a decade up: about what the pictures have


@dataclass(frozen=True)
class Roofline:
    """One scenario and one workload, counted one way.

    Attributes
    ----------
    batch: sequences decoding together. prompt: tokens of the prompt. context: tokens in each sequence's cache.
    count: "weights" (the post's count) or "attention" (with the caches).
    """

    scenario: Scenario
    batch: int
    prompt: int
    context: int
    count: str

    @property
    def counts_caches(self) -> bool:
        return self.count == "attention"

    @property
    def floor(self) -> Scenario:
        """The scenario priced from the datasheet, whoever else speaks."""
        return self.scenario.datasheet()

    def price(self, step: cm.Step) -> cm.Cost:
        """Floor of a step at the page's count."""
        return self.floor.price(step, self.count)

    @cached_property
    def decode(self) -> cm.Cost:
        return self.price(cm.Step.decode(self.batch, self.context))

    @cached_property
    def decode_with_caches(self) -> cm.Cost:
        """The same decode step with its caches counted, whatever the page counts."""
        return self.floor.price(cm.Step.decode(self.batch, self.context), "attention")

    @cached_property
    def token(self) -> cm.Cost:
        """A step of one token: what each further one adds in arithmetic."""
        return self.price(cm.Step.decode(1, self.context))

    @cached_property
    def prefill(self) -> cm.Cost:
        return self.price(cm.Step.prefill(self.prompt))

    @cached_property
    def prefill_with_caches(self) -> cm.Cost:
        """The same prefill with its square counted and the LM head only where logits are needed: a bound."""
        return self.floor.price(cm.Step.prefill(self.prompt), "attention")

    @cached_property
    def estimate(self) -> cm.Cost:
        """The decode step by the source that speaks, overheads and activations included."""
        return self.scenario.price(cm.Step.decode(self.batch, self.context))

    @cached_property
    def prefill_estimate(self) -> cm.Cost:
        """The prefill by the source that speaks."""
        return self.scenario.price(cm.Step.prefill(self.prompt))

    @property
    def estimates(self) -> bool:
        """Whether another source than the datasheet speaks."""
        return self.scenario.source != "datasheet"

    def cost_of(self, step: str) -> cm.Cost:
        """One of the page's three steps by the source that speaks: a floor at the page's count, or an estimate."""
        if self.estimates:
            return self.scenario.price(self._steps[step])
        return {"decode": self.decode, "prefill": self.prefill, "mixed": self.mixed}[step]

    @property
    def _steps(self) -> dict[str, cm.Step]:
        ends = int(self.chunk == self.prompt)  # only the last chunk of a prompt needs logits
        return {
            "decode": cm.Step.decode(self.batch, self.context),
            "prefill": cm.Step.prefill(self.prompt),
            "mixed": cm.Step.mixed(self.chunk, 0, self.batch, self.context, chunk_logits=ends),
        }

    @property
    def chunk(self) -> int:
        return min(CHUNK, self.prompt)

    @cached_property
    def mixed(self) -> cm.Cost:
        """One chunk of the prompt beside the decodes."""
        return self.price(self._steps["mixed"])

    @cached_property
    def weight_bytes(self) -> float:
        """Bytes of weights that a decode step of this batch streams."""
        cost: float = self.floor.price(cm.Step.decode(self.batch, self.context), "weights").bytes
        return cost

    @property
    def ridge(self) -> float:
        """B*, in the format that the arithmetic is done in."""
        return cm.ridge(self.scenario.hardware, self.scenario.formats.compute)

    def _crossing(self, phase: str) -> float | None:
        s = self.scenario
        context = self.context if phase == "decode" else 0
        found: float | None = cm.crossing(
            s.model, s.hardware, context, self.count, phase, s.precision, s.tensor_parallel
        )
        return found

    @cached_property
    def crossing(self) -> float | None:
        """T* of decode steps: the batch at which they turn compute-bound."""
        return self._crossing("decode")

    @cached_property
    def prefill_crossing(self) -> float | None:
        """T* of a prompt."""
        return self._crossing("prefill")

    @cached_property
    def asymptote(self) -> float:
        """FLOP a byte that decode steps at this context tend to as the batch grows, caches counted."""
        cost = self.floor.price(cm.Step.decode(_VAST, max(self.context, 1)), "attention")
        return float(cost.intensity)

    @property
    def waiting_for_memory(self) -> bool:
        return bool(self.decode.bound == "memory")

    # ---- what the charts are drawn from ----------------------------------------------------------------------

    def time_data(self) -> dict[str, pd.DataFrame]:
        """Datasets of the picture of time against T."""
        return {"frame": self.frame(), "curve": self.curves(), "marks": self.marks(), "answers": self.answers()}

    def answers(self) -> pd.DataFrame:
        """What the source that speaks says over T, decode steps and prefills apart; no rows where it is the datasheet."""
        if not self.estimates:
            return pd.DataFrame({"kind": [], "t": [], "seconds": []})
        tokens = 2.0 ** np.arange(14)
        steps = {"decode": cm.Step.decode(tokens[:10], self.context), "prefill": cm.Step.prefill(tokens)}
        return pd.concat(
            [pd.DataFrame({"kind": k, "t": np.ravel(s.tokens), "seconds": self.scenario.price(s).seconds}) for k, s in steps.items()],
            ignore_index=True,
        )

    def roof_data(self) -> dict[str, pd.DataFrame]:
        """Datasets of the classical roofline."""
        return {"frame": self.roof_frame(), "roofs": self.roofs(), "points": self.points(), "names": self.names()}

    @property
    def last_token(self) -> float:
        """Right end of the axis of tokens."""
        return 1.4 * 10 ** max(4, math.ceil(math.log10(max(self.prompt, self.batch))))

    def curves(self) -> pd.DataFrame:
        """Steps over T, at the datasheet's own bandwidth and peaks: the browser multiplies.

        The "step" curve is one prompt of T tokens; "decode" is T sequences over the context, where caches count.
        """
        decades = math.log10(self.last_token)
        tokens = np.geomspace(1, self.last_token, round(decades * _PER_DECADE))
        frames = [_rows("step", tokens, self._plain(cm.Step.prefill(tokens)), self._base)]
        if self.counts_caches:
            frames.append(_rows("decode", tokens, self._plain(cm.Step.decode(tokens, self.context)), self._base))
        return pd.concat(frames, ignore_index=True)

    @property
    def _base(self) -> cm.Hardware:
        return self.floor.without_what_if().hardware

    def _plain(self, step: cm.Step) -> cm.Cost:
        return self.floor.without_what_if().price(step, self.count)

    def marks(self) -> pd.DataFrame:
        """One row: the decode step and the prefill of the page, and the steps by which their labels find room."""
        prompt, batch = float(self.prompt), float(self.batch)
        left = max(1.0, 0.15 * prompt)
        decodes = {"decode": batch, "ahead": 16 * batch, "beside": left, "over": prompt, "beyond": 16 * prompt}
        prompts = {"prefill": prompt, "later": 16 * prompt}
        priced = [
            *zip(decodes, _points(self._plain(cm.Step.decode(np.array([*decodes.values()]), self.context))), strict=True),
            *zip(prompts, _points(self._plain(cm.Step.prefill(np.array([*prompts.values()])))), strict=True),
        ]
        row: dict[str, Any] = {
            "bandwidth": self._base.bandwidth, "caches": self.counts_caches, "context": self.context,
            "asymptote": self.asymptote if self.counts_caches else None, **self._answered(),
        }  # fmt: skip
        for name, cost in priced:
            row[f"{name}_t"] = {**decodes, **prompts}[name]
            row |= {f"{name}_{what}": value for what, value in cost.items()}
        return pd.DataFrame([row])

    def _answered(self) -> dict[str, Any]:
        """What the other source says of the two marks, and the line that says so."""
        if not self.estimates:
            return {"decode_e": None, "prefill_e": None, "answer": ""}
        sign, what = {"calibrated": ("◐", "estimated"), "live": ("●", "measured here")}[self.scenario.source]
        ratio = format.times(self.estimate.seconds / self.decode.seconds)
        answer = f"{sign} {what}: {ratio} the floor at B = {format.count(self.batch)}"
        return {"decode_e": self.estimate.seconds, "prefill_e": self.prefill_estimate.seconds, "answer": answer}

    def frame(self) -> pd.DataFrame:
        """One row: the corners of the picture, and the multipliers of the sidebar."""
        bottom, top = self._times()
        s = self.scenario
        row = {"left": 0.7, "right": self.last_token, "bottom": bottom, "top": top}
        return pd.DataFrame([{**row, "bandwidth_x": s.bandwidth_x, "compute_x": s.compute_x}])

    # ---- the classical roofline ------------------------------------------------------------------------------

    def points(self) -> pd.DataFrame:
        """Operations of the decode step and of the prefill, and whole steps: FLOPs, bytes, and the peak of their format.

        ``kind`` is "decode", "prefill" or "step"; ``label`` the short name that the picture writes.
        """
        decode, prefill, mixed = (self._steps[name] for name in ("decode", "prefill", "mixed"))
        rows = [*self._operations("decode", decode), *self._operations("prefill", prefill)]
        beside = f"chunk of {format.count(self.chunk)} with {self.batch} decode{'s' if self.batch > 1 else ''}"
        wholes = (("whole decode step", "decode", decode), ("whole prefill", "prefill", prefill), (beside, "mixed", mixed))
        for name, short, step in wholes:
            cost = self._plain(step)
            rows.append(_point("step", name, short, cost.flops, cost.bytes, cost.flops / cost.compute_seconds))
        return pd.DataFrame(rows).assign(bandwidth=self._base.bandwidth)

    def _operations(self, kind: str, step: cm.Step) -> list[dict[str, Any]]:
        table = self._plain(step).operations
        # On the same chip with memory that takes no time, an operation takes as long as its arithmetic does.
        no_memory = self._base.replace(bandwidth=_NO_TIME)
        arithmetic = replace(self.floor.without_what_if(), hardware=no_memory).price(step, self.count).operations
        peaks = table["flops"] / arithmetic["seconds"]
        return [
            _point(kind, row.name, _SHORT.get(str(row.name), str(row.name).split(", ")[0]), row.flops, row.bytes, peak)
            for row, peak in zip(table.itertuples(index=False), peaks, strict=True)
            if row.flops > 0 and row.bytes > 0
        ]

    def roofs(self) -> pd.DataFrame:
        """The chip's peaks, formats of the same rate together, the one that computes marked."""
        base, used = self._base, self.scenario.formats.compute
        by_rate: dict[float, list[str]] = {}
        for unit, rate in base.peak.items():
            by_rate.setdefault(rate, []).append(unit)
        unit = cm_dtype(used).unit
        rows = [
            {"peak": rate, "formats": ", ".join(sorted(units, key=lambda u: u != unit)), "used": unit in units, "bandwidth": base.bandwidth}
            for rate, units in sorted(by_rate.items())
        ]
        for page in PAGES:
            heights = [-math.log10(row["peak"]) * _NAME_DECADE for row in rows]
            for row, shift in zip(rows, labels.spread(heights, page.type + 3), strict=True):
                row[page.shift] = shift
        return pd.DataFrame(rows)

    def roof_frame(self) -> pd.DataFrame:
        """One row: the corners of the roofline's picture, and the multipliers of the sidebar."""
        points, roofs, s = self.points(), self.roofs(), self.scenario
        intensity = points["flops"] / points["bytes"]
        corner = roofs["peak"].max() / self._base.bandwidth
        left = min(0.4, float(intensity.min()) / 2)
        last = max(700.0, float(intensity.max()), 2 * corner)
        right = left * (last / left) ** (1 / 0.76)  # the names of the roofs stand in the rest
        top = 10**_DRAGGED * float(roofs["peak"].max())
        row = {"left": left, "right": right, "bottom": left * self._base.bandwidth / 3, "top": top}
        return pd.DataFrame([{**row, "bandwidth_x": s.bandwidth_x, "compute_x": s.compute_x}])

    def names(self) -> pd.DataFrame:
        """Labels of the points, each with its lane on a wide page and on a phone."""
        points, frame = self.points(), self.roof_frame().iloc[0]
        across, up = (math.log10(frame[b] / frame[a]) for a, b in (("left", "right"), ("bottom", "top")))
        rows: list[dict[str, Any]] = []
        for kinds, leftward in ((("decode", "prefill"), False), (("step",), True)):
            some = [row for kind in kinds for row in _named(points[points["kind"] == kind])]
            some += [self._slope_name(points, frame["left"])] if leftward else []
            for page in PAGES:
                sheet = labels.Sheet(page.width / across, ROOF_HEIGHT / up, page.type)
                places = [labels.Place(math.log10(row["flops"] / row["bytes"] / frame["left"]), row[page.text]) for row in some]
                found = labels.lanes(places, sheet, self._roof(sheet, page, frame["left"]), leftward=leftward)
                for row, lane in zip(some, found, strict=True):
                    row[page.lane] = lane
            rows += some
        return pd.DataFrame(rows)

    def _slope_name(self, points: pd.DataFrame, left: float) -> dict[str, Any]:
        """A label of its own for the bandwidth, on the slope where whole steps leave most room."""
        steps = points[points["kind"] == "step"]
        used = float(self.roofs().query("used")["peak"].iloc[0])
        place = _emptiest(left * 3, used / self._base.bandwidth / 2, steps["flops"] / steps["bytes"])
        text = f"{format.byte_rate(self._base.bandwidth, 3)}0"  # as wide as whatever the browser may write
        return {**_point("slope", text, text, place, 1.0, used), "bandwidth": self._base.bandwidth, "text": text, "short": text}

    def _roof(self, sheet: labels.Sheet, page: Page, left: float) -> labels.Roof:
        roofs = self.roofs()
        used = float(roofs.loc[roofs["used"], "peak"].iloc[0])
        below = [
            math.log10(used / peak) * sheet.up + shift - 6
            for peak, shift in zip(roofs["peak"], roofs[page.shift], strict=True)
        ]
        ridge = math.log10(used / self._base.bandwidth / left)
        now = ridge + math.log10(self.scenario.compute_x / self.scenario.bandwidth_x)
        return labels.Roof(ridge, now, (page.width - page.margin) / sheet.across, below)

    def _times(self) -> tuple[float, float]:
        """Shortest and longest time on the axis, the same under every what-if.

        Room is kept, wherever a hand may drag the lines: at the top left over the flat line and the decode curve, and at
        the bottom right under the flat line, for the names of the regions and for labels.
        """
        ends = self._plain(cm.Step.prefill(np.array([1.0, self.last_token])))
        flat, (first, last) = math.log10(float(np.max(ends.memory_seconds))), np.log10(ends.compute_seconds)
        over = [(flat + _DRAGGED, 0.38 if self.estimates else 0.3)]
        if self.counts_caches:
            busiest = self._plain(cm.Step.decode(512, self.context)).seconds
            over.append((math.log10(busiest), 0.29))
        bottom, top = float(first) - 0.4, float(last) + 0.8
        for _ in range(30):  # each share of the height moves the other end; the shares sum to less than one
            height = top - bottom
            top = max(top, *(level + share * height for level, share in over))
            bottom = min(bottom, flat - _DRAGGED - 0.33 * height)
        return 10.0**bottom, 10.0**top


def _rows(curve: str, tokens: Any, cost: cm.Cost, hw: cm.Hardware) -> pd.DataFrame:
    peak = cost.flops / cost.compute_seconds  # of several formats together, where a step has several
    columns = {"curve": curve, "t": tokens, "flops": cost.flops, "bytes": cost.bytes, "peak": peak}
    return pd.DataFrame({**columns, "bandwidth": hw.bandwidth})


def _points(cost: cm.Cost) -> list[dict[str, float]]:
    """FLOPs, bytes and effective peak of each point of a sweep."""
    peaks = cost.flops / cost.compute_seconds
    return [
        {"flops": float(f), "bytes": float(b), "peak": float(p)}
        for f, b, p in zip(cost.flops, cost.bytes, peaks, strict=True)
    ]


def _point(kind: str, name: str, label: str, flops: float, nbytes: float, peak: float) -> dict[str, Any]:
    return {"kind": kind, "name": name, "label": label, "flops": flops, "bytes": nbytes, "peak": peak}


def _named(points: pd.DataFrame) -> list[dict[str, Any]]:
    """One row a label: points of one kind that stand together share theirs."""
    if points.empty:
        return []
    if points["kind"].iloc[0] == "step":
        return [{**row, "text": row["name"], "short": row["label"]} for row in points.to_dict("records")]
    intensity = (points["flops"] / points["bytes"]).tolist()
    rows = []
    for where, text in labels.clusters(intensity, points["label"].tolist()):
        row = points.iloc[intensity.index(where)].to_dict()
        rows.append({**row, "text": text, "short": text.split(",")[0] + (" …" if "," in text else "")})
    return rows


def _emptiest(low: float, high: float, taken: Any) -> float:
    """The place between two intensities that is furthest from those taken."""
    places = np.geomspace(low, max(high, low * 1.01), 25)
    apart = np.abs(np.log(places)[:, None] - np.log(np.asarray(taken, float))[None, :]).min(axis=1)
    return float(places[int(np.argmax(apart))])
