"""The picture of the post: time of a step against the tokens in it. Data in, chart out: no cost is computed here."""

from __future__ import annotations

import streamlit as st

from pages.parts import chart, format
from pages.parts.chart import PHONE, Spec, along, at, calculate, colour, label, text_width
from pages.roofline.twin import (
    BANDWIDTH_X,
    COMPUTE_X,
    D,
    arithmetic_seconds,
    frame_params,
    memory_seconds,
    px,
    py,
    seconds,
    what_if_params,
)

HEIGHT = 330


@st.cache_resource(show_spinner=False)
def time_spec() -> Spec:
    """Time of a step against the tokens in it: two lines, their upper edge, the crossing, and the page's two steps."""
    return chart.spec(
        _regions(),
        _curve("step"),
        _curve("decode"),
        _about_crossing("step", _crossing("step"), _names(), _corners()),
        _about_crossing("decode", _crossing("decode")),
        _answers(),
        _marks(),
        height=HEIGHT,
        params=[*what_if_params(), *frame_params(HEIGHT)],
    )


_X_AXIS = chart.log_axis("left", "right", "T, tokens in the step")
_Y_AXIS = chart.log_axis("bottom", "top", None, format.SECONDS)


def _with_crossing(curve: str) -> list[Spec]:
    """Rows of a curve with its two sides, and in each row where they cross (null where they never do).

    Between two points both sides are straight on logarithmic axes, so the crossing lies where the straight lines meet.
    """
    meet = "(datum.gap>0&&isValid(datum.gap2)&&datum.gap2<=0)"
    share = "datum.gap/(datum.gap-datum.gap2)"
    return [
        {"filter": f"datum.curve=='{curve}'"},
        *calculate(
            memory=memory_seconds(),
            arithmetic=arithmetic_seconds(),
            seconds=seconds(),
            lt="log(datum.t)",
            ls="log(datum.seconds)",
        ),
        *calculate(gap="log(datum.memory/datum.arithmetic)", lm="log(datum.memory)"),
        {
            "window": [{"op": "lead", "field": f, "as": f"{f}2"} for f in ("lt", "gap", "lm")]
            + [{"op": "row_number", "as": "row"}],
            "sort": [{"field": "t"}],
        },
        *calculate(
            lt_cross=f"{meet}?datum.lt+(datum.lt2-datum.lt)*{share}:(datum.row==1&&datum.gap<=0?datum.lt:null)",
            ls_cross=f"{meet}?datum.lm+(datum.lm2-datum.lm)*{share}:(datum.row==1&&datum.gap<=0?datum.ls:null)",
        ),
        {
            "joinaggregate": [
                {"op": "min", "field": "lt_cross", "as": "cross"},
                {"op": "min", "field": "ls_cross", "as": "cross_s"},
            ]
        },
    ]


def _only_crossing(curve: str) -> list[Spec]:
    """One row: where the curve crosses ("t", "seconds" and pixels; null where it never does)."""
    return [
        *_with_crossing(curve),
        {"filter": "datum.row==1"},
        *calculate(
            crosses="isValid(datum.cross)",
            ct="isValid(datum.cross)?exp(datum.cross):null",
            cs="isValid(datum.cross)?exp(datum.cross_s):null",
        ),
        *calculate(cx=f"datum.crosses?{px('datum.ct')}:width", cy=f"datum.crosses?{py('datum.cs')}:0"),
    ]


def _about_crossing(curve: str, *layers: Spec) -> Spec:
    """Layers over the one row of where the curve crosses."""
    return {"data": {"name": "curve"}, "transform": _only_crossing(curve), "layer": list(layers)}


def _regions() -> Spec:
    """Tints left and right of the crossing."""

    def tint(meaning: str, left: str, right: str) -> Spec:
        ends = {"x": {"value": {"expr": left}}, "x2": {"value": {"expr": right}}}
        rows = {"y": {"value": 0}, "y2": {"value": HEIGHT}}
        mark = {"type": "rect", "opacity": 0.07, "aria": False}
        return {"mark": mark, "encoding": {**ends, **rows, "fill": colour(meaning)}}

    edge = "clamp(datum.cx,0,width)"
    return _about_crossing("step", tint("memory", "0", edge), tint("compute", edge, "width"))


