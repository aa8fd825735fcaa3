"""The Share menu of every page: the scenario as a file, pictures by title, tables in full precision."""

import csv
import hashlib
import io
import json
import math
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from streamlit.testing.v1 import AppTest

import costmodel as cm
from pages.parts import codec, components, format, offers, scenario_file, spreadsheet, state
from pages.parts.components import BREAK, Column, Ink, Table, share_bar
from tests.pages import app, opened
from tests.pages.configs import FP8, LLAMA_70B
from tests.pages.shared import offered, open_share
from tests.pages.test_snippets import PAGES

LONG = LLAMA_70B | {"unused": [hashlib.sha256(bytes([i, j])).hexdigest() for i in range(20) for j in range(20)]}
VIEWS = [
    *((page, {}) for page in PAGES),
    ("compare", {"compare_view": "league"}),
    ("compare", {"compare_view": "map"}),
    ("memory", {"model": "gemma-3-27b", "batch": 1000, "context": 100000}),
    ("roofline", {"rates": "calibrated", "model": "llama-3.1-8b"}),
    ("batching", {"model": "gpt-oss-20b"}),
]


# ---- the scenario as a file ------------------------------------------------------------------------------------------


def value_of(control: state.Control) -> st.SearchStrategy[Any]:
    """Values that a control may have."""
    if isinstance(control, state.Choice):
        return st.sampled_from(list(control.options()))
    if isinstance(control, state.Number):
        if control.whole:
            return st.integers(int(control.low), int(control.high))
        steps = round((control.high - control.low) / control.step)
        return st.integers(0, steps).map(lambda n: float(f"{control.low + n * control.step:g}"))
    if isinstance(control, state.Numbers):
        return st.lists(st.integers(control.low, control.high), min_size=1, max_size=control.most).map(tuple)
    return st.sampled_from(["", *_PACKED[control.key]])


_CHIP = codec.pack_hardware(codec.custom_hardware("<b>X</b>", bandwidth=1e12, memory=None, peak={"bf16": 1e15}))
_PACKED = {
    "model_config": [codec.pack_model(LLAMA_70B, FP8, '"; 你好'), codec.pack_model(LONG)],
    "accelerator": [_CHIP],
    "own_memory": [codec.pack_memory("mi325x", 255.5)],
    "pinned": [codec.pack({"batch": "8"})],
    "league_prices": [],
}


@given(st.fixed_dictionaries({key: value_of(control) for key, control in state.CONTROLS.items()}))
def test_every_scenario_comes_back_from_its_file(values: dict[str, Any]) -> None:
    read = scenario_file.read(scenario_file.write(values))
    assert {key: read.get(key, control.default) for key, control in state.CONTROLS.items()} == values
    assert scenario_file.read(scenario_file.write(values).encode()) == read


def test_the_long_model_of_these_tests_is_too_long_for_a_link() -> None:
    assert len(codec.pack_model(LONG)) > codec.LONGEST_TEXT


@given(st.text(max_size=200) | st.binary(max_size=200))
def test_junk_is_refused_in_a_sentence(junk: str | bytes) -> None:
    with pytest.raises(ValueError, match=r"^It [^\n]+\.$"):
        scenario_file.read(junk)


json_values = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3),
    max_leaves=9,
)


@given(st.dictionaries(st.sampled_from(list(state.CONTROLS)) | st.text(max_size=9), json_values, max_size=4))
def test_a_file_with_anything_in_it_is_read_or_refused(controls: dict[str, Any]) -> None:
    text = json.dumps({"format": scenario_file.FORMAT, "version": scenario_file.VERSION, "controls": controls})
    try:
        values = scenario_file.read(text)
    except ValueError as error:
        assert len(str(error)) < 400  # noqa: PT017  # either is right
        return
    assert values.keys() == controls.keys()
    assert all(state.CONTROLS[key].write(value) is not None for key, value in values.items())


def file(**controls: object) -> str:
    return json.dumps({"format": scenario_file.FORMAT, "version": 1, "controls": controls})


