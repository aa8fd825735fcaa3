"""How fast serving runs are simulated: long ones by the jump engine beside the plain loop, short ones for a page."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

import costmodel as cm
from costmodel import serving

REQUESTS = 100_000
PLAIN_REQUESTS = 2_000  # the plain loop is asked for so many, and its figure is scaled
PRICE = {"model": cm.model("llama-3.1-8b"), "hardware": cm.hardware("h100-sxm")}
POLICY = serving.policy("vllm_v1", max_num_batched_tokens=8192, max_num_seqs=1024)

PEAK_MEMORY = """
from pathlib import Path
import costmodel as cm
from costmodel import serving
lengths = {{"prompt": serving.AZURE_CONV_PROMPTS, "output": serving.AZURE_CONV_OUTPUTS}}
requests = serving.poisson(rate={rate}, count={count}, **lengths)
policy = serving.policy("vllm_v1", max_num_batched_tokens=8192, max_num_seqs=1024)
run = serving.simulate(requests, policy, model=cm.model("llama-3.1-8b"), hardware=cm.hardware("h100-sxm"))
assert run.summary["finished"] == len(run.requests) and len(run.steps)
status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
print(int(status["VmHWM"].split()[0]) // 1024)
"""


def azure(rate: float, count: int):
    return serving.poisson(
        rate=rate, count=count, prompt=serving.AZURE_CONV_PROMPTS, output=serving.AZURE_CONV_OUTPUTS, seed=0
    )


@pytest.mark.parametrize("rate", [1.0, 4.0, 8.0])
def test_a_hundred_thousand_requests(benchmark, figure, rate):
    count = REQUESTS if benchmark.enabled else REQUESTS // 50
    requests = azure(rate, count)
    processor: list[float] = []

    def simulate() -> serving.Run:
        started = time.process_time()
        run = serving.simulate(requests, POLICY, **PRICE)
        processor.append(time.process_time() - started)
        return run

    run = benchmark.pedantic(simulate, rounds=3, iterations=1)
    started = time.perf_counter()
    summary, _, _ = run.summary, run.requests, run.steps
    results = time.perf_counter() - started
    assert (summary["engine"], summary["finished"], summary["conserved"]) == ("jump", count, True)
    if benchmark.enabled:
        seconds = benchmark.stats.stats.min
        figure(
            f"{count:,} requests in {seconds:.2f} s, {min(processor):.2f} s of the processor "
            f"(and {results:.2f} s for tables and summary), "
            f"{summary['iterations']:,} iterations for {summary['steps']:,} steps; "
            f"the plain loop would take {_plain_seconds(rate) * count / PLAIN_REQUESTS:,.0f} s"
        )


def _plain_seconds(rate: float) -> float:
    """Seconds that the plain loop takes for its share of the requests."""
    requests = azure(rate, PLAIN_REQUESTS)
    started = time.perf_counter()
    serving.simulate(requests, POLICY, engine="steps", **PRICE)
    return time.perf_counter() - started


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="peak memory is read from /proc, which is Linux's")
@pytest.mark.parametrize("rate", [1.0, 8.0])
def test_peak_memory_of_a_hundred_thousand_requests(benchmark, figure, rate):
    count = REQUESTS if benchmark.enabled else REQUESTS // 50
    program = PEAK_MEMORY.format(rate=rate, count=count)
    command = [sys.executable, "-c", program]
    done = benchmark.pedantic(lambda: subprocess.run(command, check=True, capture_output=True, text=True), rounds=1)
    figure(f"{int(done.stdout)} MiB at most, Python and pandas included")
    assert int(done.stdout) < 500


@pytest.mark.parametrize("rates", ["datasheet", "calibrated"])
@pytest.mark.parametrize("engine", ["steps", "jump"])
def test_two_hundred_requests_for_a_page(benchmark, figure, engine, rates):
    requests = serving.poisson(rate=8.0, count=200, prompt=serving.AZURE_CONV_PROMPTS, output=(16, 256), seed=0)

    def simulate() -> serving.Run:
        run = serving.simulate(requests, POLICY, engine=engine, rates=rates, **PRICE)
        assert min(len(run.steps), len(run.requests), len(run.timeline), len(run.summary)) > 0
        return run

    run = benchmark(simulate)
    assert run.summary["finished"] == 200
    if benchmark.enabled:
        figure(f"{benchmark.stats.stats.median * 1e3:.0f} ms with all tables, {run.summary['steps']:,} steps")


def test_stepping_through_a_run(benchmark, figure):
    requests = serving.poisson(rate=8.0, count=200, prompt=serving.AZURE_CONV_PROMPTS, output=(16, 256), seed=0)
    run = serving.simulate(requests, POLICY, **PRICE)
    last = int(run.summary["steps"]) - 1

    def scrub() -> None:
        """To the end, back to the middle, and ten steps on."""
        for step in (last, last // 2, *range(last // 2, last // 2 + 10)):
            assert run.explain(step).step == step

    benchmark.pedantic(scrub, rounds=3)
    if benchmark.enabled:
        figure(
            f"{benchmark.stats.stats.median * 1e3:.0f} ms to the last of {last + 1:,} steps, back to half, and ten on"
        )
