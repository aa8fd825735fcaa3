"""Rates: the arithmetic of each operation by hand, what serves which device, and that no estimate beats its bound."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from costmodel.dtypes import DTYPES
from costmodel.errors import ConfigError
from costmodel.hardware import Hardware, hardware
from costmodel.rates import (
    BOUND,
    KERNELS,
    NUMBERS,
    OPERATIONS,
    Fit,
    Rates,
    Source,
    borrowed_ef,
    calibrated,
    format_key,
    nearest_formats,
)

H100 = hardware("h100-sxm")
MEASURED = ("a100-sxm-80", "h100-sxm", "b200", "gb200", "l40s", "rtxpro6000bw")
US, NS = 1e-6, 1e-9

TOY = Hardware(id="toy", name="Toy", bandwidth=1e12, peak={"bf16": 100e12, "fp8": 200e12}, link=100e9)


def toy(operation: str, key: str = "bf16", **numbers: float) -> Rates:
    return Rates(TOY, {(operation, key): Fit(**numbers)})


# ---- the arithmetic of each operation, by hand ------------------------------------------------------------------


def test_matmul_is_the_hypotenuse_of_memory_and_tiles_then_overhead_and_serial_steps():
    rates = toy("matmul", eb=0.5, ef=0.8, overhead=3 * US, serial=0.1 * NS)
    m, n, k = 300, 4096, 1024
    memory = 2 * (n * k + m * n + m * k) / (0.5 * 1e12)
    rows = 384  # three tiles of 128
    arithmetic = 2 * rows * n * k / (0.8 * 100e12)
    expected = np.hypot(memory, arithmetic) + 3 * US + 0.1 * NS * k
    assert rates.matmul(m, n, k, "bf16") == pytest.approx(expected, rel=1e-12)


def test_matmul_in_fp8_reads_fp8_and_quantizes_its_input_in_a_pass_of_its_own():
    rates = toy("matmul", "fp8")
    m, n, k = 64, 2048, 4096
    memory = (n * k + 2 * m * n + m * k) / 1e12
    arithmetic = 2 * m * n * k / 200e12
    quantizing = m * k * (2 + 1) / 1e12
    assert rates.matmul(m, n, k, "fp8") == pytest.approx(np.hypot(memory, arithmetic) + quantizing, rel=1e-12)


def test_int4_weights_are_read_narrow_and_multiplied_wide():
    rates = toy("matmul", "int4@bf16")
    m, n, k = 1, 4096, 4096
    memory = (n * k * 4.16 / 8 + 2 * (m * n + m * k)) / 1e12
    expected = np.hypot(memory, 2 * m * n * k / 100e12)
    assert rates.matmul(m, n, k, "int4") == pytest.approx(expected, rel=1e-12)
    assert rates.matmul(m, n, k, "bf16", weights="int4") == pytest.approx(expected, rel=1e-12)


def test_decode_attention_reads_its_caches_and_ramps_up():
    rates = toy("attention_decode", eb=0.9, overhead=8 * US, ramp=5 * US, per_item=2 * NS)
    batch, kv_len, q_heads, kv_heads, head_dim = 16, 2048, 32, 8, 128
    moved = batch * (kv_len * kv_heads * head_dim * 2 * 2 + q_heads * head_dim * 2 * 2)
    memory = moved / (0.9 * 1e12)
    ramped = memory + 5 * US * memory / (memory + 5 * US)
    expected = 8 * US + ramped + 2 * NS * batch * kv_heads
    assert rates.attention_decode(batch, kv_len, q_heads, kv_heads, head_dim, "bf16") == pytest.approx(expected)


def test_decode_attention_is_held_up_by_arithmetic_when_many_queries_share_a_key():
    rates = toy("attention_decode")
    one = 4 * 64 * 128 * 128 * 4096 / 100e12  # 64 drafts verified: 64 * 128 queries on each key
    assert rates.attention_decode(1, 4096, 128, 1, 128, "bf16", queries=64) == pytest.approx(one)


def test_prefill_attention_adds_memory_arithmetic_and_the_walk_past_the_keys():
    rates = toy("attention_prefill", eb=0.5, ef=0.6, overhead=10 * US, serial=5 * NS)
    batch, new, q_heads, kv_heads, head_dim, cached = 2, 512, 16, 4, 128, 1024
    moved = batch * head_dim * 2 * (2 * q_heads * new + 2 * kv_heads * (new + cached))
    pairs = new * cached + new * (new + 1) / 2
    arithmetic = 4 * batch * head_dim * q_heads * pairs / (0.6 * 100e12)
    expected = 10 * US + moved / (0.5 * 1e12) + arithmetic + 5 * NS * (new + cached)
    seconds = rates.attention_prefill(batch, new, q_heads, kv_heads, head_dim, "bf16", cached=cached)
    assert seconds == pytest.approx(expected, rel=1e-12)


def test_a_window_takes_fewer_pairs_and_a_shorter_walk():
    rates = toy("attention_prefill", serial=5 * NS)
    new, window = 4096, 128
    pairs = window * (window + 1) / 2 + (new - window) * window
    whole = rates.attention_prefill(1, new, 16, 4, 128, "bf16")
    windowed = rates.attention_prefill(1, new, 16, 4, 128, "bf16", pairs=pairs)
    assert windowed < whole - 5 * NS * (new - 2 * window)


def test_latent_decode_reads_one_latent_for_all_heads():
    rates = toy("mla_decode")
    batch, tokens, heads = 8, 4096, 16
    memory = batch * (tokens * 576 * 2 + heads * (576 + 512) * 2) / 1e12
    arithmetic = batch * 2 * heads * (576 + 512) * tokens / 100e12
    assert rates.mla("decode", batch, tokens, heads, "bf16") == pytest.approx(np.hypot(memory, arithmetic), rel=1e-12)


def test_latent_prefill_over_a_long_cache_rebuilds_it_or_absorbs_whichever_is_cheaper():
    rates = toy("mla_prefill", ef=0.5)
    bare = rates.mla("prefill", 1, 64, 128, "bf16")
    cached = 100_000
    pairs = 64 * cached + 64 * 65 / 2
    absorbed = 2 * 128 * (2 * 512 + 64) * pairs / (0.5 * 100e12)
    assert absorbed < rates.mla("prefill", 1, 64, 128, "bf16", cached=cached) - bare < 2 * absorbed


def test_experts_read_those_that_are_hit_and_compute_in_tiles():
    rates = toy("moe", eb=0.9, ef=0.4, overhead=20 * US, per_item=100 * NS)
    tokens, hidden, width, experts, top_k = 256, 2048, 768, 128, 8
    hit = experts * (1 - (1 - top_k / experts) ** tokens)
    each = tokens * top_k / hit  # just over 16: a tile of 32
    moved = hit * 3 * hidden * width * 2 + 2 * (tokens * top_k * (2 * hidden + 3 * width) + 2 * tokens * hidden)
    arithmetic = 6 * hit * 32 * hidden * width / (0.4 * 100e12)
    expected = 20 * US + moved / (0.9 * 1e12) + arithmetic + 100 * NS * hit
    assert 16 < each < 32
    assert rates.moe(tokens, hidden, width, experts, top_k, "bf16") == pytest.approx(expected, rel=1e-9)


def test_experts_without_a_gate_have_two_matrices():
    rates = toy("moe")
    gated, plain = (rates.moe(1, 4096, 1024, 64, 4, "bf16", matrices=n) for n in (3, 2))
    assert gated / plain == pytest.approx(1.5, rel=0.01)


def test_all_reduce_pays_for_each_further_device_and_its_share_of_the_bytes():
    rates = toy("all_reduce", eb=0.8, overhead=5 * US, per_item=0.5 * US)
    moved = 2 * 7 / 8 * 1e6 / (0.8 * 100e9)
    assert rates.all_reduce(1e6, 8) == pytest.approx(5 * US + 0.5 * US * 7 + moved, rel=1e-12)
    assert rates.all_reduce(1e6, 1) == 0


def test_elementwise_and_host():
    rates = Rates(
        TOY,
        {
            ("elementwise", "bf16"): Fit(overhead=2.5 * US, eb=0.8),
            ("host", "vllm-2024"): Fit(overhead=2e-3, per_item=5e-5),
            ("host", "vllm-2026"): Fit(overhead=1e-4),
        },
    )
    assert rates.elementwise(5, 8e6) == pytest.approx(5 * 2.5 * US + 10 * US)
    assert rates.host("vllm-2024", 64) == pytest.approx(2e-3 + 64 * 5e-5)
    assert rates.host("vllm", 64) == pytest.approx(1e-4), "a name without a generation is the latest"
    assert rates.host(None, 64) == 0
    assert rates.engines == ("vllm-2024", "vllm-2026")


@pytest.mark.parametrize(("m", "rows"), [(1, 1), (100, 100), (128, 128), (129, 256), (257, 384), (4096, 4096)])
def test_rows_of_a_matmul_are_whole_tiles_once_there_is_more_than_one(m, rows):
    assert KERNELS.rows(m) == rows
    assert BOUND.rows(m) == m


@pytest.mark.parametrize(("each", "rows"), [(1, 8), (9, 16), (100, 128), (129, 256), (300, 384)])
def test_rows_of_an_expert_are_tiles_of_the_next_power_of_two(each, rows):
    assert KERNELS.expert_rows(each) == rows
    assert BOUND.expert_rows(each) == each


# ---- bounds -----------------------------------------------------------------------------------------------------

sizes = st.integers(1, 20_000)
chips = st.sampled_from(MEASURED)
wide = st.sampled_from(("bf16", "fp8", "int4"))


def compared(device: str, call) -> None:
    hw = hardware(device)
    estimate, bound = call(calibrated(hw)), call(Rates.datasheet(hw))
    assert np.all(np.asarray(estimate) >= np.asarray(bound) * (1 - 1e-12))
    assert np.all(np.asarray(bound) > 0)


@given(chips, sizes, sizes, sizes, wide)
def test_no_matmul_beats_its_bound(device, m, n, k, name):
    compared(device, lambda rates: rates.matmul(m, n, k, name))


@given(
    chips,
    st.integers(1, 512),
    sizes,
    st.sampled_from([(64, 8), (32, 1), (71, 1), (8, 8)]),
    st.sampled_from(["bf16", "fp8"]),
)
def test_no_attention_beats_its_bound(device, batch, tokens, heads, name):
    compared(device, lambda rates: rates.attention_decode(batch, tokens, *heads, 128, name))
    compared(device, lambda rates: rates.attention_prefill(batch, tokens, *heads, 128, name, cached=tokens))


@given(chips, st.sampled_from(["decode", "prefill"]), st.integers(1, 512), sizes, sizes)
def test_no_latent_attention_beats_its_bound(device, phase, batch, tokens, cached):
    compared(device, lambda rates: rates.mla(phase, batch, tokens, 16, "bf16", cached=cached))


@given(chips, sizes, st.sampled_from([(2048, 768, 128, 8), (6144, 16384, 8, 2), (7168, 256, 384, 8)]), wide)
def test_no_experts_beat_their_bound(device, tokens, sizes_, name):
    compared(device, lambda rates: rates.moe(tokens, *sizes_, name))


@given(st.sampled_from(("h100-sxm", "b200")), st.floats(1, 1e9), st.integers(2, 8))
def test_no_all_reduce_beats_its_bound(device, size, n):
    compared(device, lambda rates: rates.all_reduce(size, n))


def test_a_bound_is_the_roofline():
    bound = Rates.datasheet(H100)
    memory, compute = 2 * (4096 * 4096 + 2 * 4096) / H100.bandwidth, 2 * 8192 * 4096 * 4096 / H100.peak["bf16"]
    assert bound.matmul(1, 4096, 4096, "bf16") == pytest.approx(memory)
    assert bound.matmul(8192, 4096, 4096, "bf16") == pytest.approx(compute)
    assert bound.elementwise(10, 3.35e9) == pytest.approx(1e-3)
    assert bound.host("vllm", 8) == 0
    assert bound.band("matmul", "bf16") == (1, 1)
    assert bound.source("matmul", "bf16").error is None
    assert "bound" in bound.source("matmul", "bf16").text


@given(chips, sizes, sizes)
def test_more_rows_never_take_less_time(device, m, more):
    rates = calibrated(hardware(device))
    assert rates.matmul(m + more, 4096, 4096, "bf16") >= rates.matmul(m, 4096, 4096, "bf16")
    assert rates.attention_decode(8, m + more, 32, 8, 128, "bf16") >= rates.attention_decode(8, m, 32, 8, 128, "bf16")


# ---- arrays -----------------------------------------------------------------------------------------------------


def test_arrays_broadcast_and_agree_with_numbers():
    rates = calibrated(H100)
    m, n = np.array([1.0, 64, 300]), np.array([[1024.0], [4096]])
    calls = {
        "matmul": lambda m, n: rates.matmul(m, n, 2048, "bf16"),
        "attention_decode": lambda m, n: rates.attention_decode(m, n, 32, 8, 128, "fp8"),
        "attention_prefill": lambda m, n: rates.attention_prefill(m, n, 32, 8, 128, "bf16", cached=m),
        "mla": lambda m, n: rates.mla("prefill", m, n, 16, "bf16", cached=m),
        "moe": lambda m, n: rates.moe(m, n, 768, 128, 8, "fp8_block"),
        "all_reduce": lambda m, n: rates.all_reduce(n, m),
        "elementwise": rates.elementwise,
    }
    for name, call in calls.items():
        whole = call(m, n)
        assert whole.shape == (2, 3), name
        assert whole[1, 2] == pytest.approx(call(300.0, 4096.0), rel=1e-12), name


def test_no_rows_take_no_time():
    rates = calibrated(H100)
    nothing = np.array([0.0])
    for seconds in (
        rates.matmul(nothing, 4096, 4096, "fp8"),
        rates.attention_decode(nothing, 100, 32, 8, 128, "bf16"),
        rates.attention_prefill(nothing, 100, 32, 8, 128, "bf16"),
        rates.attention_prefill(1, nothing, 32, 8, 128, "bf16"),
        rates.mla("decode", nothing, 100, 16, "bf16"),
        rates.moe(nothing, 2048, 768, 128, 8, "bf16"),
        rates.all_reduce(1e6, nothing + 1),
    ):
        assert seconds.tolist() == [0.0]


# ---- what serves what -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("device", hardware())
def test_every_device_of_the_catalogue_has_a_fit_for_everything(device):
    rates = calibrated(hardware(device))
    for operation in OPERATIONS[:-1]:
        for name in DTYPES:
            text, error = rates.source(operation, name)
            low, high = rates.band(operation, name)
            assert 0 < error < 0.5
            assert 0 < low <= 1 <= high
            assert text


def test_shipped_fits_have_at_most_four_numbers_a_source_and_errors():
    for device in (*MEASURED, "mi300x"):
        for (operation, _), fit in calibrated(hardware(device)).fits.items():
            assert len(fit.numbers) <= 4
            assert fit.source
            assert fit.rows > 0
            assert operation in OPERATIONS


def test_source_says_whose_figures_they_are():
    assert "measured on H100 SXM, fitted to" in calibrated(H100).source("matmul", "bf16").text
    assert "nearest relative of H200 SXM" in calibrated(hardware("h200-sxm")).source("matmul", "bf16").text
    assert "general fractions" in calibrated(hardware("mi300x")).source("matmul", "bf16").text
    assert "general fractions" in calibrated(TOY).source("moe", "bf16").text


def test_source_of_a_fit_without_errors_says_what_it_knows():
    assert toy("matmul").source("matmul", "bf16") == ("matmul in bf16, measured on Toy", None)
    counted = Rates(TOY, {("moe", "bf16"): Fit(rows=12, source="a live run")})
    assert counted.source("moe", "bf16").text == "moe in bf16, measured on Toy, fitted to 12 measurements (a live run)"


def test_source_says_when_another_format_stands_in():
    text = calibrated(H100).source("matmul", "nf4").text
    assert text.startswith("matmul in int4@bf16, standing in for nf4@bf16")
    assert isinstance(calibrated(H100).source("matmul", "fp8"), Source)


def test_a_chip_without_the_unit_unpacks():
    a100 = calibrated(hardware("a100-sxm-80"))
    assert a100.formats("fp8") == ("bf16", "fp8")
    assert "standing in for fp8@bf16" in a100.source("matmul", "fp8").text
    assert a100.matmul(1, 8192, 8192, "fp8") < a100.matmul(1, 8192, 8192, "bf16")
    v100 = calibrated(hardware("v100-sxm2-32"))
    assert v100.formats("bf16") == ("fp16", "bf16")


def test_a_relative_with_less_power_sustains_less_of_its_peak():
    l4, l40s = calibrated(hardware("l4")), calibrated(hardware("l40s"))
    assert l4.fit("matmul", "bf16").ef < l40s.fit("matmul", "bf16").ef
    assert l4.fit("matmul", "bf16").eb == l40s.fit("matmul", "bf16").eb
    h200 = calibrated(hardware("h200-sxm"))
    assert h200.fit("matmul", "bf16") == calibrated(H100).fit("matmul", "bf16")


@pytest.mark.parametrize(
    ("capped", "relative"), [("rtx4090", "l40s"), ("rtx5090", "rtxpro6000bw"), ("h20", "h100-sxm")]
)
def test_a_capped_peak_is_nearly_reached_and_never_more_than_the_units_could(capped, relative):
    own, theirs = hardware(capped), hardware(relative)
    reached = calibrated(own).fit("matmul", "bf16").ef
    assert 0.9 < reached <= 0.95
    rate_of_a_unit = reached * own.peak["bf16"] / own.units
    assert rate_of_a_unit <= calibrated(theirs).fit("matmul", "bf16").ef * theirs.peak["bf16"] / theirs.units


def test_borrowed_fractions_need_figures_to_differ_by():
    bare = Hardware(id="bare", name="Bare", bandwidth=1e12, peak={"bf16": 1e14})
    assert borrowed_ef(0.7, bare, H100, "bf16") == 0.7
    assert borrowed_ef(0.7, bare, H100, "fp8") == 0.7


@pytest.mark.parametrize(
    ("key", "order"),
    [
        ("bf16", ["bf16"]),
        ("fp8_block", ["fp8_block", "fp8", "bf16"]),
        ("int8@bf16", ["int8@bf16", "int4@bf16", "bf16"]),
        ("fp8@bf16", ["fp8@bf16", "int8@bf16", "int4@bf16", "bf16"]),
        ("fp32@bf16", ["fp32@bf16", "bf16"]),
    ],
)
def test_nearest_formats(key, order):
    assert list(nearest_formats(key)) == order


def test_format_key_takes_names_and_keys():
    assert format_key("fp8", "fp8") == "fp8"
    assert format_key("mxfp4@fp8") == "mxfp4@fp8"
    for nonsense in ("bf17", "int4@bf17", "@bf16", ""):
        with pytest.raises(ConfigError):
            format_key(nonsense)


def test_a_what_if_scales_and_another_device_is_refused():
    rates = calibrated(H100)
    twice = rates.for_hardware(H100.replace(bandwidth=2 * H100.bandwidth))
    fit = rates.fit("matmul", "bf16")
    fixed = fit.overhead + fit.serial * 8192
    halved = (twice.matmul(1, 16384, 8192, "bf16") - fixed) / (rates.matmul(1, 16384, 8192, "bf16") - fixed)
    assert halved == pytest.approx(0.5, rel=1e-3)
    assert rates.for_hardware(H100) is rates
    with pytest.raises(ConfigError, match="device to price on"):
        rates.for_hardware(hardware("b200"))
    assert calibrated(H100.replace(bandwidth=1e12)).fit("matmul", "bf16") == fit


def test_rates_survive_pickling_and_are_equal_by_value():
    rates = calibrated(H100)
    again = pickle.loads(pickle.dumps(rates))  # noqa: S301  # our own bytes
    assert again == rates
    assert hash(again) == hash(rates)
    assert Rates.datasheet(H100) != rates


# ---- refusals ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "values",
    [
        {"eb": 0.0},
        {"eb": 1.01},
        {"ef": -0.5},
        {"ef": float("nan")},
        {"overhead": -1e-6},
        {"serial": float("inf")},
        {"low": 0.0},
        {"low": 2.0, "high": 1.5},
        dict.fromkeys(("eb", "ef", "overhead", "serial", "ramp"), 0.5),
    ],
)
def test_a_fit_checks_itself(values):
    with pytest.raises(ConfigError):
        Fit(**values)


def test_a_fit_knows_its_numbers():
    assert Fit().numbers == {}
    assert Fit(eb=0.5, ramp=1e-6, rows=7).numbers == {"eb": 0.5, "ramp": 1e-6}
    assert set(NUMBERS) == {"eb", "ef", "overhead", "serial", "per_item", "ramp"}


def test_unknown_names_are_refused_in_a_sentence():
    rates = calibrated(H100)
    with pytest.raises(ConfigError, match="one of matmul, attention_decode"):
        rates.source("matrix", "bf16")
    with pytest.raises(ConfigError, match="bf16"):
        rates.matmul(1, 1, 1, "bf17")
    with pytest.raises(ConfigError, match="decode or prefill"):
        rates.mla("both", 1, 1, 1, "bf16")
    with pytest.raises(ConfigError, match="vllm-2024"):
        rates.host("llama.cpp", 1)
    with pytest.raises(ConfigError, match="nothing"):
        Rates(H100).matmul(1, 1, 1, "bf16")


def test_an_unknown_link_is_not_taken_as_none():
    lonely = calibrated(replace(TOY, link=None))
    with pytest.raises(ConfigError, match="link"):
        lonely.all_reduce(1e6, 2)
    assert lonely.all_reduce(np.ones(3), 1).tolist() == [0, 0, 0]
