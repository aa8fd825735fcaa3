"""The Model page's numbers: every derivation adds up to the figure of ``cm.Model``, for every model there is."""

import random
import re

import pytest

import costmodel as cm
from costmodel.model import Experts
from pages.model import charts, own, words
from pages.model.numbers import Understood, ranges
from pages.parts import codec
from pages.parts.components import Line
from pages.parts.components import plain as words_of
from pages.parts.format import count
from pages.parts.scenario import Scenario
from tests.pages import derived, drawing
from tests.pages.configs import FP8_TEXT, LLAMA_70B, LLAMA_70B_TEXT
from tests.pages.opened import plain


def understood(model: str | cm.Model = "qwen3-0.6b", context: int = 2048, kv: str | None = "bf16") -> Understood:
    model = cm.model(model) if isinstance(model, str) else model
    return Understood(Scenario(model, cm.hardware("h100-sxm"), cm.Precision(kv=kv)), context)


every_model = pytest.mark.parametrize("name", cm.model())


def said(line: Line) -> str:
    return text(line.result)


def text(parts: object) -> str:
    return plain(words_of(parts))  # type: ignore[arg-type]


def number(line: Line) -> int:
    return int(re.sub(r"[^\d]", "", said(line).split(" ")[0]))


def items(u: Understood) -> dict[str, list[Line]]:
    return {item.key: list(item.lines) for item in words.understood(u)}


@every_model
def test_layers_and_what_is_outside_them_are_the_whole_model(name: str) -> None:
    u = understood(name)
    model = u.model
    assert sum(kind.count for kind in u.kinds) == model.num_layers
    assert sorted(place for kind in u.kinds for place in kind.places) == list(range(1, model.num_layers + 1))
    before, head = u.outside_bytes
    layers = sum(kind.weight_bytes * kind.count for kind in u.kinds)
    assert layers + before + head == pytest.approx(model.weight_bytes, rel=1e-12)
    assert head == 0 if model.tied else head > 0
    assert sum(kind.state_bytes * kind.count for kind in u.kinds) == pytest.approx(model.state_bytes)
    assert sum(u.kv_bytes(kind) * kind.count for kind in u.kinds) == model.kv_bytes_per_token
    kept = sum(u.kept_bytes(kind) * kind.count for kind in u.kinds)
    assert kept == pytest.approx(model.kv_bytes(u.context) + model.state_bytes)


def adds_up(u: Understood) -> None:
    """Every derivation's lines give its result, which is the model's own figure."""
    model, found = u.model, items(u)
    outside = model.total_params - sum(kind.params * kind.count for kind in u.kinds)
    assert number(found["total"][-1]) == model.total_params
    assert sum(map(number, found["outside"])) == outside
    for key, figure in (("matrices", model.matrix_params), ("active", model.active_params)):
        if key in found:
            assert sum(map(number, found[key][:-1])) == number(found[key][-1]) == figure
    assert ("active" in found) == (model.active_matrix_params != model.matrix_params)
    if model.kv_values_per_token:
        assert sum(map(number, found["cache"][:-2])) == number(found["cache"][-2]) == model.kv_bytes_per_token
    assert ("state" in found) == (model.state_bytes > 0)


@every_model
def test_every_derivation_adds_up_to_the_models_own_figure(name: str) -> None:
    u = understood(name)
    adds_up(u)
    of_a_layer, sums = 0, []
    for line in items(u)["total"][:-1]:
        if text(line.expression).startswith("together"):
            assert number(line) == of_a_layer
            sums.append(of_a_layer)
            of_a_layer = 0
        else:
            of_a_layer += number(line)
    if len(u.kinds) <= 4:
        assert sums == [kind.params for kind in u.kinds]


@every_model
@pytest.mark.parametrize("kv", ["bf16", "fp8"])
def test_each_line_comes_to_what_it_claims(name: str, kv: str) -> None:
    u = understood(name, context=1, kv=kv)
    lines = [line for item in words.understood(u) for line in item.lines]
    assert derived.wrong(lines, "LM head", "parameters") == []
    shown = [text(part) for line in lines for part in (line.expression, line.result)]
    shown += [words.stack_alt(u), words.read_from(u), *(text(figure.name) for figure in words.figures(u))]
    assert not re.search(r"(?<![\d.,])1 (tokens|bytes|layers|experts)\b", plain(" | ".join(shown)))