BAD = {
    "another version": (file().replace('"version": 1', '"version": 2'), "another version than 1"),
    "no version": ('{"format": "stepcost scenario", "controls": {}}', "another version than 1"),
    "another format": ('{"format": "x"}', "JSON of something else"),
    "a list": ("[]", "JSON of something else"),
    "more parts": (file()[:-1] + ', "more": 1}', "other parts"),
    "unknown control": (file(batch="8", nonsense="1"), "nonsense"),
    "bad value": (file(context="8", batch="-5"), "batch: found '-5', expected a whole number from 1 to 1,024"),
    "bad choice": (file(context="8", model="gpt-9"), "model: found 'gpt-9'"),
    "a truth": (file(batch=True), "batch has to be text or a number"),
    "a list as value": (file(batch=[[1]]), "batch has to be text or a number"),
    "not finite": (file(bandwidth_x="nan"), "bandwidth_x: found 'nan'"),
    "cut model": (file(model_config=codec.pack_model(LLAMA_70B)[:-9]), "packed value"),
    "huge figure": (
        file(hardware="custom", accelerator=codec.pack(["X", 1e12, 10**400, {"bf16": 1e15}])),
        "memory: found 1000",
    ),
    "deep": ("[" * 100_000, "It is no JSON"),
    "deep inside": (file().replace("{}", '{"batch": ' + "[" * 100_000 + "]" * 100_000 + "}"), "It is no JSON"),
    "five megabytes": ("x" * 4_999_999, "It is no JSON"),
    "more": (" " * 5_000_001, "It has 5,000,001 bytes"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_file_that_cannot_be_used_changes_nothing(case: str) -> None:
    text, reason = BAD[case]
    at = open_share("roofline", batch=16)
    before = {key: at.session_state[key] for key in state.CONTROLS if key in at.session_state}
    opened.upload(at, text.encode(), key="share_upload", name="scenario.json")
    said = opened.notices(at)
    assert len(said) == 1
    assert said[0].startswith("Not loaded. ")
    assert reason in said[0]
    assert {key: at.session_state[key] for key in before} == before


def test_a_loaded_scenario_sets_every_control() -> None:
    at = open_share("roofline", batch=16, context=500, model="llama-3.1-8b", weights="fp8")
    wanted = {
        "batch": 64,
        "model": "custom",
        "model_config": codec.pack_model(LONG, None, "Mine"),
        "count": "attention",
    }
    at.text_area(key="share_pasted").set_value(scenario_file.write(wanted))
    opened.press(at, "Load")
    assert "Mine" in app.text(at)
    assert {key: at.session_state[key] for key in wanted} == wanted
    assert at.session_state["context"] == state.CONTROLS["context"].default
    assert at.session_state["weights"] == state.AUTO
    assert not opened.notices(at)
    assert "too long for one" in app.text(at)


def test_a_bad_file_then_a_good_one() -> None:
    at = open_share("memory", model="gpt-9")
    assert opened.notices(at)
    at.text_area(key="share_pasted").set_value("{}")
    opened.press(at, "Load")
    assert any(said.startswith("Not loaded.") for said in opened.notices(at))
    at.text_area(key="share_pasted").set_value(file(batch=32, utilization=0.8))
    opened.press(at, "Load")
    assert (at.session_state["batch"], at.session_state["utilization"]) == (32, 0.8)
    assert not opened.notices(at)


# ---- what is offered -------------------------------------------------------------------------------------------------


def menu_files(at: AppTest) -> list[str]:
    return [button.label for button in at.get("download_button")]


def test_a_closed_menu_holds_nothing() -> None:
    at = app.open_app("roofline")
    assert not menu_files(at)
    assert "share_link" not in {element.key for element in at.get("bidi_component")}


@pytest.mark.parametrize(
    ("page", "query"), VIEWS, ids=lambda x: x if isinstance(x, str) else "-".join(map(str, x.values()))
)
def test_every_picture_and_table_of_a_page_is_offered_by_a_name_of_its_own(page: str, query: dict[str, object]) -> None:
    at = open_share(page, **query)
    found = offered(at)
    charts = at.get("vega_lite_chart")
    cells = [one for one in found.pictures.values() if one.part]
    assert len(found.pictures) - len(cells) == len(charts)
    titles = [one.title for one in found.pictures.values()]
    assert len(set(titles)) == len(titles)
    assert not set(titles) & {"", page}
    tables = app.markup(at).count('<table class="sc-table">')
    assert sum(file.kind == "csv" for file in found.files.values()) >= tables
    assert "There are none here." not in app.text(at) or page in {"measure", "memory"}


@pytest.mark.parametrize(
    ("page", "query"), VIEWS, ids=lambda x: x if isinstance(x, str) else "-".join(map(str, x.values()))
)
def test_every_table_is_written_as_numbers_and_text(page: str, query: dict[str, object]) -> None:
    for file in offered(open_share(page, **query)).files.values():
        if file.kind != "csv":
            json.loads(file.write())
            continue
        header, *rows = csv.reader(io.StringIO(file.write()))
        assert rows
        assert all(len(row) == len(header) for row in rows)
        assert len(set(header)) == len(header)
        cells = [cell for row in rows for cell in row]
        assert not [cell for cell in cells if cell.startswith(("=", "+", "@")) or "\u00a0" in cell]
        rounded = [cell for cell in cells if re.fullmatch(r"−?\d{1,3}(,\d{3})*(\.\d+)?", cell) and not _number(cell)]
        assert not rounded, (file.title, "written for people, not for a spreadsheet")
        units = [name for name in header if name.endswith(")") and "(" in name]
        for name in units:
            column = [row[header.index(name)] for row in rows]
            assert any(_number(cell) for cell in column), (file.title, name, column)


def test_the_bill_of_a_run_adds_up_to_what_the_page_says() -> None:
    at = open_share("shapes", run_prompt=30, run_tokens=50)
    (file,) = offered(at).files.values()
    rows = list(csv.DictReader(io.StringIO(file.write())))
    assert len(rows) == 50
    assert [float(row["rows with a cache"]) for row in rows] == [30.0] + [1.0] * 49
    assert sum(float(row["rows without one"]) for row in rows) == sum(range(30, 80))


def _number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


# ---- tables as files -------------------------------------------------------------------------------------------------


def written(table: Table) -> list[list[str]]:
    return list(csv.reader(io.StringIO(table.csv())))


def test_a_table_is_written_before_its_numbers_are_rounded() -> None:
    rows = [("decode", 3.5581157e-4, 1, 0.2), ("prefill", 6.0232e-4, 500, 0.75)]
    table = Table(
        [
            Column("step", lambda row: row[0]),
            Column("takes", lambda row: [Ink(format.seconds(row[1]), "decode"), " (about)"]),
            Column("tokens", lambda row: Ink(format.count(row[2]))),
            Column("share", lambda row: [format.percent(row[3]), share_bar(row[3], "memory")]),
            Column("picture", lambda row: share_bar(row[3], "memory")),
            Column("ms", lambda row: format.significant(1e3 * row[1]), named=""),
        ],
        rows,
    )
    assert written(table) == [
        ["step", "takes (s)", "tokens", "share (share of 1)"],
        ["decode", "0.00035581157", "1", "0.2"],
        ["prefill", "0.00060232", "500", "0.75"],
    ]


def test_a_line_below_a_name_does_not_run_into_it_and_what_is_no_number_stays_a_word() -> None:
    rows = [("mixed", 1234.5), ("none", float("nan")), ("all", float("inf"))]
    columns = [
        Column("which", lambda row: [row[0], BREAK, Ink("of layers", "muted")]),
        Column("rate", lambda row: format.significant(row[1])),
    ]
    assert written(Table(columns, rows)) == [
        ["which", "rate"],
        ["mixed: of layers", "1234.5"],
        ["none: of layers", "–"],
        ["all: of layers", "∞"],
    ]


def test_layers_that_keep_a_cache_and_a_state_have_a_column_for_each() -> None:
    """Jamba-1.5-Mini: 8 heads × 2 × 128 × 2 B a token; 8,192 × 16 × 4 B and 8,192 × 3 × 2 B a sequence."""
    (file,) = offered(open_share("model", model="jamba-1.5-mini")).files.values()
    rows = list(csv.DictReader(io.StringIO(file.write())))
    assert [row["layers"].split(":")[0] for row in rows] == ["12", "16", "4"]
    assert [row["kept a token (B)"] for row in rows] == ["nothing", "nothing", "4096.0"]
    assert [row["state a sequence (B)"] for row in rows] == ["573440.0", "573440.0", "nothing"]


def test_several_units_in_a_column_have_a_column_of_their_own() -> None:
    rows = [("time", format.seconds(0.5)), ("rate", format.byte_rate(2e12)), ("name", "–")]
    table = Table([Column("what", lambda row: row[0]), Column("A", lambda row: row[1])], rows)
    assert written(table)[1:] == [["time", "0.5", "s"], ["rate", "2000000000000.0", "B/s"], ["name", "–", ""]]


@given(st.text(max_size=30))
def test_no_text_is_taken_for_a_formula(text: str) -> None:
    ((cell,),) = list(csv.reader(io.StringIO(spreadsheet.written([text], []))))[:1] or [[""]]
    assert not cell.startswith(("=", "+", "-", "@", "\t", "\r"))
    assert spreadsheet.cell(-1.5) == -1.5


def test_numbers_remember_and_read_as_before() -> None:
    time = format.seconds(3.5581157e-4)
    assert (time, time.raw, time.base) == (format.Quantity("356", "µs"), 3.5581157e-4, "s")
    assert format.gibibytes(2**30).raw == 2**30
    assert (format.count(12345), format.count(12345).raw) == ("12,345", 12345)
    assert components.numbers(["about ", time]) == []


def test_names_of_files_say_what_they_are_of() -> None:
    assert offers.file_name("roofline", "Where the step goes", "csv") == "stepcost-roofline-where-the-step-goes.csv"
    assert offers.file_name("x", "../../<b> \n", "svg") == "stepcost-x-b.svg"


def test_the_model_of_a_file_is_checked_as_that_of_a_link() -> None:
    with pytest.raises(ValueError, match="num_hidden_layers"):
        scenario_file.read(file(model_config=codec.pack_model({**LLAMA_70B, "num_hidden_layers": -1})))
    with pytest.raises(cm.ConfigError):
        codec.own_config(codec.pack([1, 2]))
