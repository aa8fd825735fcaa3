"""The Roofline page, run without a browser."""

import random
import re

import pytest

import costmodel as cm
from pages.parts import codec, format, state
from pages.parts.expected import SPREAD
from tests.pages import app, opened


def written(quantity: object) -> str:
    return str(quantity).replace("\u00a0", " ")


def test_the_numbers_of_the_post_are_on_the_page() -> None:
    text = app.text(app.open_app("roofline"))
    assert (
        "One decode step of Qwen3-0.6B on H100 SXM cannot finish sooner than 356 µs. "
        "The arithmetic units have nothing to do for 99.7 % of it." in text
    )
    for number in (
        "15.73 M parameters", "595,984,384 parameters", "1.19 GB", "1.19 GFLOP", "1.2 µs a token", "295 tokens",
        "295 FLOP a byte", "602 µs", "426 µs",
    ):  # fmt: skip
        assert number in text


def choices(count: int) -> list[dict[str, object]]:
    rng = random.Random(20)
    found: list[dict[str, object]] = []
    while len(found) < count:
        query = {
            "model": rng.choice(list(cm.model())),
            "hardware": rng.choice(list(cm.hardware())),
            "batch": rng.randint(1, 1024),
            "prompt": rng.randint(1, 131072),
            "context": rng.randint(1, 131072),
            "count": rng.choice(["weights", "attention"]),
        }
        try:
            cm.price(cm.model(query["model"]), cm.hardware(query["hardware"]), cm.Step.decode(1, 1))
        except cm.ConfigError:
            continue
        found.append(query)
    return found


@pytest.mark.parametrize("query", choices(20), ids=lambda q: "-".join(map(str, q.values())))
def test_the_figures_on_the_page_are_the_cost_models(query: dict[str, object]) -> None:
    at = app.open_app("roofline", **query)
    assert not at.exception
    assert app.notices(at) == []
    model, hw, count = cm.model(query["model"]), cm.hardware(query["hardware"]), query["count"]
    batch, prompt, context = (query[name] for name in ("batch", "prompt", "context"))
    decode = cm.price(model, hw, cm.Step.decode(batch, context), count=count)
    prefill = cm.price(model, hw, cm.Step.prefill(prompt), count=count)
    crossing = cm.crossing(model, hw, context, count, "decode")
    shown = app.figures(at)
    assert shown[f"decode step, B = {batch:,}"] == written(format.seconds(decode.seconds))
    assert shown[f"prefill of {prompt:,}"] == written(format.seconds(prefill.seconds))
    assert shown["crossing T*"] == ("never" if crossing is None else written(format.tokens(crossing)))
    idle = decode.idle if decode.bound == "memory" else 1 - decode.memory_seconds / decode.seconds
    side = "arithmetic" if decode.bound == "memory" else "memory"
    assert shown[f"{side} idle"] == written(format.percent(float(idle)))
    if count == "weights":
        assert shown["weights read"] == written(format.gigabytes(decode.bytes))
    else:
        read = cm.price(model, hw, cm.Step.decode(batch, context), count="weights").bytes
        (name,) = (name for name in shown if name.startswith("weights + "))
        parts, unit = shown[name].rsplit(" ", 1)
        scale = next(scale for scale, name in format.BYTES if name == unit)
        assert parts == f"{format.significant(read / scale)} + {format.significant((decode.bytes - read) / scale)}"
    text = app.text(at)
    floor = written(format.seconds(decode.seconds))
    bound, expected = f"cannot finish sooner than {floor}.", f"takes {floor} or more {SPREAD}."
    assert (expected if decode.expects_experts else bound) in text
    total = re.search(r"whole step ([\d.,]+) ", text)
    assert total is not None


def test_the_table_is_the_cost_models_and_sorts() -> None:
    at = app.open_app("roofline", count="attention", batch=64)
    cost = cm.price(cm.model("qwen3-0.6b"), cm.hardware("h100-sxm"), cm.Step.decode(64, 2048))
    for sort in ("order", "seconds", "bytes", "flops"):
        at.button_group(key="sort").set_value(sort).run()
        rows = re.findall(r"<tr><td>([^<]+)</td>", app.markup(at).split("<tbody")[1])
        table = (
            cost.operations if sort == "order" else cost.operations.sort_values(sort, ascending=False, kind="stable")
        )
        assert rows == table["name"].tolist()
        assert app.link(at).get("sort", "order") == sort