@pytest.mark.parametrize(
    ("model", "told"),
    [
        ("qwen3-0.6b", "every layer keeps all of them"),
        ("jamba-1.5-mini", "the 4 layers with a cache keep all of them"),
        ("gemma-3-27b", "windows clip"),
    ],
)
def test_who_keeps_the_whole_context_is_said(model: str, told: str) -> None:
    assert text(items(understood(model))["cache"][-1].expression) == f"at 2,048 tokens: {told}"


def test_a_pruned_model_of_many_sizes_stays_readable() -> None:
    """Each layer of Llama-Nemotron has a width of its own, and some have no attention (arXiv 2411.19146)."""
    blocks = [
        {"attention": {"n_heads_in_group": 8} if index % 3 else {"no_op": True}, "ffn": {"ffn_mult": 0.5 + index / 10}}
        for index in range(40)
    ]
    config = {**LLAMA_70B, "model_type": "nemotron-nas", "num_hidden_layers": 40, "block_configs": blocks}
    u = understood(cm.Model.from_config(config))
    adds_up(u)
    assert len(u.kinds) == 40
    assert sum(map(number, items(u)["total"][:-1])) + sum(map(number, items(u)["outside"])) == u.model.total_params
    assert [lane.text for lane in u.lanes] == [
        "full attention: 64 query heads on 8 KV heads, 128 wide",
        "gated MLP: 40 different sizes",
    ]
    assert len(words.kinds_table(u).rows) == 12
    assert words.more_kinds(u) == "and 28 further kinds of layers, as the picture shows."
    assert max(len(lines) for lines in items(u).values()) <= 16


@every_model
def test_what_a_token_uses_is_never_more_than_all(name: str) -> None:
    for kind in understood(name).kinds:
        if isinstance(kind.layer.mlp, Experts):
            assert 0 < kind.active_bytes < kind.weight_bytes
        else:
            assert kind.active_bytes == kind.weight_bytes
        assert kind.active_params <= kind.params


@every_model
def test_five_numbers_and_a_headline_for_every_model(name: str) -> None:
    u = understood(name)
    figures = words.figures(u)
    assert len(figures) == 5
    headline = plain(words_of(words.headline(u)))
    assert headline.startswith(f"{u.model.name} has ")
    assert ("of which a token uses" in headline) == u.is_sparse
    assert ("for each sequence, however long" in headline) == (u.model.state_bytes > 0)


@every_model
def test_the_lanes_of_the_picture_hold_every_layer(name: str) -> None:
    u = understood(name)
    data = u.stack_data()
    assert len(data["bars"]) == u.model.num_layers + 2
    assert data["lanes"]["count"].sum() == len(data["cells"])
    cells = [(row.lane, row.at) for row in data["cells"].itertuples()]
    assert len(cells) == len(set(cells))
    assert {at for _, at in cells} == set(range(1, u.model.num_layers + 1))
    assert data["bars"]["weights"].sum() == pytest.approx(u.model.weight_bytes)


def test_a_cache_in_another_format_is_counted_in_it() -> None:
    assert understood("llama-3.1-8b", kv="fp8").kv_bytes_a_token == 65_536
    assert understood("llama-3.1-8b").kv_bytes_a_token == 131_072


@pytest.mark.parametrize(
    ("places", "said_"),
    [((1,), "1"), ((1, 2, 3, 5), "1–3, 5"), ((2, 4, 6, 8, 10), "2, 4, 6, …"), (tuple(range(1, 81)), "1–80")],
)
def test_positions_are_told_as_runs(places: tuple[int, ...], said_: str) -> None:
    assert ranges(places) == said_


@pytest.mark.parametrize("width", [850, 330])
def test_labels_of_the_stack_never_meet_and_stay_inside(width: int) -> None:
    rng = random.Random(width)
    for name in rng.sample(cm.model(), 6):
        u = understood(name, context=rng.choice([1, 2048, 131_072]))
        drawn = drawing.svg(charts.stack_spec(len(u.lanes)), u.stack_data(), width=width)
        assert not drawing.collisions(drawn), f"{name}: {drawing.collisions(drawn)}"
        outside = [label for label in drawing.labels(drawn) if not 58 < label.left < label.right < width + 62]
        assert not outside, f"{name}: {outside}"


