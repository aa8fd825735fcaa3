"""The pictures of a batch: what it buys, what it costs. Data in, chart out: no cost is computed here."""

from __future__ import annotations

import streamlit as st

from pages.batching.frames import HEIGHTS
from pages.parts import chart, format
from pages.parts import chart_layers as layers
from pages.parts.chart import PHONE, Spec, along, at, colour, colour_field, text_width
from pages.parts.plane import FINE, Plane

# ---- latency and cost of a token against the batch -------------------------------------------------------------


@st.cache_resource(show_spinner=False)
def tradeoff_spec() -> Spec:
    """Two curves that start together: what a token takes, and what it costs; the flat stretch between them shaded."""
    plane = Plane(HEIGHTS["tradeoff"], layers.BATCH, "time a token", y_units=format.SECONDS)
    return layers.spec(
        plane,
        "Latency and cost of a token against the batch",
        _flat_tint(plane),
        _tradeoff_curves(plane),
        *layers.wall(plane, layers.from_bottom(plane, 2)),
        _flat_end(plane),
        _tradeoff_mark(plane),
        _tradeoff_names(plane),
    )


def _flat_tint(plane: Plane) -> Spec:
    rows = {"y": {"value": 0}, "y2": {"value": plane.height}}
    tint = {
        "mark": {"type": "rect", "opacity": 0.08, "aria": False},
        "encoding": {"x": along("start"), "x2": {"field": "end"}, **rows,
                     "fill": colour("memory")},
    }  # fmt: skip
    left, right = plane.px("datum.start"), plane.px("datum.end")
    first, second = (at(f"{left}+12", f"{layers.from_top(line)}+{2 * line}") for line in (0, 1))
    named = f"{right}-{left}>({PHONE}?90:140)"
    free = "'one more sequence rides along nearly free'"
    return layers.over(
        "flat",
        tint,
        layers.label("'The flat stretch'", "memory", first, weight=600, size=f"({PHONE}?11:16)", show=named),
        layers.label(free, "memory", second, show=f"!({PHONE})&&{right}-{left}>{text_width(free)}+24"),
    )


def _tradeoff_curves(plane: Plane) -> Spec:
    x, y = along("batch"), along("seconds")
    axes = {"x": plane.x("batch"), "y": plane.y("seconds")}

    def curve(name: str, mark: Spec, **more: Spec) -> Spec:
        return {"transform": layers.only("curve", name), "mark": mark, "encoding": {"x": x, "y": y, **more}}

    band = {"type": "area", "opacity": 0.2, "clip": True, "aria": False}
    return layers.over(
        "curve",
        curve("latency", band, y=along("low"), y2={"field": "high"}, fill=colour("muted")),
        curve("beside", layers.line(1.5, [5, 4]), stroke=colour("muted")),
        curve("cost", layers.line(3), stroke=colour("ink")),
        curve("latency", layers.line(4), stroke=colour_field("meaning"), detail={"field": "segment"}, **axes),
    )


def _flat_end(plane: Plane) -> Spec:
    """The end of the flat stretch: a ring, a dotted line down to the axis, and its batch."""
    text = "'flat up to B = '+format(round(datum.end),',')"
    said = "'the flat stretch ends at B = '+format(datum.end,',.1f')"
    ring = layers.point("end", "seconds", "paper", said)
    dotted = layers.rule(plane, "end", dash=[2, 3], top=plane.py("datum.seconds"))
    name = layers.named(plane, "datum.end", text, layers.from_bottom(plane, 1), side="left")
    return layers.over("flat", dotted, ring, name, transform=[{"filter": "datum.inside"}])