def _curve(curve: str) -> Spec:
    """Two dashed sides under the thick edge that binds, blue up to the crossing and orange from there."""
    dashed = {"type": "line", "strokeWidth": 1.5, "strokeDash": [5, 4], "clip": True, "aria": False}
    thick = {"type": "line", "strokeWidth": 4, "clip": True, "aria": False}

    def side(mark: Spec, x: Spec, y: Spec, meaning: str) -> Spec:
        return {"mark": mark, "encoding": {"x": x, "y": y, "stroke": colour(meaning)}}

    never = "!isValid(datum.cross)"
    binding = {
        "transform": calculate(
            before=f"{never}||datum.lt<=datum.cross", blue_t=f"{never}?datum.t:exp(min(datum.lt,datum.cross))",
            blue_s=f"{never}||datum.lt<=datum.cross?datum.seconds:exp(datum.cross_s)",
            orange_t=f"{never}?null:exp(max(datum.lt,datum.cross))",
            orange_s=f"{never}?null:(datum.lt>=datum.cross?datum.seconds:exp(datum.cross_s))",
        ),
        "layer": [
            side(thick, along("blue_t"), along("blue_s"), "memory"),
            {"transform": [{"filter": "isValid(datum.orange_t)"}],
             **side(thick, along("orange_t"), along("orange_s"), "compute")},
        ],
    }  # fmt: skip
    sides = [
        side(dashed, along("t") | _X_AXIS, along("memory") | _Y_AXIS, "memory"),
        side(dashed, along("t"), along("arithmetic"), "compute"),
    ]
    drawn = [*sides, binding] if curve == "step" else [binding]
    return {"data": {"name": "curve"}, "transform": _with_crossing(curve), "layer": drawn}


def _crossing(curve: str) -> Spec:
    """The crossing: a ring, a dotted line down to the axis, and its T."""
    what = "'T* = '+format(round(datum.ct),',')"
    if curve == "decode":
        what += "+(width<480?'':', decode')"
    else:
        what += f"+({chart.first('marks', 'caches', 0)}&&width>=480?', prefill':'')"
    row = 12 if curve == "step" else 72  # px over the axis: over the texts of the corner
    x, y = along("ct"), along("cs")
    wide = text_width(what)
    right = f"datum.cx+8+{wide}<width"
    return {
        "transform": [{"filter": "datum.crosses&&datum.ct>1&&datum.cx<width"}],
        "layer": [
            {
                "mark": {"type": "rule", "strokeWidth": 1.5, "strokeDash": [2, 3], "aria": False},
                "encoding": {
                    "x": x, "y": y, "y2": {"value": HEIGHT}, "stroke": colour("ink"),
                },
            },
            {
                "mark": {"type": "point", "shape": "circle", "size": 100, "strokeWidth": 1.6, "opacity": 1},
                "encoding": {
                    "x": x, "y": y, "fill": colour("paper"), "stroke": colour("ink"),
                    **chart.said("'crossing at T* = '+format(datum.ct,',.1f')+' tokens'"),
                },
            },
            label(what, "ink", at(f"{right}?datum.cx+7:datum.cx-7", str(HEIGHT - row)),
                  align=f"{right}?'left':'right'", weight=600),
        ],
    }  # fmt: skip


def _names() -> Spec:
    """Names of the two lines, below them: left of the crossing where there is room, else right of it."""
    memory = (
        f"({PHONE}?'weights, ':(datum.varies?'out of memory, from ':'weights out of memory, '))"
        f"+{format.vega(format.SECONDS, 'datum.memory')}"
    )
    arithmetic = f"({PHONE}?'':'arithmetic, ')+{format.vega(format.SECONDS, 'datum.arithmetic', 2)}+' a token'"
    slope = "(up/across)"
    room = f"(type+12)/{slope}"  # px left of the crossing where a line of text fits between the two sides
    return {
        "transform": [
            # experts that further tokens reach, or a long prompt's own cache: the line is not flat, so its end is named
            *calculate(varies="datum.crosses&&datum.cs>1.3*datum.memory"),
            *calculate(mw=text_width(memory), aw=text_width(arithmetic)),
            *calculate(
                my=f"datum.varies?datum.cy:{py('datum.memory')}",
                memory_left=f"datum.mw<datum.cx-{room}-16&&!(datum.varies&&datum.cx+16+datum.mw<width)",
                memory_x=f"min(datum.varies?width:datum.cx*.5,datum.cx-{room}-datum.mw/2)",
                arithmetic_left="datum.cx*.3+datum.aw<datum.cx-8",
                arithmetic_x="datum.cx*.3",
            ),
            *calculate(
                mx="datum.memory_left?max(datum.memory_x-datum.mw/2,8):min(datum.cx+16,width-datum.mw-4)",
                ax="datum.arithmetic_left?datum.arithmetic_x:datum.cx+(width-datum.cx)*.35",
            ),
            *calculate(ay=f"datum.cy+(datum.cx-datum.ax)*{slope}"),
        ],
        "layer": [
            label(memory, "memory", at("datum.mx", "(datum.memory_left?datum.my:datum.cy)+type+6")),
            label(arithmetic, "compute", at("datum.ax", f"min(datum.ay+type+8,{HEIGHT}-5)"), show="datum.crosses"),
        ],
    }


