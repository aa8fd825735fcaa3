"""Names of drivers to rows of the catalogue: never a wrong match."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import costmodel as cm
from costmodel.hardware import GIB
from live.matching import chosen, match

RIGHT = [
    ("Tesla T4", 14.6, "t4"),
    ("Tesla V100-SXM2-16GB", 15.8, "v100-sxm2-16"),
    ("Tesla V100-SXM2-32GB", 31.7, "v100-sxm2-32"),
    ("Tesla V100-PCIE-32GB", 31.7, "v100-pcie-32"),
    ("NVIDIA A10", 22.1, "a10"),
    ("NVIDIA A10G", 22.1, "a10g"),
    ("NVIDIA A40", 44.4, "a40"),
    ("NVIDIA A100-PCIE-40GB", 39.4, "a100-pcie-40"),
    ("NVIDIA A100 80GB PCIe", 79.3, "a100-pcie-80"),
    ("A100-SXM4-40GB", 39.4, "a100-sxm-40"),
    ("NVIDIA A100-SXM4-80GB", 79.3, "a100-sxm-80"),
    ("NVIDIA GeForce RTX 3090", 23.7, "rtx3090"),
    ("NVIDIA GeForce RTX 4090", 23.5, "rtx4090"),
    ("NVIDIA GeForce RTX 5090", 31.4, "rtx5090"),
    ("NVIDIA RTX A6000", 47.5, "rtx-a6000"),
    ("NVIDIA RTX 6000 Ada Generation", 47.5, "rtx6000ada"),
    ("NVIDIA RTX PRO 6000 Blackwell Workstation Edition", 95.0, "rtxpro6000bw"),
    ("NVIDIA L4", 22.2, "l4"),
    ("NVIDIA L40S", 44.5, "l40s"),
    ("NVIDIA H100 80GB HBM3", 79.1, "h100-sxm"),
    ("NVIDIA H100 PCIe", 79.1, "h100-pcie"),
    ("NVIDIA H100 NVL", 93.1, "h100-nvl"),
    ("NVIDIA H200", 139.8, "h200-sxm"),
    ("NVIDIA H200 NVL", 139.8, "h200-nvl"),
    ("NVIDIA H20", 95.1, "h20"),
    ("NVIDIA GH200 480GB", 94.5, "gh200-96"),
    ("NVIDIA GH200 480GB", 141.0, "gh200-144"),
    ("NVIDIA B200", 178.4, "b200"),
    ("NVIDIA GB200", 184.0, "gb200"),
    ("NVIDIA GB10", 119.7, "gb10"),
    ("Orin", 61.4, "orin-64"),
    ("AMD Instinct MI300X", 191.5, "mi300x"),
    ("AMD Instinct MI300X VF", 191.5, "mi300x"),
    ("AMD Radeon RX 7900 XTX", 23.98, "rx7900xtx"),
    ("Intel(R) Arc(TM) B580 Graphics", 11.9, "arc-b580"),
    ("Intel(R) Data Center GPU Max 1550", 128.0, "max1550"),
]


@pytest.mark.parametrize(("name", "gib", "row"), RIGHT)
def test_the_names_that_drivers_give(name, gib, row):
    found = match(name, "cuda", gib * GIB)
    assert found.hardware is not None
    assert found.hardware.id == row
    assert found.hardware is cm.hardware(row)


OTHERS = [
    "NVIDIA GeForce RTX 4090 Laptop GPU",
    "NVIDIA GeForce RTX 4090 D",
    "NVIDIA GeForce RTX 3090 Ti",
    "NVIDIA GeForce RTX 5090 Laptop GPU",
    "NVIDIA GeForce RTX 4080 SUPER",
    "NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition",
    "Tesla V100S-PCIE-32GB",
    "NVIDIA A100X",
    "NVIDIA A100-SXM-64GB",
    "NVIDIA A800-SXM4-80GB",
    "NVIDIA H800 PCIe",
    "NVIDIA A16",
    "NVIDIA L20",
    "GRID A100-10C",
    "NVIDIA A100-40C",
    "Quadro RTX 6000",
    "AMD Instinct MI250",
    "Apple M3 Pro",
]


@pytest.mark.parametrize("name", OTHERS)
def test_parts_that_only_sound_like_a_row_are_measured_on_their_own_figures(name):
    row = match(name, "cuda", 80 * GIB)
    assert row.hardware is None
    assert row.candidates == ()
    assert name in row.reason
    assert "measured" in row.reason


UNSURE = [
    ("NVIDIA H100 80GB HBM2e", 79.1, {"h100-pcie", "h100-sxm", "h100-nvl"}),
    ("Tesla V100-DGXS-32GB", 31.7, {"v100-pcie-16", "v100-pcie-32", "v100-sxm2-16", "v100-sxm2-32"}),
    ("NVIDIA RTX PRO 6000 Blackwell Server Edition", 95.0, {"rtxpro6000bw"}),
    ("NVIDIA H20", 140.0, {"h20"}),  # the 141 GB variant, which no row describes
    ("AMD Instinct MI300X", 47.9, {"mi300x"}),  # a partition of one
    ("NVIDIA H100 80GB HBM3", 40.0, {"h100-sxm"}),
]


@pytest.mark.parametrize(("name", "gib", "candidates"), UNSURE)
def test_when_unsure_it_says_so_and_asks(name, gib, candidates):
    found = match(name, "cuda", gib * GIB)
    assert found.hardware is None
    assert set(found.candidates) == candidates
    assert "say which it is" in found.reason


def test_a_person_may_name_one_of_the_candidates():
    name = "NVIDIA H100 80GB HBM2e"
    found = chosen("h100-pcie", name, match(name, "cuda", 79.1 * GIB))
    assert found.hardware is cm.hardware("h100-pcie")
    with pytest.raises(cm.UnknownHardware):
        chosen("h100-xxl", name, found)
    with pytest.raises(cm.ConfigError, match="may be"):
        chosen("b200", name, found)


@pytest.mark.parametrize(("cores", "row"), [(40, "m3-max"), (30, None)])
def test_apple_s_bins_are_told_apart_by_their_cores(cores, row):
    found = match("Apple M3 Max", "mps", 48 * GIB, cores)
    assert (found.hardware and found.hardware.id) == row
    assert found.candidates == ("m3-max",)


# H200: 132 multiprocessors, 8 slices of memory and 7 of arithmetic. A30: 4 of each.
MIG = [
    ("NVIDIA H200 MIG 1g.18gb", 16.0, 1 / 7, 1 / 8, 4800e9),
    ("NVIDIA H200 MIG 1g.35gb", 32.5, 1 / 7, 2 / 8, 4800e9),
    ("NVIDIA H200 MIG 2g.35gb", 32.5, 2 / 7, 2 / 8, 4800e9),
    ("NVIDIA H200 MIG 7g.141gb", 139.8, 1, 1, 4800e9),
    ("NVIDIA A100-SXM4-40GB MIG 3g.20gb", 19.6, 3 / 7, 4 / 8, 1555e9),
    ("NVIDIA H100 80GB HBM3 MIG 1g.10gb+me", 9.5, 1 / 7, 1 / 8, 3350e9),
    ("NVIDIA A30 MIG 1g.6gb", 5.8, 1 / 4, 1 / 4, 933e9),
]


@pytest.mark.parametrize(("name", "gib", "compute", "lanes", "parent"), MIG)
def test_tor09_a_mig_slice_is_a_part_of_its_parent_and_has_the_memory_that_is_visible_in_it(
    name, gib, compute, lanes, parent
):
    part = match(name, "cuda", gib * GIB).hardware
    assert part is not None
    assert part.memory == gib * GIB
    assert part.bandwidth == pytest.approx(parent * lanes, rel=1e-12)
    whole = max((row for row in map(cm.hardware, cm.hardware()) if part.id.startswith(row.id)), key=lambda r: len(r.id))
    assert part.peak["bf16"] == pytest.approx(whole.peak["bf16"] * compute, rel=1e-12)
    assert part != whole


def test_tor09_two_gigabytes_a_second_of_a_2g_35gb_slice():
    part = match("NVIDIA H200 MIG 2g.35gb", "cuda", 32.5 * GIB).hardware
    assert part is not None
    assert part.bandwidth == pytest.approx(1.2e12, rel=0.001)
    assert part.units in range(32, 39)  # 16 to 18 a slice of the 132


def test_half_of_a_board_that_shows_up_as_two_devices():
    half = match("AMD Instinct MI250X", "rocm", 64 * GIB).hardware
    assert half is not None
    assert half.bandwidth == cm.hardware("mi250x").bandwidth / 2
    assert half.memory == 64 * GIB


def test_a_processor_is_never_a_row():
    assert match("AMD EPYC 9654 96-Core Processor", "cpu", 768 * GIB, 96).hardware is None


@given(st.text(max_size=60), st.floats(1e9, 1e12), st.none() | st.integers(1, 200))
def test_any_name_is_answered_in_a_sentence(name, memory, units):
    found = match(name, "cuda", memory, units)
    assert found.reason
    assert found.hardware is None or found.hardware.id


@given(st.sampled_from([name for name, *_ in RIGHT]), st.text("abcdefgXT0123 ", min_size=1, max_size=8))
def test_a_longer_name_is_another_part(name, tail):
    found = match(f"{name} {tail.strip() or 'X'}", "cuda", 79.1 * GIB)
    exact = {n for n, *_ in RIGHT}
    assert found.hardware is None or f"{name} {tail.strip() or 'X'}" in exact or " VF" in found.reason