def _tradeoff_mark(plane: Plane) -> Spec:
    """The page's batch on both curves, a line between them, and the two times.

    Above the latency's mark is free (what rises to the right is cleared); below and left of the cost's mark too, as
    its curve falls.
    """
    x, upper, lower = plane.px("datum.batch"), plane.py("datum.latency"), plane.py("datum.cost")
    right = f"({x}>0.6*width)"
    main, both = (f"({right}?datum.{name}:datum.{name}_ahead)" for name in ("latency", "upper"))
    free = f"({plane.py(main)}-{plane.py('datum.beside')}>{layers.TYPE_LINE}+14)"  # room for it below the thin curve
    clear = f"({plane.py(f'({free}?{main}:{both})')}-11)"
    names = f"max({text_width(_LATENCY)},{text_width('datum.beside_name')})"  # at the right ends of the curves
    gap, left = f"({lower}-{upper})", f"({x}<90)"
    divided = "'÷ '+format(datum.batch,',')"
    batch = "'B = '+format(datum.batch,',')"
    return layers.over(
        "marks",
        layers.rule(plane, "batch", dash=[2, 3], top=upper),
        layers.point("batch", "cost", "decode", "'a token costs '+datum.cost_text+' of the machine'"),
        layers.point("batch", "latency", "decode", f"{batch}+': each waits '+datum.latency_text"),
        layers.label("datum.latency_text", "decode text", at(f"{right}?min({x}+6,width-{names}-14):{x}-6", clear),
              align=f"{right}?'right':'left'", weight=600),
        layers.label("datum.cost_text", "decode text",
              at(f"{left}?{x}-6:{x}-9", f"{lower}+({left}?{layers.TYPE_LINE}*1.9:{layers.TYPE_LINE})"),
              align=f"{left}?'left':'right'", weight=600, show=f"{gap}>1"),
        layers.label(divided, "muted", at(f"{x}+7", f"({upper}+{lower})/2+5"), show=f"{gap}>48&&{x}<width-{names}-60"),
        layers.named(plane, "datum.batch", batch, layers.from_bottom(plane, 0), wall="datum.wall"),
    )  # fmt: skip


_LATENCY = layers.either("'latency of a token: the step'", "'latency'")


def _tradeoff_names(plane: Plane) -> Spec:
    """Names of the curves at their right ends, which lie far apart; that of the thin one only where it is clear."""
    clear = f"abs({plane.py('datum.beside_end')}-{plane.py('datum.latency_end')})>{layers.TYPE_LINE}*2"
    return layers.over(
        "marks",
        layers.end_name(plane, _LATENCY, "ink", "datum.latency_end"),
        layers.end_name(plane, layers.either("'cost: the step ÷ B'", "'cost'"), "ink", "datum.cost_end", below=True),
        layers.end_name(plane, "datum.beside_name", "muted", "datum.beside_end", show=clear),
    )


# ---- what is bought: speed against price -----------------------------------------------------------------------


@st.cache_resource(show_spinner=False)
def market_spec() -> Spec:
    """Price of a million tokens against the speed of one sequence: what a batch buys and at what it sells."""
    plane = Plane(
        HEIGHTS["market"], "tokens a second for each sequence", "$ a million tokens", x_ticks=FINE, y_ticks=FINE
    )
    return layers.spec(
        plane,
        "Price of a million tokens against the speed of each sequence",
        _market_curves(plane),
        _market_dots(plane),
    )


def _market_curves(plane: Plane) -> Spec:
    axes = {"x": plane.x("speed"), "y": plane.y("price")}

    def curve(name: str, mark: Spec, meaning: str) -> Spec:
        order = {"order": {"field": "batch", "type": "quantitative"}}
        where = axes if name == "within" else {"x": along("speed"), "y": along("price")}
        return {
            "transform": layers.only("curve", name),
            "mark": mark,
            "encoding": {**where, **order, "stroke": colour(meaning)},
        }

    floor = {
        "transform": [*layers.only("curve", "floor"), {"filter": "datum.batch==1&&datum.named"}],
        "layer": [
            layers.label(
                "'its floor'",
                "muted",
                at(plane.px("datum.speed"), f"{plane.py('datum.price')}-9"),
                align="'right'",
                show=f"!({PHONE})",
            ),
        ],
    }
    return layers.over(
        "curve",
        curve("floor", layers.line(1.5, [5, 4]), "muted"),
        curve("beyond", layers.line(1.5, [2, 4]), "muted"),
        curve("within", layers.line(3), "ink"),
        floor,
    )