@pytest.mark.parametrize("kv", ["bf16", "fp16", "fp8", "int8"])
@every_model
def test_caches_of_naive_readings_that_are_not_those_of_the_page_are_said_to(name: str, kv: str) -> None:
    u = understood(name, kv=kv)
    figures = re.findall(
        r"instead of ([\d,]+), ", " ".join(warning for warning in u.model.warnings if " of KV" in warning)
    )
    other = any(int(figure.replace(",", "")) != u.kv_bytes_a_token for figure in figures)
    note = words.caches_of_naive(u)
    assert not other or note == f"Caches are in bf16 in these sentences, everywhere else on this page in {kv}."
    assert not note or kv in {"fp8", "int8"}


def test_naive_readings_are_told_with_their_figures() -> None:
    found = dict(words.naive(understood("qwen3-0.6b")))
    assert found["The LM head is the embedding"] == "A naive reading would give 751.6 M parameters, 26.1% too many."
    assert words.naive(understood(cm.model("qwen3-0.6b").replace(warnings=()))) == []
    silent = cm.model("qwen3-0.6b").replace(warnings=("One sentence.", "sliding_window is off: layer_types says so."))
    assert words.naive(understood(silent)) == [("One sentence.", ""), ("sliding_window is off", "layer_types says so.")]


# ---- what a user gives -----------------------------------------------------------------------------------------


class Upload:
    def __init__(self, name: str, content: bytes) -> None:
        self.name, self.content = name, content

    def getvalue(self) -> bytes:
        return self.content


def test_a_packed_model_is_the_model_that_was_given() -> None:
    packed = own.packed_model(LLAMA_70B_TEXT, FP8_TEXT, " My <b>Llama</b> ")
    assert len(packed) < 500
    model = codec.own_model(packed)
    assert model.name == "My <b>Llama</b>"
    assert model.quantization is not None
    assert count(model.total_params) == "70,553,706,496"
    assert codec.link_model(packed) == model


def test_a_model_without_a_name_is_called_after_its_family() -> None:
    assert plain(codec.own_model(own.packed_model(LLAMA_70B_TEXT, "", "")).name) == "My llama"
    named = LLAMA_70B_TEXT.replace('"model_type"', '"_name_or_path": "meta-llama/Llama-3.1-70B", "model_type"')
    assert codec.own_model(own.packed_model(named, "", "")).name == "Llama-3.1-70B"


@pytest.mark.parametrize(
    "value", [[], {}, [{}], [LLAMA_70B, None], [LLAMA_70B, [], ""], [[], None, ""], [LLAMA_70B, None, 3]]
)
def test_a_link_with_something_else_in_it_is_refused(value: object) -> None:
    with pytest.raises(cm.ConfigError):
        codec.link_model(codec.pack(value))


def test_a_name_of_letters_that_cannot_be_shown_is_cleaned() -> None:
    assert codec.clean_name("\ud800a\u202eb\n\x00c" + "x" * 200) == "abc" + "x" * 77
    packed = codec.pack([{**LLAMA_70B, "\ud800": "\ud800"}, None, "\ud800"])
    assert plain(codec.link_model(packed).name) == "My llama"


def test_uploads_are_told_apart_by_name() -> None:
    config, quantization = Upload("config (1).json", b"\xef\xbb\xbf{}"), Upload("hf_quant_config.json", b"[]")
    assert own.sort_files([quantization, config]) == ("{}", "[]")
    assert own.sort_files([config]) == ("{}", "")


@pytest.mark.parametrize(
    ("names", "found"),
    [
        (["hf_quant_config.json"], "hf_quant_config.json"),
        (["a.json", "b.json"], "a.json, b.json"),
        (["hf_quant_config.json", "a.json", "x_hf_quant_config.json"], "one config.json, and at most one"),
    ],
)
def test_uploads_that_are_not_one_config_are_refused(names: list[str], found: str) -> None:
    with pytest.raises(cm.ConfigError, match=found):
        own.sort_files([Upload(name, b"{}") for name in names])


def test_an_upload_that_is_no_text_is_refused() -> None:
    with pytest.raises(cm.ConfigError, match="config.json: found 'bytes that are not UTF-8'"):
        own.sort_files([Upload("config.json", b"\xff\xfe\x00")])