def _corners() -> Spec:
    """Names of the regions, in the corners that stay empty."""
    caches = chart.first("marks", "caches", 0)
    free = f"({caches}?'the weights are shared, the caches are not':'more tokens ride along free')"
    wait = "'every token is a token you wait for'"
    big, low = f"({PHONE}?11:16)", HEIGHT - 52
    return {
        "layer": [
            label("'Memory-bound'", "memory", at("14", "24"), weight=600, size=big, show="datum.cx>100"),
            label(free, "memory", at("14", "44"), show=f"!({PHONE})&&datum.cx>{text_width(free)}+28"),
            label("'Compute-bound'", "compute", at("width-10", str(low)), align="'right'", weight=600, size=big,
                  show=f"width-datum.cx>{PHONE}?100:130"),
            label(wait, "compute", at("width-10", str(low + 20)), align="'right'",
                  show=f"!({PHONE})&&width-datum.cx>{text_width(wait)}+24"),
        ],
    }  # fmt: skip


_STEPS = ("decode", "ahead", "prefill", "later", "beside", "over", "beyond")
"""Steps in the row of marks; those after the page's own two say how high a curve is where a label ends."""


def _answers() -> Spec:
    """What an estimate says: ink dots over the floor, circles for decodes, diamonds for prefills, each in its band."""
    x, y = along("t"), along("seconds")
    said = f"datum.kind+' of '+format(datum.t,',')+': '+{format.vega(format.SECONDS, 'datum.seconds')}"
    layers: list[Spec] = [
        {
            "transform": [{"filter": f"datum.kind=='{kind}'"}],
            "mark": {"type": "point", "shape": shape, "size": 22, "filled": True, "opacity": 1, "clip": True},
            "encoding": chart.said(said) | {"x": x, "y": y, "fill": colour("ink")},
        }
        for kind, shape in (("decode", "circle"), ("prefill", "diamond"))
    ]
    ends = {"x": x, "y": y | {"field": "low"}, "y2": {"field": "high"}, "stroke": colour("ink")}
    band = {"mark": {"type": "rule", "strokeWidth": 1.5, "opacity": 0.5, "clip": True, "aria": False}, "encoding": ends}
    layers.insert(0, band)
    line = label("datum.answer", "ink", at("14", f"({PHONE}?42:66)"), show="isValid(datum.answer)")
    return {"layer": [{"data": {"name": "answers"}, "layer": layers}, {"data": {"name": "marks"}, **line}]}


def _marks() -> Spec:
    """The decode step and the prefill of the page, with labels that keep clear of the curves and of each other."""
    each = "(datum.caches&&isValid(datum.context)?', '+format(datum.context,',')+' cached each':'')"
    decode = f"({PHONE}?'decode':'decode, B = '+format(datum.decode_t,',')+{each})"
    second = f"'never crosses'+({PHONE}?'':', tends to '+format(datum.asymptote,'.2~r')+' FLOP/B')"
    ridge = D["decode_peak"] * COMPUTE_X / (D["bandwidth"] * BANDWIDTH_X)
    time = format.vega(format.SECONDS, "datum.prefill_s")
    prefill = f"({PHONE}?'prefill':'prefill of '+format(datum.prefill_t,',')+': '+{time})"
    lines = f"(datum.note?[{decode},{second}]:[{decode}])"
    return {
        "data": {"name": "marks"},
        "transform": [
            *calculate(**{f"{name}_s": seconds(f"{name}_") for name in _STEPS}),
            *calculate(note=f"isValid(datum.asymptote)&&datum.asymptote<{ridge}"),
            *calculate(
                dx=px("datum.decode_t"), dy=py("datum.decode_s"), px=px("datum.prefill_t"), py=py("datum.prefill_s"),
                dw=f"max({text_width(decode)},datum.note?{text_width(second)}:0)", pw=text_width(prefill),
                line="type+4", dh="(datum.note?2:1)*(type+4)",
            ),
            *_label_places(),
        ],
        "layer": [
            _mark("prefill", "diamond"),
            _mark("decode", "circle"),
            label(prefill, "prefill text", at("datum.plx", "datum.pbottom-4"),
                  align="datum.pstart?'left':'right'", weight=600),
            label(lines, "decode text", at("datum.dlx", "datum.dbottom-datum.dh+datum.line-4"),
                  align="datum.dleft?'left':'right'", weight=600),
        ],
    }  # fmt: skip