def _market_dots(plane: Plane) -> Spec:
    """Some batches. Cheaper is slower, so the curve rises: above left and below right of a dot are free."""

    def dots(kind: str, meaning: str, shape: str, where: Spec, align: str) -> Spec:
        said = (
            "datum.text+': '+format(datum.speed,',.3~r')+' tokens a second each, $'"
            "+format(datum.price,',.3~r')+' a million'"
        )
        point = layers.point("speed", "price", meaning, said, shape)
        weight = 400 if kind == "decade" else 600
        name = layers.label(
            text,
            "decode text" if kind == "own" else "ink",
            where,
            align=align,
            weight=weight,
            show="true" if kind == "own" else fits,
        )
        return {"transform": layers.only("kind", kind), "layer": [point, name]}

    text = layers.either("datum.text", "datum.short")
    x, y = plane.px("datum.speed"), plane.py("datum.price")
    fits = f"({x}-11>{text_width(text)})"
    above_left, below_right = at(f"{x}-11", f"{y}-7"), at(f"{x}+11", f"{y}+{layers.TYPE_LINE}+2")
    return layers.over(
        "dots",
        dots("decade", "paper", "circle", above_left, "'right'"),
        dots("wall", "ink", "square", above_left, "'right'"),
        dots("own", "decode", "circle", below_right, "'left'"),
    )


# ---- the two bills ---------------------------------------------------------------------------------------------


@st.cache_resource(show_spinner=False)
def bills_by_batch_spec() -> Spec:
    """Bytes for a token of output against the batch: the cache below, which stays, and its share of the weights."""
    plane = Plane(HEIGHTS["bills"], layers.BATCH, "bytes for a token", y_units=format.BYTES, y_log=False)
    below, above = plane.py("datum.caches"), plane.height
    inside = f"({above}-{below}>{layers.TYPE_LINE}*1.6)"
    cache_y = f"({inside}?{below}+{layers.TYPE_LINE}:{above}-7)"
    weights_y = f"({inside}?{below}-9:{above}-7-{layers.TYPE_LINE})"
    names = layers.over(
        "curve",
        layers.label("datum.kept", "ink", at("width-8", cache_y), align="'right'", weight=600, halo=False),
        layers.label(_SHARE, "memory", at("width-8", weights_y), align="'right'", weight=600),
        transform=_point_of_curve(0, order="descending"),
    )
    return _bills(
        plane,
        "Bytes for a token against the batch",
        names,
        lower="caches",
        own=_own_bill("'B = '+format(datum.at,',')"),
    )


@st.cache_resource(show_spinner=False)
def bills_by_context_spec() -> Spec:
    """Bytes for a token of output against the context: its share of the weights below, and the cache, which grows."""
    plane = Plane(
        HEIGHTS["bills"], "context of each sequence, tokens", "bytes for a token",
        y_units=format.BYTES, x_log=False, y_log=False,
    )  # fmt: skip
    edge = plane.py("datum.weights")
    inside = f"({plane.height}-{edge}>{layers.TYPE_LINE}*1.6)"
    end = at(f"{plane.px('datum.at')}-8", f"{plane.py('datum.total')}-8")
    names = layers.over(
        "curve",
        layers.label(_SHARE, "memory", at("width-8", f"{edge}-7"), align="'right'", weight=600, show=f"!{inside}"),
        layers.label(
            _SHARE,
            "paper",
            at("width-8", f"{edge}+{layers.TYPE_LINE}+2"),
            align="'right'",
            weight=600,
            show=inside,
            halo=False,
        ),
        layers.label("datum.kept", "ink", end, align="'right'", weight=600),
        transform=_point_of_curve(83),
    )
    return _bills(
        plane,
        "Bytes for a token against the context",
        names,
        lower="weights",
        own=_own_bill("format(datum.at,',')+(datum.at==1?' token':' tokens')"),
    )


_SHARE = "'its share of the weights'"


def _point_of_curve(position: int, order: str = "ascending") -> list[Spec]:
    """Keeps one point of a curve: the one on this position."""
    window = [{"op": "row_number", "as": "position"}]
    return [
        {"window": window, "sort": [{"field": "at", "order": order}]},
        {"filter": f"datum.position=={position + 1}"},
    ]


def _own_bill(where: str) -> str:
    both = "': '+datum.weights_text+' + '+datum.caches_text"
    return layers.either(f"({where}+{both})", f"({where})")


