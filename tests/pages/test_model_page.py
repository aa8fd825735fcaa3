"""The Model page as a user meets it: a model of one's own comes in, stays, travels; junk changes nothing."""

import json
import random
from collections.abc import Iterator

import pytest
from streamlit.testing.v1 import AppTest

import costmodel as cm
from pages.parts import codec
from tests.pages.app import figures, link, markup, text
from tests.pages.configs import FP8_TEXT, LLAMA_70B, LLAMA_70B_TEXT
from tests.pages.local_hub import Repo, local_hub, repo
from tests.pages.opened import alt, go, notices, open_page, plain, press, ran, value


def paste(at: AppTest, config: str, quantization: str = "", name: str = "") -> AppTest:
    at.text_area(key="own_config").set_value(config)
    at.text_area(key="own_quantization").set_value(quantization)
    at.text_input(key="own_name").set_value(name)
    return press(at, "Read it")


def model_of(at: AppTest) -> cm.Model:
    """The model that the sidebar has."""
    found: cm.Model = at.session_state["_scenario"].model
    return found


# ---- models of the catalogue -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("llama-3.1-8b", {"parameters": "8.03 B", "P, in matrices": "7.505 B", "weights as stored": "16.1 GB",
                          "cache a token, bf16": "131 kB", "kept at 2,048 tokens": "268 MB"}),
        ("deepseek-v3", {"parameters": "671 B", "used by one token": "37.55 B", "weights as stored": "673 GB",
                         "cache a token, bf16": "70.3 kB", "kept at 2,048 tokens": "144 MB"}),
        ("nemotron-3-nano-30b-a3b", {"parameters": "31.58 B", "used by one token": "3.58 B",
                                     "weights as stored": "63.2 GB", "cache a token, bf16": "6.14 kB",
                                     "state a sequence": "49.1 MB"}),
    ],
)  # fmt: skip
def test_what_was_understood_of_a_model_of_the_catalogue(name: str, shown: dict[str, str]) -> None:
    at = open_page("model", model=name)
    assert figures(at) == shown
    assert "Sizes as published: config.json of" in text(at)
    assert cm.model(name).name in alt(at)
    assert not notices(at)
    for warning in cm.model(name).warnings:
        assert plain(warning.split(": ")[0]) in text(at)


def test_what_is_left_out_is_said() -> None:
    (said,) = notices(open_page("model", model="llava-1.5-7b"))
    assert said == "Left out: vision tower and its projector. All figures are of the language model alone."


def test_naive_readings_say_in_which_format_their_caches_are() -> None:
    assert "Caches are in bf16 in these sentences" in text(open_page("model", kv="fp8"))
    assert "Caches are in bf16" not in text(open_page("model"))


def test_the_kinds_of_layers_have_a_row_each() -> None:
    said = text(open_page("model", model="gemma-3-27b"))
    for cell in (
        "1–5, 7–11, 13–17, …",
        "window of 1,024 tokens32 query heads on 16 KV heads, 128 wide",
        "6, 12, 18, …",
    ):
        assert cell in said, cell


def test_questions_set_the_controls() -> None:
    at = press(open_page("model"), "70,272 bytes: show it")
    assert figures(at)["cache a token, bf16"] == "70.3 kB"
    press(at, "Every sixth: show them")
    assert (value(at, "model"), value(at, "context")) == ("gemma-3-27b", 131072)
    press(at, "49.1 MB of state: show it")
    assert figures(at)["state a sequence"] == "49.1 MB"


# ---- a model of one's own --------------------------------------------------------------------------------------


def test_a_pasted_model_becomes_the_sidebars_and_travels() -> None:
    at = paste(open_page("model"), LLAMA_70B_TEXT)
    assert figures(at)["parameters"] == "70.55 B"
    assert value(at, "model") == "custom"
    assert "My llama has 70.55 B parameters in 80 layers" in text(at)
    assert "It is in the address of this page" in text(at)
    assert value(at, "own_config") == ""
    assert not notices(at)

    at.selectbox(key="hardware").set_value("h200-sxm")
    assert figures(ran(at))["parameters"] == "70.55 B"

    go(at, "memory")
    fit = cm.memory(model_of(at), cm.hardware("h200-sxm"), context=2048)
    assert figures(at)["sequences of 2,048"] == f"{fit.max_batch:,}"
    go(at, "roofline")
    assert "One decode step of My llama on H200 SXM" in text(at)

    again = open_page("model", **link(at))
    assert (value(again, "model"), value(again, "hardware")) == ("custom", "h200-sxm")
    assert model_of(again) == model_of(at)
    assert figures(again)["parameters"] == "70.55 B"
    assert not notices(again)


