"""The Memory page's numbers against ``cm.memory``, its pictures, and the remedies, each of which must really help."""

import math
import random
import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

import costmodel as cm
from costmodel.hardware import GIB
from costmodel.model import by_mixer
from pages.memory import charts, words
from pages.memory.numbers import Memory
from pages.parts import state
from pages.parts.format import gibibytes
from pages.parts.scenario import Scenario
from pages.parts.state import GROUPS
from tests.pages import derived, drawing
from tests.pages.opened import plain


def memory(model: str = "qwen3-0.6b", hardware: str = "h100-sxm", gpus: int = 1, **asked: object) -> Memory:
    scenario = Scenario(cm.model(model), cm.hardware(hardware), cm.Precision(), gpus)
    workload = {"batch": 1, "context": 2048, **asked}
    return Memory(scenario, **workload)  # type: ignore[arg-type]


def tried(model: str, gpus: int, **asked: object) -> Memory | None:
    """None where that many GPUs cannot share the heads of the model."""
    m = memory(model, gpus=gpus, **asked)
    try:
        _ = m.fit
    except cm.ConfigError:
        return None
    return m


settings_of_a_page = st.fixed_dictionaries(
    {
        "model": st.sampled_from(cm.model()),
        "gpus": st.sampled_from(GROUPS[:4]),
        "batch": st.sampled_from([1, 3, 64, 1024]),
        "context": st.sampled_from([1, 100, 2048, 5000, 131_072]),
        "utilization": st.sampled_from([0.5, 0.9, 1.0]),
        "reserve_bytes": st.sampled_from([0.0, 2.0 * GIB]),
        "block_size": st.sampled_from([1, 16, 256]),
        "allocation": st.sampled_from(["windowed", "full"]),
        "attention_parallel": st.sampled_from(["tensor", "data"]),
    }
)


@given(settings_of_a_page)
def test_the_bar_and_the_derivation_add_up(asked: dict[str, object]) -> None:
    m = tried(**asked)  # type: ignore[arg-type]
    if m is None:
        return
    fit = cm.memory(
        m.model, m.hardware, context=m.context, batch=m.batch, utilization=m.utilization, reserve_bytes=m.reserve_bytes,
        block_size=m.block_size, allocation=m.allocation, attention_parallel=m.attention_parallel,
        tensor_parallel=m.gpus,
    )  # fmt: skip
    assert m.fit == fit
    assert (m.over_bytes == 0) == fit.fits
    whole = fit.usable_bytes if fit.fits else m.needed_bytes
    assert sum(part.bytes for part in m.parts()) == pytest.approx(whole)
    assert all(part.bytes >= 0 for part in m.parts())
    always = ["may be used", "pool"] + ["sequences"] * fit.fits + ["on each GPU"] * (m.gpus > 1)
    assert derived.wrong(words.arithmetic(m), *always) == []


@pytest.mark.parametrize("allocation", ["windowed", "full"])
@pytest.mark.parametrize(
    ("model", "gpus"),
    [("qwen3-0.6b", 1), ("gemma-3-27b", 1), ("deepseek-v3", 32), ("mamba-2.8b", 1), ("gpt-oss-120b", 2)],
)
def test_the_curve_is_the_largest_batch(model: str, gpus: int, allocation: str) -> None:
    m = memory(model, gpus=gpus, allocation=allocation)
    rows = m.curve_data()["curve"]
    rows = rows[rows["way"] == allocation]
    assert len(rows)
    for context, batch in rows[["context", "batch"]].itertuples(index=False):
        if batch >= 1:
            at = replace(m, context=int(context)).fit.max_batch
            assert at == batch or (batch <= 24 and at >= batch)  # the left end of a stair has one more
    few = rows[(rows["batch"] >= 1) & (rows["batch"] <= 24)]
    for batch, stair in few.groupby("batch"):
        longest = replace(m, batch=int(batch)).fit.max_context
        assert stair["context"].max() == min(longest, 1_048_576)
    assert rows["context"].is_monotonic_increasing
    assert rows["batch"].is_monotonic_decreasing


def test_both_ways_of_allocating_are_drawn_where_they_differ() -> None:
    assert set(memory("gemma-3-27b").curve_data()["curve"]["way"]) == {"windowed", "full"}
    assert set(memory("qwen3-0.6b").curve_data()["curve"]["way"]) == {"windowed"}


# ---- remedies --------------------------------------------------------------------------------------------------

DO_NOT_FIT = [
    memory("llama-3.1-70b", batch=64, context=8192),
    memory("llama-3.1-8b", batch=100, context=8192),
    memory("gemma-3-27b", batch=8, context=131_072),
    memory("gemma-3-27b", batch=2, context=131_072, allocation="full"),
    memory("deepseek-v3", gpus=8, batch=8, context=131_072),
    memory("qwen3-0.6b", "rtx3090", batch=64, context=131_072),
    memory("qwen3-0.6b", batch=340),
]