def _bills(plane: Plane, title: str, names: Spec, *, lower: str, own: str) -> Spec:
    fills = {"caches": "cached", "weights": "memory"}
    upper = next(name for name in fills if name != lower)

    def area(name: str, low: Spec, high: str) -> Spec:
        mark = {"type": "area", "clip": True, "aria": False}
        where = {"x": along("at"), "y": along(high), "y2": low}
        return {"mark": mark, "encoding": {**where, "fill": colour(fills[name])}}

    edge = {"x": plane.x("at"), "y": plane.y("caches" if lower == "caches" else "total"), "stroke": colour("ink")}
    even = "'the two bills are '+datum.text"
    return layers.spec(
        plane,
        title,
        layers.over(
            "curve",
            area(lower, {"datum": 0}, lower),
            area(upper, {"field": lower}, "total"),
            {"mark": layers.line(1.4), "encoding": edge},
        ),
        *layers.wall(plane, layers.from_top(2), fade=lower == "caches"),
        names,
        layers.over(
            "even",
            layers.rule(plane, "at", dash=[2, 3]),
            layers.point("at", "half", "paper", even),
            layers.named(plane, "datum.at", "datum.text", layers.from_top(1), wall="datum.wall"),
        ),
        layers.over(
            "own",
            layers.rule(plane, "at", dash=[2, 3]),
            layers.point("at", "total", "decode", f"{own}+' for a token'"),
            layers.named(plane, "datum.at", own, layers.from_top(0), wall="datum.wall"),
        ),
    )


# ---- intensity -------------------------------------------------------------------------------------------------


@st.cache_resource(show_spinner=False)
def intensity_spec() -> Spec:
    """FLOP a byte of decode steps against the batch, a curve a context, and the ridge that few of them reach."""
    plane = Plane(HEIGHTS["intensity"], layers.BATCH, "FLOP a byte")
    return layers.spec(
        plane,
        "FLOP a byte of decode steps against the batch",
        _intensity_curves(plane),
        _ridge(plane),
        *layers.wall(plane, layers.from_bottom(plane, 0)),
        _intensity_names(plane),
        _intensity_mark(plane),
    )


def _intensity_curves(plane: Plane) -> Spec:
    where = {"x": along("batch"), "y": along("intensity")}
    axes = {"x": plane.x("batch"), "y": plane.y("intensity")}
    alone = {"mark": layers.line(1.5, [5, 4]), "encoding": {**axes, "stroke": colour("muted")}}
    lines = {**where, "stroke": colour_field("meaning"), "detail": {"field": "line"}}
    beside = at(f"{plane.px('datum.alone_at')}-10", f"{plane.py('datum.alone')}-4")
    return {
        "layer": [
            layers.over("alone", alone),
            layers.over(
                "own",
                layers.label(
                    "'weights alone'", "muted", beside, align="'right'", show=f"datum.alone_clear&&!({PHONE})"
                ),
            ),
            layers.over("curve", {"mark": layers.line(1.7), "encoding": lines}, transform=[{"filter": "!datum.own"}]),
            layers.over("curve", {"mark": layers.line(4), "encoding": lines}, transform=[{"filter": "datum.own"}]),
        ]
    }


def _ridge(plane: Plane) -> Spec:
    rule = {
        "mark": {"type": "rule", "strokeWidth": 1.5, "aria": False},
        "encoding": {"y": along("ridge"), "stroke": colour("compute")},
    }
    text = layers.either("datum.ridge_text", "datum.ridge_short")
    return layers.over(
        "own",
        rule,
        layers.label(text, "compute", at("8", f"{plane.py('datum.ridge')}+{layers.TYPE_LINE}+1"), weight=600),
    )


def _intensity_names(plane: Plane) -> Spec:
    """Above its right end the name of a curve that never reaches the ridge; of another above its crossing.

    Names of crossings have a row each, above the ridge.
    """
    text = layers.either("datum.text", "datum.short")
    ring = {"transform": [{"filter": "datum.inside"}], **layers.point("at", "intensity", "paper", "datum.text")}
    x = plane.px("datum.at")
    fits = f"({x}-9>{text_width(text)})"
    beside = at(f"{fits}?{x}-8:{x}+9", f"{plane.py('datum.ridge')}-9-datum.lane*{layers.TYPE_LINE}")
    end = at("width-4", f"{plane.py('datum.intensity')}-8")
    named = [{"transform": [{"filter": "datum.high"}], "layer": [ring]}]
    for own, weight in (("datum.own", 600), ("!datum.own", 400)):
        crossing = layers.label(text, "ink", beside, align=f"{fits}?'right':'left'", weight=weight)
        ends = layers.label(text, "ink", end, align="'right'", weight=weight)
        named += [
            {"transform": [{"filter": f"datum.high&&{own}"}], "layer": [crossing]},
            {"transform": [{"filter": f"!datum.high&&{own}"}], "layer": [ends]},
        ]
    return layers.over("ends", *named)