def test_it_stays_offered_beside_the_catalogue_until_it_is_forgotten() -> None:
    at = paste(open_page("model"), LLAMA_70B_TEXT, name="Mine")
    at.selectbox(key="model").set_value("gpt2")
    assert "GPT-2 has 124.4 M parameters" in text(ran(at))
    at.selectbox(key="model").set_value("custom")
    assert "Mine has 70.55 B parameters" in text(ran(at))
    press(at, "Forget it")
    assert value(at, "model") == "qwen3-0.6b"
    assert "model_config" not in link(at)
    assert "custom" not in at.selectbox(key="model").options


def test_its_quantization_file_counts() -> None:
    at = paste(open_page("model"), LLAMA_70B_TEXT, FP8_TEXT)
    assert figures(at)["weights as stored"] == "72.7 GB"
    assert "fp8 and bf16" in text(at)


def test_a_name_with_markup_is_text() -> None:
    at = paste(open_page("model"), LLAMA_70B_TEXT, name="<img src=x onerror=alert(1)>")
    assert "<img" not in markup(at)
    assert "<img src=x onerror=alert(1)> has 70.55 B parameters" in text(at)
    assert "<img src=x" in alt(at)
    assert "<img" not in markup(go(at, "memory"))


NOT_A_CONFIG = {
    "nothing": ("", "found 'nothing', expected the text of a config.json"),
    "spaces": ("  \n", "found 'nothing'"),
    "a sentence": ("hello", "expected valid JSON, as in a config.json"),
    "half": (LLAMA_70B_TEXT[:100], "expected valid JSON"),
    "html": ("<script>alert(1)</script>", "expected valid JSON"),
    "a list": ("[1, 2]", "expected one JSON object"),
    "null": ("null", "expected one JSON object"),
    "a number": ("12", "expected one JSON object"),
    "an object with nothing in it": ("{}", "model_type: found 'nothing'"),
    "5 MB": ('{"x": "' + "y" * 5_000_000 + '"}', "found '5,000,009 characters', expected at most 4,000,000"),
    "ten levels": ('{"a":' * 10 + "1" + "}" * 10, "more than 8 levels of nesting"),
    "100,000 levels": ("[" * 100_000, "levels"),
    "NaN": (json.dumps({**LLAMA_70B, "hidden_size": float("nan")}), "hidden_size: found nan"),
    "infinite": (json.dumps({**LLAMA_70B, "hidden_size": float("inf")}), "hidden_size: found inf"),
    "a list for a number": (json.dumps({**LLAMA_70B, "hidden_size": [1]}), "hidden_size: found [1]"),
    "negative": (json.dumps({**LLAMA_70B, "num_hidden_layers": -3}), "num_hidden_layers: found -3"),
    "10^12 layers": (json.dumps({**LLAMA_70B, "num_hidden_layers": 10**12}), "num_hidden_layers: found 1000000000000"),
    "a huge number": ('{"hidden_size": ' + "9" * 5000 + "}", "thousands of digits"),
    "twice a key": ('{"model_type": "llama", "model_type": "gpt2"}', "model_type: found 'the key twice'"),
    "an unknown family": (json.dumps({**LLAMA_70B, "model_type": "<b>x</b>"}), "model_type: found '<b>x</b>'"),
    "markup as a key": ('{"<img src=x>": 1, "<img src=x>": 2}', "<img src=x>: found 'the key twice'"),
    "a lone surrogate as a key": (r'{"\ud800": 1, "\ud800": 2}', "found 'the key twice'"),
    "a very long key": ('{"' + "k" * 100_000 + '": NaN}', "found nan"),
}  # fmt: skip


@pytest.fixture(scope="module")
def page_of_gpt2() -> AppTest:
    return open_page("model", model="gpt2")


@pytest.mark.parametrize("case", NOT_A_CONFIG)
def test_junk_is_one_clear_sentence_and_changes_nothing(page_of_gpt2: AppTest, case: str) -> None:
    junk, sentence = NOT_A_CONFIG[case]
    at = paste(page_of_gpt2, junk)
    (said,) = notices(at)
    assert said.startswith("Not taken over. ")
    assert said.endswith(". The model stays as it was.")
    assert sentence in said
    assert len(said) < 500
    assert value(at, "model") == "gpt2"
    assert "model_config" not in link(at)
    assert "<script" not in markup(at)
    assert "<img" not in markup(at)