@pytest.mark.parametrize("m", DO_NOT_FIT, ids=lambda m: f"{m.scenario.label} {m.batch} x {m.context}")
def test_every_remedy_makes_it_fit_and_sets_controls_that_the_page_has(m: Memory) -> None:
    assert not m.fit.fits
    remedies = m.remedies()
    assert remedies
    for remedy in remedies:
        assert remedy.then.fit.fits, remedy.change
        for key, value in remedy.controls.items():
            control = state.CONTROLS[key]
            assert control.parse(str(control.write(value))) == value


def test_what_fits_with_fewer_sequences_comes_after_what_fits_whole() -> None:
    remedies = memory("llama-3.1-70b", batch=64, context=8192).remedies()
    assert [remedy.then.batch == 64 for remedy in remedies] == [True, False, False, False]
    assert "8 GPUs" in remedies[0].change


def test_the_proposed_chip_is_the_smallest_that_is_enough() -> None:
    m = memory("llama-3.1-8b", batch=100, context=8192)
    (chip,) = [remedy for remedy in m.remedies() if "hardware" in remedy.controls]
    enough = cm.hardware(chip.controls["hardware"])
    for name in cm.hardware():
        hw = cm.hardware(name)
        if hw.memory and enough.memory and hw.memory < enough.memory and hw.confidence != "C":
            smaller = replace(m, scenario=replace(m.scenario, hardware=hw))
            try:
                assert not smaller.fit.fits, name
            except cm.ConfigError:  # it has no rate in 16 bits
                continue


def test_the_proposed_number_of_gpus_is_the_least() -> None:
    m = memory("llama-3.1-70b", batch=64, context=8192)
    for gpus in (1, 2, 4):
        assert not replace(m, scenario=replace(m.scenario, tensor_parallel=gpus)).fit.fits
    assert replace(m, scenario=replace(m.scenario, tensor_parallel=8)).fit.fits


def test_windows_are_proposed_only_where_full_pages_are_too_many() -> None:
    changes = [
        remedy.controls for remedy in memory("gemma-3-27b", batch=2, context=131_072, allocation="full").remedies()
    ]
    assert {"allocation": "windowed"} in changes
    assert not memory("llama-3.1-8b", batch=100, context=8192).windowed


# ---- words -----------------------------------------------------------------------------------------------------


def text(parts: object) -> str:
    from pages.parts.components import plain as words_of

    return plain(words_of(parts))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("m", "said"),
    [
        (memory("llama-3.1-8b", batch=40, context=8192),
         "Beside 15.0 GiB of weights, H100 SXM has room for 56 sequences of 8,192 tokens of Llama-3.1-8B, 1.00 GiB"),
        (memory("llama-3.1-70b"),
         "Does not fit: the weights of Llama-3.1-70B take 131 GiB, and an engine may use 71.7 GiB of H100 SXM"),
        (memory("llama-3.1-8b", batch=100, context=8192),
         "the caches of 100 sequences of 8,192 tokens of Llama-3.1-8B take 100 GiB beside 15.0 GiB of weights"),
        (memory("llama-3.1-405b", gpus=8), "the weights of Llama-3.1-405B take, on each of 8 GPUs, 94.5 GiB"),
    ],
)  # fmt: skip
def test_the_headline_says_what_fits(m: Memory, said: str) -> None:
    assert said in text(words.headline(m))


@pytest.mark.parametrize(
    ("gpus", "heads"),
    [(1, "8 KV heads × (128 + 128)"), (2, "4 KV heads (max(1, 8 ÷ 2))"), (16, "1 KV head (max(1, 8 ÷ 16))")],
)
def test_kv_heads_of_a_gpu_are_its_share_and_one_at_least(gpus: int, heads: str) -> None:
    m = memory("llama-3.1-8b", gpus=gpus)
    (line,) = [line for line in words.arithmetic(m) if line.name.startswith("a token")]
    assert heads in text(line.expression)
    assert m.fit.sequence_bytes == pytest.approx(memory("llama-3.1-8b").fit.sequence_bytes / min(gpus, 8))


def test_a_latent_is_on_every_gpu_whole_unless_sequences_are_divided() -> None:
    one, eight = memory("deepseek-v3", "h200-sxm", gpus=8), memory("deepseek-v3", "h200-sxm", gpus=16)
    assert one.fit.sequence_bytes == eight.fit.sequence_bytes
    assert "A latent has no heads to divide: each of the 8 GPUs keeps the whole of it" in words.parallel(one)
    data = replace(one, batch=64, attention_parallel="data")
    assert data.sequences_on_gpu == 8
    assert "of its own 8 sequences" in words.parallel(data)