def _mark(step: str, shape: str) -> Spec:
    x, y = along(f"{step}_t"), along(f"{step}_s")
    said = f"'{step} of '+format(datum.{step}_t,',')+': '+{format.vega(format.SECONDS, f'datum.{step}_s')}"
    return {
        "mark": {"type": "point", "shape": shape, "size": 140, "strokeWidth": 1.6, "opacity": 1, "clip": True},
        "encoding": chart.said(said) | {"x": x, "y": y, "fill": colour(step), "stroke": colour("ink")},
    }


def _between(name: str, near: str, far: str, tokens: str) -> dict[str, str]:
    """Columns of a step of ``tokens``, on the straight line between two steps that were priced.

    Exact where bytes and FLOPs grow evenly with the tokens, and too high, never too low, where they grow faster.
    """
    share = f"(({tokens})-datum.{near}_t)/(datum.{far}_t-datum.{near}_t)"
    columns = {
        f"{name}_{what}": f"datum.{near}_{what}+(datum.{far}_{what}-datum.{near}_{what})*{share}"
        for what in ("flops", "bytes")
    }
    return {**columns, f"{name}_peak": f"datum.{near}_peak"}


def _label_places() -> list[Spec]:
    """Where the labels of the two marks go.

    A label stands above its mark and ends at it (the curves rise to the right, so that what is up and left is free);
    near the left edge it starts at it, and is raised over what the curve reaches by its end. Where caches count, the
    label of the prefill goes between its own curve and that of the decode steps if both leave it room, else above both.
    Where the two labels would still meet, the prefill's goes over the decode's.
    """
    end = "pow(10,left+(datum.{0}x-6+datum.{0}w)/across)"
    # an answer's dot just above the mark is cleared too
    dot = "datum.{0}e_near?" + py("datum.{0}e") + "-9:datum.{0}y-12"
    raised = "min(datum.{0}y-12," + dot + ",datum.{0}left?" + py("datum.{0}r_s") + "-6:datum.{0}y-12)"
    clear = f"(datum.pleft?{py('datum.over_s')}:{py('datum.beside_s')})<datum.pown-datum.line-8"
    above = f"min(datum.pown,{py('datum.over_s')}-10,datum.pleft?{py('datum.br_s')}-6:datum.pown)"
    beside = "max(datum.d0,datum.p0)<min(datum.d1,datum.p1)+8"
    meet = f"{beside}&&datum.pfree-datum.line<datum.dbottom+2&&datum.pfree>datum.dtop-2"
    return [
        *calculate(dleft="datum.dx<datum.dw+10", pleft="datum.px<datum.pw+10"),
        *calculate(
            **_between("dr", "decode", "ahead", end.format("d")),
            **_between("pr", "prefill", "later", end.format("p")),
            **_between("br", "over", "beyond", end.format("p")),
        ),
        *calculate(**{f"{name}_s": seconds(f"{name}_") for name in ("dr", "pr", "br")}),
        *calculate(de="datum.decode_e", pe="datum.prefill_e"),
        *calculate(
            **{f"{n}e_near": f"isValid(datum.{n}e)&&{py(f'datum.{n}e')}>datum.{n}y-datum.line-24" for n in ("d", "p")}
        ),
        *calculate(
            dlx="datum.dleft?max(datum.dx-6,2):datum.dx+6",
            plx="datum.pleft?max(datum.px-6,2):datum.px+6",
            dbottom=f"max({raised.format('d')},datum.dh+2)",
            pown=raised.format("p"),
        ),
        *calculate(
            d0="datum.dleft?datum.dlx:datum.dlx-datum.dw",
            d1="datum.dleft?datum.dlx+datum.dw:datum.dlx",
            p0="datum.pleft?datum.plx:datum.plx-datum.pw",
            p1="datum.pleft?datum.plx+datum.pw:datum.plx",
            dtop="datum.dbottom-datum.dh",
            pfree=f"!datum.caches||{clear}?datum.pown:{above}",
        ),
        *calculate(ptop=f"({meet}?datum.dtop-4:datum.pfree)-datum.line"),
        *calculate(plow=f"datum.ptop<50&&datum.p0<({PHONE}?100:300)"),
        *calculate(
            pbottom="datum.plow?datum.py+datum.line+8:datum.ptop+datum.line",
            pstart="datum.plow||datum.pleft",
        ),
        *calculate(plx="datum.plow?datum.px+11:datum.plx"),
    ]
