"""What a profile says of a model: measured points beside the floor and the estimate, and the rates between them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import pandas as pd

import costmodel as cm
import live
from live.compare import as_measured, measured_operations
from pages.measure import words
from pages.parts import components, live_rates
from pages.parts.scenario import Scenario


@dataclass(frozen=True)
class Results:
    """A profile, and the model whose steps are looked at."""

    profile: live.Profile
    model: cm.Model

    @cached_property
    def steps(self) -> pd.DataFrame:
        """Whole steps of the model that were measured, as ``live.steps`` has them; empty for another model's."""
        return live.steps(self.profile, self.model)

    @cached_property
    def operations(self) -> pd.DataFrame:
        """Its matrix multiplies at the fewest and the most rows that were measured."""
        rows = sorted({point.shape["m"] for point in self.profile.of("matmul")})
        return measured_operations(self.profile, self.model, rows[:1] + rows[1:][-1:])


def measured(scenario: Scenario, profile: live.Profile) -> Scenario:
    """The scenario on the measured device, whichever source answers on the other pages."""
    return replace(
        scenario.without_what_if(),
        hardware=profile.hardware,
        precision=as_measured(profile),
        tensor_parallel=1,
        rates=profile.rates,
        source="live",
        measured=live_rates.described(profile),
    )


def show(results: Results) -> None:
    """All that was measured, from the key numbers to the single multiply."""
    profile = results.profile
    components.figures(words.figures(profile))
    for sentence in words.about(profile):
        components.note(sentence)
    components.section("Whole steps", "One block measured, times their number, and the modelled head; or all of it.")
    if len(results.steps):
        words.steps(results.steps).draw()
    else:
        components.note(f"No whole step of {results.model.name} is in this profile: measure with it to see some.")
    components.section("The rates that were fitted", "These price every page while live is the source.")
    words.fits(profile).draw()
    if len(results.operations):
        components.section("Single multiplies", "The model's own matrices, a launch each.")
        words.operations(results.operations).draw()