def test_a_link_is_taken_over_and_kept_while_controls_move() -> None:
    at = app.open_app(
        "roofline",
        model="llama-3.1-8b",
        hardware="h200-sxm",
        count="attention",
        bandwidth_x=2,
        tensor_parallel=2,
        batch=77,
    )
    assert at.selectbox(key="model").value == "llama-3.1-8b"
    assert at.select_slider(key="batch").value == 77
    assert at.slider(key="bandwidth_x").value == 2.0
    text = app.text(at)
    assert "Llama-3.1-8B" in text
    assert "2 GPUs" in text
    assert "bandwidth × 2" in text
    at.selectbox(key="hardware").set_value("a100-sxm-80").run()
    assert app.link(at)["hardware"] == "a100-sxm-80"
    assert app.link(at)["model"] == "llama-3.1-8b"
    at.selectbox(key="hardware").set_value("h100-sxm").run()
    assert "hardware" not in app.link(at)  # a default is not written


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("model", "no-such-model"), ("model", "<b>x</b>"), ("hardware", "'; drop table"), ("batch", "0"),
        ("batch", "abc"),
        ("batch", "1.5"), ("batch", "nan"), ("prompt", "1e30"), ("context", "-5"), ("bandwidth_x", "0"),
        ("bandwidth_x", "nan"), ("bandwidth_x", "1e300"), ("compute_x", "fast"), ("weights", "fp3"), ("count", "all"),
        ("rates", "guess"), ("tensor_parallel", "3"), ("accelerator", "AAAA"), ("model_config", "%%%"), ("sort", ""),
    ],
)  # fmt: skip
def test_a_bad_value_in_a_link_gives_a_sentence_and_the_default(key: str, value: str) -> None:
    at = app.open_app("roofline", **{key: value})
    assert not at.exception
    assert len(app.notices(at)) == 1
    assert "The default is used instead" in app.notices(at)[0]
    assert "356 µs" in app.text(at)
    assert value not in app.markup(at) or "<" not in value


def test_a_notice_goes_when_its_control_is_moved() -> None:
    at = app.open_app("roofline", hardware="nope")
    assert len(app.notices(at)) == 1
    at.select_slider(key="batch").set_value(8).run()
    assert len(app.notices(at)) == 1
    at.selectbox(key="hardware").set_value("b200").run()
    assert app.notices(at) == []


def test_a_custom_accelerator_travels_in_the_link_and_its_name_is_text() -> None:
    hw = codec.custom_hardware("<img src=x onerror=alert(1)>", bandwidth=5e12, memory=100e9, peak={"bf16": 1e15})
    at = app.open_app("roofline", hardware="custom", accelerator=codec.pack_hardware(hw))
    assert not at.exception
    assert "<img" not in app.markup(at)
    assert "on <img src=x onerror=alert(1)> cannot finish" in app.text(at)
    expected = cm.price(cm.model("qwen3-0.6b"), hw, cm.Step.decode(1, 2048), count="weights")
    assert app.figures(at)["decode step, B = 1"] == written(format.seconds(expected.seconds))


def test_the_form_makes_an_accelerator_and_refuses_impossible_ones() -> None:
    at = app.open_app("roofline", hardware="custom")
    at.text_input[0].set_value("Mine")
    bandwidth = next(n for n in at.number_input if n.label.startswith("Bandwidth"))
    bandwidth.set_value(0.0)
    app.press(at, "Use these figures")
    assert "Not taken over. bandwidth: found 0.0" in app.text(at)
    next(n for n in at.number_input if n.label.startswith("Bandwidth")).set_value(6700.0)
    app.press(at, "Use these figures")
    assert "on Mine cannot finish sooner than 178 µs" in app.text(at)
    assert codec.unpack_hardware(app.link(at)["accelerator"]).bandwidth == 6.7e12