def test_the_sentence_goes_when_something_was_read() -> None:
    at = paste(open_page("model"), "hello")
    assert notices(at)
    assert not notices(paste(at, LLAMA_70B_TEXT))


def test_junk_keeps_the_model_that_was_pasted_before() -> None:
    at = paste(paste(open_page("model"), LLAMA_70B_TEXT), "hello")
    assert figures(at)["parameters"] == "70.55 B"
    assert value(at, "own_config") == "hello"


def test_a_quantization_file_that_cannot_be_read_is_told() -> None:
    (said,) = notices(paste(open_page("model"), LLAMA_70B_TEXT, '{"quantization": {"quant_algo": "FP1"}}'))
    assert "quant_algo: found 'FP1'" in said


def test_what_is_too_large_for_a_link_stays_in_the_session() -> None:
    noise = random.Random(3).randbytes(40_000).hex()
    at = paste(open_page("model"), json.dumps({**LLAMA_70B, "note": noise}), name="Large")
    (said,) = notices(at)
    assert said.startswith("It is too large for a link: ")
    assert said.endswith("It stays in this session and is gone after a reload.")
    assert figures(at)["parameters"] == "70.55 B"
    assert "model_config" not in link(at)
    assert "Large" in text(go(at, "memory"))
    assert figures(go(at, "model"))["parameters"] == "70.55 B"
    (lost,) = notices(open_page("model", **link(at)))
    assert "does not carry one. The default is used instead" in lost


@pytest.mark.parametrize(
    "packed",
    ["x", "%%%", codec.pack({"model_type": "llama"}), codec.pack([{}, None, ""]), "eNqrVgoAAWsA", "A" * 20_000],
    ids=["a letter", "no base64", "no packed model", "an empty config", "cut", "too long"],
)
def test_a_link_with_no_model_in_it_is_told_and_ignored(packed: str) -> None:
    at = open_page("model", model="custom", model_config=packed)
    assert len(notices(at)) == 2
    assert all("The default is used instead." in said for said in notices(at))
    assert figures(at)["parameters"] == "596 M"


# ---- files and the hub -----------------------------------------------------------------------------------------


def test_uploaded_files_are_read_together() -> None:
    at = open_page("model")
    at.file_uploader(key="own_files").set_value(
        [
            ("hf_quant_config.json", FP8_TEXT.encode(), "application/json"),
            ("config.json", LLAMA_70B_TEXT.encode(), "application/json"),
        ]
    )
    ran(at)
    assert figures(at)["weights as stored"] == "72.7 GB"
    assert not notices(at)


def test_an_upload_that_is_no_config_is_told() -> None:
    at = open_page("model")
    at.file_uploader(key="own_files").set_value([("notes.json", b"\xff\xfe", "application/json")])
    (said,) = notices(ran(at))
    assert said == (
        "Not taken over. notes.json: found 'bytes that are not UTF-8', expected the text of a config.json. "
        "The model stays as it was."
    )


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    repos = {"meta/Llama-70B": repo(config=LLAMA_70B), "meta/gated": Repo({}, gated=True), "me/odd": repo(config=[1])}
    with local_hub(repos) as address:
        monkeypatch.setenv("HF_ENDPOINT", address)
        yield


def fetch(at: AppTest, hub_id: str) -> AppTest:
    at.text_input(key="own_hub_id").set_value(hub_id)
    return press(at, "Fetch it")


@pytest.mark.usefixtures("hub")
def test_a_model_is_fetched_by_its_id() -> None:
    at = fetch(open_page("model"), "meta/Llama-70B")
    assert "Llama-70B has 70.55 B parameters" in text(at)
    assert "model_config" in link(at)


@pytest.mark.usefixtures("hub")
@pytest.mark.parametrize(
    ("id_", "sentence"),
    [
        ("meta/gated", "meta/gated is gated"),
        ("meta/none", "The hub has no public model meta/none"),
        ("me/odd", "config: found [1], expected one JSON object"),
        ("", "'' is no hub id"),
    ],
)
def test_what_the_hub_does_not_give_is_one_sentence(id_: str, sentence: str) -> None:
    at = fetch(open_page("model"), id_)
    (said,) = notices(at)
    assert said.startswith(f"Not taken over. {sentence}")
    assert value(at, "model") == "qwen3-0.6b"
