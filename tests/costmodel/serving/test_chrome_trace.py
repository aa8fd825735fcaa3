"""A run as a trace: what every event must have, and the run's own figures found again in it."""

from __future__ import annotations

import json

import pytest

import costmodel as cm
from costmodel import serving

REQUESTS = serving.poisson(rate=30.0, count=25, prompt=(50, 400), output=(2, 30), seed=2)


@pytest.fixture(scope="module", params=["steps", "jump"])
def run(request) -> serving.Run:
    policy = serving.policy("vllm_v1", max_num_batched_tokens=256)
    prices = {"model": cm.model("qwen3-0.6b"), "hardware": cm.hardware("h100-sxm")}
    return serving.simulate(REQUESTS, policy, engine=request.param, **prices)


@pytest.fixture(scope="module")
def events(run):
    return json.loads(json.dumps(serving.chrome_trace(run)))["traceEvents"]


def test_every_event_is_one_that_viewers_know(events) -> None:
    needed = {
        "M": {"name", "pid", "args"},
        "X": {"name", "pid", "tid", "ts", "dur"},
        "C": {"name", "pid", "ts", "args"},
    }
    assert {event["ph"] for event in events} == set(needed)
    for event in events:
        assert needed[event["ph"]] <= set(event)
        assert event.get("ts", 0) >= 0
        assert event.get("dur", 0) >= 0


def test_each_request_is_a_named_thread_and_its_spans_are_its_timeline(run, events) -> None:
    names = {e["tid"]: e["args"]["name"] for e in events if e["name"] == "thread_name"}
    assert sorted(names.values()) == sorted(run.requests["id"])
    spans = [(names[e["tid"]], e["name"], e["ts"], e["dur"]) for e in events if e["ph"] == "X" and e["pid"] == 1]
    timeline = run.timeline
    assert [span[:2] for span in spans] == list(zip(timeline["id"], timeline["phase"], strict=True))
    assert [span[2] for span in spans] == pytest.approx((timeline["start_s"] * 1e6).tolist())
    assert [span[2] + span[3] for span in spans] == pytest.approx((timeline["end_s"] * 1e6).tolist())


def test_steps_and_counters_add_up_to_the_run(run, events) -> None:
    steps = [e for e in events if e["ph"] == "X" and e["pid"] == 2]
    assert sum(e["dur"] for e in steps) / 1e6 == pytest.approx(run.summary["busy_s"])
    assert sum(e["args"]["steps"] for e in steps) == run.summary["steps"]
    assert {e["name"] for e in steps} <= {"memory", "compute"}
    counters = {
        name: [e for e in events if e["ph"] == "C" and e["name"] == name] for name in ("blocks_used", "waiting")
    }
    for name, found in counters.items():
        assert [e["args"][name] for e in found] == run.steps[name].tolist()


def test_steps_without_a_price_have_no_side() -> None:
    run = serving.simulate(serving.at_once(count=2, prompt=4, output=2), serving.policy("orca"), step_seconds=1.0)
    trace = serving.chrome_trace(run)
    assert {e["name"] for e in trace["traceEvents"] if e["ph"] == "X" and e["pid"] == 2} == {"step"}
    assert trace["otherData"] == {"policy": run.facts.policy.copies}
