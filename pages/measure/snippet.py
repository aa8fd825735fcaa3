"""The figures of the Measure page as a program: what a profile holds."""

from __future__ import annotations

import live
from pages.measure import words
from pages.parts import snippets
from pages.parts.scenario import Scenario


def code(profile: live.Profile, scenario: Scenario, packed: str = "") -> str:
    """The program; ``scenario`` is the one on the measured device, ``packed`` the user's own model."""
    body = [
        "own = [point for point in profile.points if point.dtype == profile.dtype]",
        'read = [point.bytes_rate for point in profile.of("read")] or [point.bytes_rate for point in own]',
    ]
    expressions = [
        "max(read)",
        "max((point.flops_rate for point in own), default=0.0)",
        *(['min(point.seconds for point in profile.of("launch"))'] if profile.of("launch") else []),
        "len(profile.points)",
        *(["profile.error"] if profile.error is not None else []),
    ]
    figures = snippets.figures(words.figures(profile), expressions)
    return snippets.program("Measure", scenario, body=body, figures=figures, packed=packed)