def test_the_tokens_that_fit_are_those_of_the_sequences_that_fit() -> None:
    """Attention data parallel: each GPU has a pool of its own, and the figure counts them all."""
    m = memory("qwen3-235b-a22b", "h200-sxm", gpus=8, attention_parallel="data", context=4096)
    shown = {text(figure.name): text(figure.value) for figure in words.figures(m)}
    fitting = float(shown["tokens that fit"].replace(",", ""))
    assert 0 <= fitting / 4096 - m.fit.max_batch < 8.5
    lines = {line.name: line for line in words.arithmetic(m)}
    assert text(lines["tokens"].result) == f"{8 * m.fit.kv_tokens:,}"
    assert "attention and norms are whole on each" in text(lines["on each GPU"].expression)


@pytest.mark.parametrize(
    ("model", "gpus", "said"),
    [
        ("llama-3.1-8b", 8, "The KV heads are divided over the 8 GPUs."),
        ("llama-3.1-8b", 16, "8 KV heads on 16 GPUs: each head is kept 2 times, and a GPU keeps one."),
        ("mamba-2.8b", 8, "The heads of each state are divided over the 8 GPUs."),
    ],
)
def test_what_a_group_divides_is_said(model: str, gpus: int, said: str) -> None:
    assert words.parallel(memory(model, gpus=gpus)) == said


def test_layers_without_a_cache_are_not_said_to_keep_one() -> None:
    jamba = memory("jamba-1.5-mini", "h200-sxm")
    assert words.rounding(jamba).endswith(
        "No layer has a window: the 4 of 32 that keep a cache keep the whole context."
    )
    assert words.rounding(memory()).endswith("No layer has a window: all keep the whole context.")


def test_a_model_of_states_alone_has_no_caches_and_no_tokens_to_count() -> None:
    for m in (memory("mamba-2.8b"), memory("mamba-2.8b", batch=4096)):
        said = [*words.headline(m), *(text([figure.name]) for figure in words.figures(m))]
        said += [words.bar_alt(m), *(text([line.name, line.expression]) for line in words.arithmetic(m))]
        assert "cache" not in text(said)
        assert "tokens" not in [line.name for line in words.arithmetic(m)]


@pytest.mark.parametrize("model", ["qwen3-0.6b", "gemma-3-27b", "jamba-1.5-mini", "mamba-2.8b"])
@pytest.mark.parametrize("kv", ["bf16", "fp8"])
def test_one_of_a_thing_is_one(model: str, kv: str) -> None:
    m = replace(memory(model, "h200-sxm", context=1, batch=1, block_size=1).with_precision(kv=kv))
    said = [words.headline(m), words.rounding(m), words.bar_alt(m), words.curve_alt(m), words.below_picture(m)]
    said += [line.expression for line in words.arithmetic(m)] + [part for row in m.parts() for part in [row.kind]]
    said += [question.text for question in words.questions(m)[:1]]
    assert not re.search(
        r"(?<![\d.,])1 (tokens|bytes|layers|blocks|sequences|caches|states)\b", text([text(s) for s in said])
    )


@pytest.mark.parametrize(
    ("context", "block", "said"),
    [
        (2048, 16, "2,048 tokens fill their blocks of 16 exactly."),
        (2049, 16, "Blocks of 16 hold 2,064 tokens: 15 places of the last one stay empty, 0.7 % of the cache."),
        (255, 256, "Blocks of 256 hold 256 tokens: 1 place of the last one stays empty, 0.4 % of the cache."),
    ],
)
def test_rounding_to_blocks_is_told(context: int, block: int, said: str) -> None:
    assert plain(words.rounding(memory(context=context, block_size=block))).startswith(said)


def test_a_model_without_a_cache_has_no_longest_context() -> None:
    m = memory("mamba-2.8b")
    assert math.isinf(m.fit.max_context)
    assert text(words.figures(m)[-1].value) == "any length"
    assert "No layer keeps a cache" in words.rounding(m)
    assert "any length" in words.curve_alt(m)


@pytest.mark.parametrize(
    ("model", "kept"),
    [("qwen3-0.6b", "caches"), ("jamba-1.5-mini", "caches and states"), ("mamba-2.8b", "states")],
)
def test_what_is_kept_is_called_what_it_is(model: str, kept: str) -> None:
    m = memory(model, batch=1024, context=512, gpus=2)
    names = {part.kind: words.part_name(m, part) for part in m.parts()}
    assert names["caches"] == f"{kept} of 1,024 sequences"
    assert words.figures(m)[1].name == f"left for {kept}"
    assert m.bar_data()["frame"]["keeps"].iloc[0] == kept


