"""The plain engine against schedules of real engines: tokens of every request in every step, and free blocks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.costmodel.serving.schedules import run_case, tokens
from tests.reference import DATA, needs_data

RECORDED = ("vllm_v1.json", "vllm_v1_prefix.json", "sarathi_serve.json")


def examples() -> list[dict[str, Any]]:
    path = DATA / "schedules" / "examples.json"
    return json.loads(path.read_text()) if path.is_file() else []


def recorded(folder: Path, name: str) -> list[dict[str, Any]]:
    return json.loads((folder / "schedules" / name).read_text())["cases"]


@needs_data
@pytest.mark.parametrize("case", examples(), ids=lambda case: case["name"])
def test_hand_checked_examples(case: dict[str, Any]) -> None:
    run = run_case(case)
    assert tokens(run) == case["steps"]
    assert preempted(run) == case["preempted"]
    assert run.summary["finished"] == len(case["requests"])
    assert run.summary["conserved"]


def preempted(run: Any) -> dict[str, list[str]]:
    """Requests that lost their blocks, by step."""
    lost = ((int(row.start_s), list(run.explain(i).preempted)) for i, row in enumerate(run.steps.itertuples()))
    return {str(step): names for step, names in lost if names}


@pytest.mark.parametrize("name", RECORDED)
def test_schedules_recorded_from_real_engines(reference_data: Path, name: str) -> None:
    cases = recorded(reference_data, name)
    assert cases
    wrong = [i for i, case in enumerate(cases) if [list(step) for step in run_case(case).schedule] != case["steps"]]
    assert not wrong


@pytest.mark.parametrize("name", ["vllm_v1.json", "sarathi_serve.json"])
def test_requests_finish_when_they_did_in_the_real_engines(reference_data: Path, name: str) -> None:
    for case in recorded(reference_data, name):
        finish = run_case(case).requests.set_index("id")["finish_s"]
        assert {request: int(moment) for request, moment in finish.items()} == {
            request: step + 1 for request, step in case["finish_step"].items()
        }
