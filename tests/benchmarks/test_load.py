"""A team that moves sliders, each of it one a second, over the protocol that browsers speak: on one server, and on one
for each processor, as behind a proxy that keeps a visitor with his.

Figures with their goals beside them. Where sessions outrun the server the latency grows without end, so what to look at
is the time of the processor that a move takes: beyond 20 ms, fifty a second are more than one interpreter has. Machines
differ by far, and one machine from hour to hour: what a move takes in the smallest app that draws five charts says how
fast this one is.
"""

from __future__ import annotations

import asyncio
import os
import random
import statistics
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from tests.browser.server import processor_seconds, resident_mb, serving
from tests.visitor import Session, pages_with_sliders

SESSIONS, SECONDS = 50, 20.0
FEW, BRIEF = 4, 1.0  # under test, for the result alone
FORGET = 1  # seconds after which the server may forget who has left; two minutes unless it is told otherwise


@dataclass
class Team:
    """Visitors, and how long each of their moves took, in seconds, by page."""

    visitors: list[Session]
    took: dict[str, list[float]] = field(default_factory=dict)

    @classmethod
    async def arrive(cls, addresses: Sequence[str], paths: Sequence[str]) -> Team:
        """Visitors, one a path, who come one after the other and are shared out among the servers."""
        visitors = [Session(addresses[number % len(addresses)], path) for number, path in enumerate(paths)]
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
    """What was measured of the servers together while a team came, moved, went, and another one came."""

    team: Team
    processor: float  # seconds of the servers' while they moved
    before_mb: float
    most_mb: float
    left_mb: float
    second_mb: float  # the most of a second team after the first one has left


async def _course(addresses: Sequence[str], paths: list[str], seconds: float) -> Course:
    def summed(of: Callable[[str], float]) -> float:
        return sum(of(address) for address in addresses)

    for address in addresses:
        for path in dict.fromkeys(paths):  # what is loaded and built once, by whoever comes first
            await (await _warm(address, path)).leave()
    await _forget(addresses, paths[0])
    before = summed(resident_mb)
    team = await Team.arrive(addresses, paths)
    began = summed(processor_seconds)
    await team.move(seconds)
    processor, most = summed(processor_seconds) - began, summed(resident_mb)
    await team.leave()
    await _forget(addresses, paths[0])
    left = summed(resident_mb)
    again = await Team.arrive(addresses, paths)
    await again.move(min(seconds, 5.0))
    second = summed(resident_mb)
    await again.leave()
    return Course(team, processor, before, most, left, second)


async def _warm(address: str, path: str) -> Team:
    team = await Team.arrive([address], [path])
    await team.visitors[0].move(next(iter(team.visitors[0].sliders)))
    return team


async def _forget(addresses: Sequence[str], path: str) -> None:
    """Let the servers forget who has left: they do when the next one leaves, after a while."""
    await asyncio.sleep(FORGET + 0.5)
    for address in addresses:
        await (await Team.arrive([address], [path])).leave()
    await asyncio.sleep(0.5)


def _percentile(times: list[float], share: float) -> float:
    return sorted(times)[min(len(times) - 1, round(share * (len(times) - 1)))]


def test_a_team_that_moves_sliders(benchmark, figure, tmp_path: Path):
    sessions, seconds = (SESSIONS, SECONDS) if benchmark.enabled else (FEW, BRIEF)
    numbers = sorted({1, os.cpu_count() or 1}) if benchmark.enabled else [1]
    for servers in numbers:
        with ExitStack() as running:
            addresses = [
                running.enter_context(serving(tmp_path / f"log{number}", f"--server.disconnectedSessionTTL={FORGET}"))
                for number in range(servers)
            ]
            found = list(asyncio.run(pages_with_sliders(addresses[0])))
            # each page on each server, where there are visitors enough
            paths = [found[number // servers % len(found)] for number in range(sessions)]
            course = asyncio.run(_course(addresses, paths, seconds))
        assert set(course.team.took) == set(paths)
        _say(figure, course, sessions, servers, seconds)
    benchmark.pedantic(lambda: None, rounds=1)


def _say(figure: Callable[[str], None], course: Course, sessions: int, servers: int, seconds: float) -> None:
    took = [one for times in course.team.took.values() for one in times]
    figure(
        f"{sessions} sessions on {servers} server{'s' * (servers > 1)}, {len(took)} moves in {seconds:.0f} s: "
        f"median {statistics.median(took) * 1e3:.0f} ms (goal: < 50), p95 {_percentile(took, 0.95) * 1e3:.0f} ms "
        f"(goal: < 200); {course.processor / len(took) * 1e3:.1f} ms of a processor a move"
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
    with serving(tmp_path / "smallest_log", script="tests/benchmarks/smallest.py") as address:
        figure(asyncio.run(_alone(address, "", "steepness", moves)))
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
        f"{path or 'smallest app'}, {key}: {processor * 1e3:.0f} ms of the server's processor, "
        f"median {statistics.median(answer.seconds for answer in answers) * 1e3:.0f} ms, {last.messages} messages, "
        f"{last.bytes / 1e3:.0f} kB, {last.charts} charts of {last.charts_bytes / 1e3:.0f} kB"
    )
