"""A team on one server: sessions that each move a slider once a second, over the protocol that browsers speak.

Figures with their goals beside them. Where sessions outrun the server the latency grows without end, so what to look at
is the time of the processor that a move takes: beyond 20 ms, fifty a second are more than one interpreter has.
"""

from __future__ import annotations

import asyncio
import random
import statistics
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from tests.browser.server import processor_seconds, resident_mb, serving
from tests.visitor import Session, pages_with_sliders

SESSIONS, SECONDS = 50, 20.0
FEW, BRIEF = 4, 1.0  # under test, for the result alone
FORGET = 1  # seconds after which the server may forget who has left; two minutes unless it is told otherwise


@dataclass
class Team:
    """Visitors of one server and how long each of their moves took, in seconds, by page."""

    visitors: list[Session]
    took: dict[str, list[float]] = field(default_factory=dict)

    @classmethod
    async def arrive(cls, address: str, paths: Iterable[str]) -> Team:
        """Visitors, one a path, who come one after the other."""
        visitors = [Session(address, path) for path in paths]
        for visitor in visitors:
            await visitor.open()
        return cls(visitors)

    async def move(self, seconds: float) -> None:
        """Everybody moves the first slider of his page once a second, or as soon as the last move is answered."""
        async with asyncio.TaskGroup() as group:
            for number, visitor in enumerate(self.visitors):
                group.create_task(self._move(visitor, seconds, random.Random(number)))

    async def _move(self, visitor: Session, seconds: float, chance: random.Random) -> None:
        await asyncio.sleep(chance.random())
        until = time.monotonic() + seconds
        key = next(iter(visitor.sliders))
        while (began := time.monotonic()) < until:
            answer = await visitor.move(key)
            self.took.setdefault(visitor.path, []).append(answer.seconds)
            await asyncio.sleep(max(0.0, began + 1 - time.monotonic()))

    async def leave(self) -> None:
        """Everybody goes."""
        await asyncio.gather(*(visitor.close() for visitor in self.visitors))


@dataclass
class Course:
    """What was measured of the server while a team came, moved, went, and another one came."""

    team: Team
    processor: float  # seconds of the server's while they moved
    before_mb: float
    most_mb: float
    left_mb: float
    second_mb: float  # the most of a second team after the first one has left


async def _course(address: str, paths: list[str], seconds: float) -> Course:
    for path in dict.fromkeys(paths):  # what is loaded and built once, by whoever comes first
        await (await _warm(address, path)).leave()
    await _forget(address, paths[0])
    before = resident_mb(address)
    team = await Team.arrive(address, paths)
    began = processor_seconds(address)
    await team.move(seconds)
    processor, most = processor_seconds(address) - began, resident_mb(address)
    await team.leave()
    await _forget(address, paths[0])
    left = resident_mb(address)
    again = await Team.arrive(address, paths)
    await again.move(min(seconds, 5.0))
    second = resident_mb(address)
    await again.leave()
    return Course(team, processor, before, most, left, second)


async def _warm(address: str, path: str) -> Team:
    team = await Team.arrive(address, [path])
    await team.visitors[0].move(next(iter(team.visitors[0].sliders)))
    return team


async def _forget(address: str, path: str) -> None:
    """Let the server forget who has left: it does when the next one leaves, after a while."""
    await asyncio.sleep(FORGET + 0.5)
    await (await Team.arrive(address, [path])).leave()
    await asyncio.sleep(0.5)


def _percentile(times: list[float], share: float) -> float:
    return sorted(times)[min(len(times) - 1, round(share * (len(times) - 1)))]


def test_a_team_that_moves_sliders(benchmark, figure, tmp_path: Path):
    sessions, seconds = (SESSIONS, SECONDS) if benchmark.enabled else (FEW, BRIEF)
    with serving(tmp_path / "log", f"--server.disconnectedSessionTTL={FORGET}") as address:
        found = list(asyncio.run(pages_with_sliders(address)))
        paths = [found[number % len(found)] for number in range(sessions)]
        course = asyncio.run(_course(address, paths, seconds))
    benchmark.pedantic(lambda: None, rounds=1)
    took = [one for times in course.team.took.values() for one in times]
    assert set(course.team.took) == set(paths)
    figure(
        f"{sessions} sessions on {len(set(paths))} pages, {len(took)} moves in {seconds:.0f} s: "
        f"median {statistics.median(took) * 1e3:.0f} ms (goal: < 50), p95 {_percentile(took, 0.95) * 1e3:.0f} ms "
        f"(goal: < 200); {course.processor / len(took) * 1e3:.1f} ms of the server's processor a move"
    )
    for path, times in course.team.took.items():
        figure(
            f"  {path or 'first page'}: median {statistics.median(times) * 1e3:.0f} ms, "
            f"p95 {_percentile(times, 0.95) * 1e3:.0f} ms of {len(times)} moves"
        )
    figure(
        f"memory: {course.before_mb:.0f} MB before, {course.most_mb:.0f} MB with {sessions} sessions "
        f"({(course.most_mb - course.before_mb) / sessions:.2f} MB each; goal: < 1), {course.left_mb:.0f} MB after "
        f"they left, {course.second_mb:.0f} MB with as many again"
    )


def test_a_move_on_each_page_alone(benchmark, figure, tmp_path: Path):
    moves = 20 if benchmark.enabled else 1
    with serving(tmp_path / "log") as address:
        for path, keys in asyncio.run(pages_with_sliders(address)).items():
            figure(asyncio.run(_alone(address, path, keys[0], moves)))
    benchmark.pedantic(lambda: None, rounds=1)


async def _alone(address: str, path: str, key: str, moves: int) -> str:
    """What a move of one slider of a page takes, in words."""
    visitor = Session(address, path)
    await visitor.open()
    await visitor.move(key)
    began = processor_seconds(address)
    answers = [await visitor.move(key) for _ in range(moves)]
    processor = (processor_seconds(address) - began) / moves
    await visitor.close()
    last = answers[-1]
    assert last.messages > 5
    return (
        f"{path or 'first page'}, {key}: {processor * 1e3:.0f} ms of the server's processor, "
        f"median {statistics.median(answer.seconds for answer in answers) * 1e3:.0f} ms, {last.messages} messages, "
        f"{last.bytes / 1e3:.0f} kB, {last.charts} charts of {last.charts_bytes / 1e3:.0f} kB"
    )
