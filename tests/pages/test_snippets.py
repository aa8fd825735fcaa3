"""Every page's figures as a program: run by itself, it gives the figures that the page shows."""

import csv
import io
import os
import re
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

import costmodel as cm
from live import store
from pages.parts import codec, live_rates, snippets
from tests.live.samples import made_up, processor
from tests.pages import app, opened
from tests.pages.configs import FP8, LLAMA_70B
from tests.pages.shared import agree, code, computed, offered, open_share, run
from tests.reference import ROOT

HOSTILE = """x"\'); PWNED = 1 #\\ {PWNED} </pre><script>PWNED=1</script>"""
OWN_CHIP = codec.custom_hardware(
    "Chip\nPWNED = 1\u2028PWNED = 1\r" + HOSTILE[:40], bandwidth=3.3e12, memory=9e10, peak={"bf16": 1e15, "fp8": 2e15}
)
SCENARIOS = {
    "as it opens": {},
    "what if": {"bandwidth_x": 1.5, "compute_x": 0.5, "memory_x": 2, "batch": 33, "context": 5000, "prompt": 1000},
    "quantized": {"model": "llama-3.1-8b", "weights": "fp8", "kv": "fp8", "compute": "fp8", "count": "attention"},
    "four GPUs": {"model": "deepseek-v3", "tensor_parallel": 4, "hardware": "h200-sxm", "batch": 300, "memory_x": 4},
    "windows": {"model": "gemma-3-27b", "allocation": "full", "count": "attention", "rows": 3, "reserve_gib": 1.5},
    "own accelerator": {"hardware": "custom", "accelerator": codec.pack_hardware(OWN_CHIP), "bandwidth_x": 1.25},
    "own model": {"model": "custom", "model_config": codec.pack_model(LLAMA_70B, FP8, HOSTILE), "hardware": "b200"},
    "calibrated": {"rates": "calibrated", "model": "llama-3.1-8b", "batch": 16, "compute_x": 1.5},
    "unpublished memory": {"hardware": "mi325x", "own_memory": codec.pack_memory("mi325x", 255.5), "batch": 1024},
    "a crowd": {"arrivals": "closed_loop", "prompt_kind": "azure_conv", "output_kind": "lognormal", "requests": 60,
                "policy": "sarathi", "shared_prefix": 64, "pools": 2, "kv_blocks": 4000},
}  # fmt: skip
PAGES: list[str] = re.findall(r'st\.Page\("pages/(\w+)/page\.py"', (ROOT / "app.py").read_text(encoding="utf-8"))


def shown(at: app.AppTest) -> dict[str, str]:
    """The figures of a page, by name."""
    return app.figures(at)


@pytest.mark.parametrize("scenario", SCENARIOS)
@pytest.mark.parametrize(
    "page", [page for page in PAGES if page not in {"measure", "overview", "scheduler", "compare"}]
)
def test_a_program_gives_the_figures_of_its_page(page: str, scenario: str) -> None:
    at = open_share(page, **SCENARIOS[scenario])
    figures, told = computed(code(at)), shown(at)
    assert told
    assert set(told) <= set(figures)
    wrong = {name: (text, figures[name]) for name, text in told.items() if not agree(text, figures[name])}
    assert not wrong


@pytest.mark.parametrize("scenario", SCENARIOS)
@pytest.mark.parametrize("step", ["decode", "prefill", "mixed"])
def test_the_roofline_s_program_gives_the_operations_of_the_step_that_is_shown(scenario: str, step: str) -> None:
    at = open_share("roofline", step=step, **SCENARIOS[scenario])
    operations, table = run(code(at))["operations"], csv_of(at, "Where the step goes")
    assert [float(row["bytes (B)"]) for row in table[:-1]] == pytest.approx(kept(operations)["bytes"].tolist())
    assert [float(row["time (s)"]) for row in table[:-1]] == pytest.approx(kept(operations)["seconds"].tolist())


def kept(operations: pd.DataFrame) -> pd.DataFrame:
    """The operations that do anything."""
    return operations[operations[["flops", "weight_bytes", "kv_bytes", "activation_bytes"]].gt(0).any(axis=1)]


def csv_of(at: app.AppTest, title: str) -> list[dict[str, str]]:
    (file,) = [file for file in offered(at).files.values() if file.title == title]
    return list(csv.DictReader(io.StringIO(file.write())))


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_the_batching_s_program_gives_the_three_ways_of_a_prompt(scenario: str) -> None:
    at = open_share("batching", prefill_chunk=96, **SCENARIOS[scenario])
    ways, table = run(code(at))["ways"], csv_of(at, "Three ways for a prompt")
    for way, row in zip(ways.values(), table, strict=True):
        assert float(row["a token waits up to (s)"]) == pytest.approx(way.longest_wait)
        assert float(row["first token after (s)"]) == pytest.approx(way.first_token)


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_the_overview_s_program_gives_the_numbers_of_its_sentence(scenario: str) -> None:
    at = open_share("overview", **SCENARIOS[scenario])
    figures = computed(code(at))
    headline = re.search(r"<h1[^>]*>(.*?)</h1>", app.markup(at), flags=re.DOTALL)
    assert headline
    told = [opened.plain(number) for number in re.findall(r"<b [^>]*>(.*?)</b>", headline[1])]
    names = ["bytes that a step of one token reads", "which takes", "arithmetic of a token", "crossing T*"]
    assert len(told) >= 3
    assert not [
        (text, figures[name]) for text, name in zip(told, names, strict=False) if not agree(text, figures[name])
    ]


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_the_scheduler_s_program_gives_the_table_of_both_policies(scenario: str) -> None:
    at = open_share("scheduler", **SCENARIOS[scenario])
    figures = computed(code(at))
    rows = re.findall(r"<tr><td[^>]*>([^<]+)</td><td[^>]*>([^<]+)</td><td[^>]*>([^<]+)</td>", app.markup(at))
    told = {name: cells for name, *cells in rows if f"A, {name}" in figures}
    assert len(told) == 6
    for name, cells in told.items():
        for letter, text in zip("AB", cells, strict=True):
            value = figures[f"{letter}, {name}"]
            assert agree(opened.plain(text), value), (name, letter, text, value)
    step = shown(at)
    assert len(step) == 5
    assert not {name: (text, figures[name]) for name, text in step.items() if not agree(text, figures[name])}