def test_a_format_without_a_unit_is_offered_for_storage_only_with_the_reason() -> None:
    at = app.open_app("roofline", hardware="a100-sxm-80", weights="fp8")
    compute = at.selectbox(key="compute")
    assert "fp8" not in compute.options
    assert "fp8" in at.selectbox(key="weights").options
    assert "A100" in compute.help
    assert "no unit" in compute.help
    assert any("fp8 is storage only here" in caption.value for caption in at.caption)
    refused = app.open_app("roofline", hardware="a100-sxm-80", compute="fp8")
    assert "no unit that computes in fp8" in app.notices(refused)[0]


def test_a_preliminary_row_is_marked() -> None:
    row = next(id_ for id_ in cm.hardware() if cm.hardware(id_).confidence == "C" and "bf16" in cm.hardware(id_).peak)
    at = app.open_app("roofline", hardware=row)
    assert any("◇" in option for option in at.selectbox(key="hardware").options)
    assert any("preliminary" in caption.value for caption in at.caption)


def test_every_accelerator_and_model_gives_a_page_or_a_sentence() -> None:
    at = app.open_app("roofline")
    for id_ in cm.hardware():
        at.selectbox(key="hardware").set_value(id_).run()
        assert not at.exception, id_
        assert app.figures(at), id_
    at.selectbox(key="hardware").set_value("h100-sxm").run()
    for id_ in cm.model():
        at.selectbox(key="model").set_value(id_).run()
        assert not at.exception, id_
        assert app.notices(at) == [], id_


def test_what_if_changes_the_numbers_and_goes_back() -> None:
    at = app.open_app("roofline")
    at.slider(key="bandwidth_x").set_value(2.0).run()
    assert app.figures(at)["decode step, B = 1"] == "178 µs"
    app.press(at, "Back to datasheet figures")
    assert app.figures(at)["decode step, B = 1"] == "356 µs"


def test_the_answers_to_the_questions_set_the_controls() -> None:
    at = app.open_app("roofline")
    at.button(key="roofline_question_0_set").click().run()
    assert at.select_slider(key="batch").value == 295
    at.button(key="roofline_question_2_set").click().run()
    assert app.figures(at)["crossing T*"] == "never"
    assert "its intensity tends to 7.1 FLOP a byte" in app.text(at)


def test_an_estimate_says_so_beside_the_floor() -> None:
    at = app.open_app("roofline", rates="calibrated", batch=8)
    cost = cm.price(cm.model("qwen3-0.6b"), cm.hardware("h100-sxm"), cm.Step.decode(8, 2048), rates="calibrated")
    text = app.text(at)
    assert "◐ calibrated" in text
    assert f"takes about {written(format.seconds(cost.seconds, 2))}" in text
    assert "the floor of 356 µs" in text
    assert app.figures(at)["decode, estimated"] == written(format.seconds(cost.seconds))


def test_specs_are_the_same_over_reruns_and_alt_texts_have_the_numbers() -> None:
    at = app.open_app("roofline")
    first = [chart.proto.spec for chart in at.get("vega_lite_chart")]
    assert len(first) == 2
    assert "356 µs" in opened.alt(at)
    at.select_slider(key="batch").set_value(64).run()
    at.selectbox(key="hardware").set_value("b200").run()
    assert [chart.proto.spec for chart in at.get("vega_lite_chart")] == first
    assert "Decode of 64" in opened.alt(at)


def test_sliders_offer_what_a_link_asked_for() -> None:
    at = app.open_app("roofline", batch=77)
    assert "77" in at.select_slider(key="batch").options
    at.select_slider(key="batch").set_value(8).run()
    assert "77" in at.select_slider(key="batch").options
    assert state.CONTROLS["batch"].parse("77") == 77


def test_a_crossing_below_one_token_is_not_written_as_one():
    slow = {"model": "qwen3-8b", "hardware": "epyc-9654", "weights": "int4", "compute_x": 0.25, "bandwidth_x": 4}
    at = app.open_app("roofline", batch=1, context=128, **slow)
    assert "from the first token on" in app.text(at)
    assert "the tokens at which both sides take as long" not in app.text(at)