def test_one_token_is_not_several() -> None:
    m = memory()
    short = replace(m, scenario=replace(m.scenario, model=m.model.replace(max_context=1)))
    assert "was made for 1 token;" in words.below_picture(short)


def test_each_label_of_memory_has_one_unit() -> None:
    """GiB wherever memory is meant; GB only beside them, in brackets, in the derivation and in a column of its own."""
    m = memory("llama-3.1-8b", batch=40, context=8192)
    assert "GB" not in text(words.headline(m))
    assert "GB" not in words.bar_alt(m)
    results = {line.name: text(line.result) for line in words.arithmetic(m)}
    assert results["weights"] == "14.96 GiB (16.06 GB)"
    for name, result in results.items():
        assert re.fullmatch(r"[^G]*|[\d.]+ GiB( \([\d.]+ GB\))?", result), name
    table = words.parts_table(m)
    assert [column.name for column in table.columns] == ["part", "GiB", "GB", "of the usable"]
    gib, gb = (text(table.columns[n].cell(table.rows[0])) for n in (1, 2))
    assert (gib, gb) == ("15.0", "16.1")


# ---- pictures --------------------------------------------------------------------------------------------------


def drawn_at_random(rng: random.Random) -> Memory:
    while True:
        m = tried(
            rng.choice(cm.model()), rng.choice(GROUPS[:5]), batch=rng.choice([1, 8, 64, 300, 1024]),
            context=rng.choice([1, 128, 2048, 8192, 131_072, 1_048_576]), utilization=rng.choice([0.5, 0.9, 1.0]),
            reserve_bytes=rng.choice([0, 1, 16]) * GIB, allocation=rng.choice(["windowed", "full"]),
            attention_parallel=rng.choice(["tensor", "data"]),
        )  # fmt: skip
        if m is not None:
            return m


@pytest.mark.parametrize("width", [850, 330])
@pytest.mark.parametrize("picture", ["bar", "curve"])
def test_labels_never_meet_and_stay_inside(picture: str, width: int) -> None:
    rng = random.Random(f"{picture} {width}")
    for _ in range(6):
        m = drawn_at_random(rng)
        if picture == "bar":
            drawn = drawing.svg(charts.bar_spec(), m.bar_data(), width=width)
        else:
            drawn = drawing.svg(charts.curve_spec(), m.curve_data(), width=width)
        where = f"{m.scenario.label}, B {m.batch}, context {m.context}, {m.utilization}, {m.allocation}"
        assert not drawing.collisions(drawn), f"{drawing.collisions(drawn)} ({where})"
        outside = [label for label in drawing.labels(drawn) if not 58 < label.left < label.right < width + 62]
        assert not outside, f"{outside} ({where})"


def test_where_the_weights_alone_do_not_fit_nothing_is_said_to() -> None:
    m = memory("llama-3.1-70b", batch=16)
    drawn = drawing.svg(charts.curve_spec(), m.curve_data(), width=850)
    texts = {plain(label.text) for label in drawing.labels(drawn)}
    assert any(said.startswith("16 sequences") for said in texts)
    assert "Does not fit" in texts
    assert "Fits" not in texts
    assert words.curve(m) in words.curve_alt(m)


def test_the_table_has_as_many_rows_when_it_does_not_fit() -> None:
    tables = [words.parts_table(memory("llama-3.1-8b", batch=batch, context=8192)) for batch in (40, 100)]
    assert {len(table.rows) + len(table.totals) for table in tables} == {6}


def test_the_bar_says_its_parts() -> None:
    m = memory("llama-3.1-8b", batch=40, context=8192)
    texts = {plain(label.text) for label in drawing.labels(drawing.svg(charts.bar_spec(), m.bar_data(), width=850))}
    assert {"weights", "15.0 GiB", "40 caches", "40.0 GiB", "room for 16 more", "may be used: 71.7 GiB"} <= texts
    over = memory("llama-3.1-8b", batch=100, context=8192)
    texts = {plain(label.text) for label in drawing.labels(drawing.svg(charts.bar_spec(), over.bar_data(), width=850))}
    assert f"does not fit: over by {plain(str(gibibytes(over.over_bytes)))}" in texts


def test_every_model_has_a_mixer_that_the_page_can_name() -> None:
    for name in cm.model():
        m = memory(name)
        named = {line.name for line in words.arithmetic(m) if line.name.startswith("a token")}
        caching = [mixer for mixer in by_mixer(m.model) if mixer.kv_values_per_token]
        assert bool(named) == bool(caching)