OTHERS = ["hardware", "bandwidth", "gpus", "model", "batch", "weights"]


@pytest.mark.parametrize(("scenario", "other"), [*zip(SCENARIOS, OTHERS, strict=False), ("own model", "pinned")])
def test_the_program_of_a_pair_gives_the_table_of_differences(scenario: str, other: str) -> None:
    query = {"other": other, **SCENARIOS[scenario]}
    if other == "pinned":
        query["pinned"] = codec.pack({"model": "custom", "model_config": codec.pack_model(LLAMA_70B, None, HOSTILE)})
    at = open_share("compare", **query)
    figures = computed(code(at))
    rows = re.findall(r"<tr><td[^>]*>([^<]+)</td><td[^>]*>([^<]+)</td><td[^>]*>([^<]+)</td>", app.markup(at))
    told = {name: cells for name, *cells in rows if f"{name}, A" in figures}
    assert len(told) >= 8
    for name, cells in told.items():
        for letter, text in zip("AB", cells, strict=True):
            value = figures.get(f"{name}, {letter}")
            assert agree(opened.plain(text), value) or (text, value) == ("–", None), (name, letter, text, value)


@pytest.mark.parametrize("scenario", SCENARIOS)
@pytest.mark.parametrize(
    "view",
    [
        {"compare_view": "league"},
        {"compare_view": "league", "league_row": "mi300x", "hourly": 3.5},
        {"compare_view": "map", "map_x": "batch", "map_y": "bandwidth_x"},
        {"compare_view": "map", "map_x": "prompt", "map_y": "gpus"},
    ],
    ids=["league", "row", "map", "prompts"],
)
def test_programs_of_league_and_map_give_their_figures(scenario: str, view: dict[str, object]) -> None:
    at = open_share("compare", **(SCENARIOS[scenario] | view))
    figures, told = computed(code(at)), shown(at)
    assert told
    assert not {name: (text, figures[name]) for name, text in told.items() if not agree(text, figures[name])}


def test_every_page_has_a_program() -> None:
    without = [page for page in PAGES if not (ROOT / "pages" / page / "snippet.py").is_file()]
    assert not without, "a page needs a snippet.py that gives its figures as a program"
    unoffered = [page for page in PAGES if "offers.python(" not in sources(page)]
    assert not unoffered, "a page offers its program by offers.python(...)"


def sources(page: str) -> str:
    return "".join(path.read_text(encoding="utf-8") for path in (ROOT / "pages" / page).glob("*.py"))


def test_measured_rates_are_read_from_the_profile_s_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    profile = made_up(processor(), cm.model("qwen3-0.6b"), noise=0.02)
    (tmp_path / snippets.PROFILE).write_bytes(live_rates.as_file(profile))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(store.VARIABLE, str(tmp_path))
    at = open_share("roofline", rates="live")
    figures = computed(code(at))
    assert "decode, estimated" in figures
    assert all(agree(text, figures[name]) for name, text in shown(at).items())

    at = open_share("measure")
    figures = computed(code(at))
    assert len(figures) >= 4
    assert all(agree(text, figures[name]) for name, text in shown(at).items())


def test_a_config_too_long_to_read_is_taken_from_its_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import json

    long = LLAMA_70B | {"note": ["x" * 50] * 1000}
    (tmp_path / "config.json").write_text(json.dumps(long))
    monkeypatch.chdir(tmp_path)
    at = open_share("model", model="custom", model_config=codec.pack_model(long))
    assert len(code(at)) < snippets.LONGEST_CONFIG
    figures = computed(code(at))
    assert all(agree(text, figures[name]) for name, text in shown(at).items())


@pytest.mark.parametrize("page", ["roofline", "scheduler", "compare"])
def test_a_program_needs_costmodel_alone(page: str, tmp_path: Path) -> None:
    (tmp_path / "figures.py").write_text(
        code(open_share(page))
        + "import sys\nprint(sorted({'streamlit', 'altair', 'pages', 'live'} & set(sys.modules)))\n"
    )
    ran = subprocess.run(
        [sys.executable, "figures.py"], cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True,
        text=True, check=True, timeout=120,
    )  # fmt: skip
    *lines, modules = ran.stdout.splitlines()
    assert sum(bool(re.match(r".+: .+", line)) for line in lines) >= 5  # others print a table as well
    assert modules == "[]"


def test_a_program_is_shown_as_it_is() -> None:
    at = open_share("roofline", **SCENARIOS["own model"])
    assert "<script>" not in app.markup(at)
    assert 'x"' in code(at)