def _intensity_mark(plane: Plane) -> Spec:
    """The page's batch on its curve; as the curve rises, below right of it is free, and above left.

    Where the wall or the name of another curve is below right, and that of its own above, it has no label.
    """
    x, y = plane.px("datum.batch"), plane.py("datum.intensity")
    text = layers.either("datum.text", "datum.short")
    wide, wall = text_width(text), plane.px("datum.wall")
    room, cut = f"({x}+12+{wide}<width)", f"({wall}>{x}&&{wall}<{x}+12+{wide})"
    ridge = f"abs({y}-{plane.py('datum.ridge')})<3*{layers.TYPE_LINE}"  # where names of crossings stand
    clear = (  # neither the name of a curve nor that of the ridge
        f"({x}<width-{text_width(layers.either(*_LONG_NAME))}&&{y}>{plane.py('datum.ridge')}+3*{layers.TYPE_LINE})"
    )
    above = f"({room}&&({cut}||datum.crowded)&&{clear})"
    where = at(f"{above}?{x}-11:{room}?{x}+11:width-4", f"{above}?{y}-9:{y}+{layers.TYPE_LINE}+3")
    return layers.over(
        "own",
        layers.point("batch", "intensity", "decode", "'decode step, '+datum.text"),
        layers.label(text, "decode text", where, align=f"{room}&&!{above}?'left':'right'", weight=600,
              show=f"({above}||!datum.crowded)&&!({ridge})"),
    )  # fmt: skip


_LONG_NAME = "'10,000 cached: tends to 12, never crosses'", "'10,000 cached: 12, never'"


# ---- experts ---------------------------------------------------------------------------------------------------


@st.cache_resource(show_spinner=False)
def experts_spec() -> Spec:
    """Distinct experts against the batch, between the fewest and the most that there can be; at the right, bytes."""
    plane = Plane(HEIGHTS["experts"], layers.BATCH, "experts of a layer", y_log=False)
    x = along("batch")
    between = {
        "mark": {"type": "area", "opacity": 0.14, "clip": True, "aria": False},
        "encoding": {"x": x, "y": along("least"), "y2": {"field": "most"}, "fill": colour("muted")},
    }
    axes = {"x": plane.x("batch"), "y": plane.y("expected")}
    expected = {"mark": layers.line(4), "encoding": {**axes, "stroke": colour("memory")}}
    curves = layers.over("curve", between, expected)
    marks = [*layers.wall(plane, layers.from_top(1)), _experts_mark(plane)]
    bytes_axis = layers.over("curve", {"mark": layers.line(0), "encoding": {"x": x, "y": _bytes_axis()}})
    drawn = layers.spec(
        plane,
        "Distinct experts against the batch",
        {"layer": [curves, *marks]},
        bytes_axis,
    )
    return {**drawn, "resolve": {"scale": {"y": "independent"}}}


def _bytes_axis() -> Spec:
    ends = [{"expr": chart.first("frame", f"bytes_{name}", other)} for name, other in (("bottom", 0), ("top", 1))]
    written = format.vega(format.BYTES, "datum.value", trim=True)
    title = {"title": "weights read", "titleAngle": 0, "titleAlign": "right", "titleAnchor": "end"}
    axis = {**title, "titleX": 40, "titleY": -16, "orient": "right", "tickCount": 4, "labelExpr": written}
    scale = {"type": "linear", "domain": ends, "nice": False, "zero": False}
    return {"field": "bytes", "type": "quantitative", "scale": scale, "axis": axis}


def _experts_mark(plane: Plane) -> Spec:
    said = f"('B = '+format(datum.batch,',')+': '+{layers.either('datum.text', 'datum.short')})"
    every, fewest = plane.py("datum.experts"), plane.py("datum.top_k")
    expected = layers.either("'expected, if each is as likely as any other'", "'expected'")
    return layers.over(
        "own",
        layers.rule(plane, "batch", dash=[2, 3], top=plane.py("datum.expected")),
        layers.point("batch", "expected", "decode", said),
        layers.label(expected, "memory", at("width-6", f"{every}+{layers.TYPE_LINE}+6"), align="'right'", weight=600),
        layers.label(
            "'never fewer than '+format(datum.top_k,',')", "muted", at("width-6", f"{fewest}-6"), align="'right'"
        ),
        layers.label("'all '+format(datum.experts,',')", "muted", at("8", f"{every}-6")),
        layers.named(plane, "datum.batch", said, layers.from_top(0), wall="datum.wall"),
    )
