"""A config fetched by its hub id, from a hub on this machine; every way in which that can go wrong is one sentence."""

import sys
import threading
from collections.abc import Iterator

import pytest

import costmodel as cm
from costmodel.config.document import MAX_BYTES
from pages.parts import hub
from tests.pages.local_hub import Repo, local_hub, repo

SMALL = {
    "model_type": "llama", "hidden_size": 576, "num_hidden_layers": 30, "num_attention_heads": 9,
    "num_key_value_heads": 3, "intermediate_size": 1536, "vocab_size": 49152, "tie_word_embeddings": True,
}  # fmt: skip
FP8 = {"producer": {"name": "modelopt"}, "quantization": {"quant_algo": "FP8", "exclude_modules": ["lm_head"]}}

REPOS = {
    "org/small": repo(config=SMALL),
    "org/small-fp8": repo(config=SMALL, hf_quant_config=FP8),
    "bare": repo(config=SMALL),
    "org/gated": Repo({}, gated=True),
    "org/empty": repo(),
    "org/huge": Repo({"config.json": b" " * (MAX_BYTES + 1)}),
    "org/latin": Repo({"config.json": b'{"name": "\xe9"}'}),
    "org/unsized": Repo({"config.json": b"{}"}, sized=False),
    "org/broken": Repo({}, status=503),
    "org/slow": Repo({"config.json": b"{}"}, seconds=0.5),
}


@pytest.fixture(autouse=True)
def endpoint(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    with local_hub(REPOS) as address:
        monkeypatch.setenv("HF_ENDPOINT", address)
        yield address
        for thread in threading.enumerate():
            if thread.name.startswith("hub "):
                thread.join(10)


def test_a_config_is_fetched_and_named_after_its_repository() -> None:
    found = hub.fetch("org/small")
    assert found.name == "small"
    assert found.quantization is None
    assert cm.Model.from_config(found.config).total_params == 134_515_008


def test_its_quantization_file_comes_with_it() -> None:
    found = hub.fetch("org/small-fp8")
    model = cm.Model.from_config(found.config, found.quantization)
    assert model.quantization is not None
    assert model.quantization.dtype == "fp8"


@pytest.mark.parametrize(
    ("typed", "id_"),
    [
        (" org/small ", "org/small"),
        ("bare", "bare"),
        ("https://huggingface.co/org/small", "org/small"),
        ("https://huggingface.co/org/small/blob/main/config.json?raw=1", "org/small"),
    ],
)
def test_an_id_or_an_address_will_do(typed: str, id_: str) -> None:
    assert hub.repository(typed) == id_
    assert hub.fetch(typed).config


@pytest.mark.parametrize(
    "typed", ["", "   ", "a b", "../etc/passwd", "a/b/c", "x" * 200, "org/<b>x</b>", "-x", "café/x/"]
)
def test_what_is_no_id_is_not_asked_for(typed: str) -> None:
    with pytest.raises(hub.HubError, match="is no hub id"):
        hub.fetch(typed)


@pytest.mark.parametrize(
    ("id_", "sentence"),
    [
        ("org/gated", "org/gated is gated: .* paste or upload it here"),
        ("org/absent", "The hub has no public model org/absent"),
        ("org/empty", "org/empty is on the hub but has no config.json"),
        ("org/huge", "has 4,000,001 bytes; at most 4,000,000 are read"),
        ("org/unsized", "does not say how large the config.json of org/unsized is, so paste the config instead"),
        ("org/latin", "no text in UTF-8"),
        ("org/broken", "The hub answered 503 for org/broken"),
    ],
)
def test_what_the_hub_refuses_is_one_sentence(id_: str, sentence: str) -> None:
    with pytest.raises(hub.HubError, match=sentence) as caught:
        hub.fetch(id_)
    assert "\n" not in str(caught.value)


def test_a_slow_hub_is_waited_for_only_so_long() -> None:
    with pytest.raises(hub.HubError, match="did not answer within 0.1 seconds"):
        hub.fetch("org/slow", seconds=0.1)


def test_without_a_hub_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(hub.HubError, match="The hub cannot be reached from here. Paste or upload the config instead"):
        hub.fetch("org/small")


def test_without_the_package_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(hub.HubError, match="huggingface_hub is not installed"):
        hub.fetch("org/small")


def test_offline_by_choice_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    hub.fetch("org/small")  # imports the library, whose switch is then a constant
    import huggingface_hub.constants

    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(hub.HubError, match="HF_HUB_OFFLINE is set on this server"):
        hub.fetch("org/small")
