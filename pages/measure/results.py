"""What a profile says of a model: measured points beside the floor and the estimate, and the rates between them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import pandas as pd

import costmodel as cm
import live
from live.compare import as_measured, measured_operations
from pages.measure import charts, frames, words
from pages.parts import chart, components, live_rates, prose
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
        rows = sorted({int(point.shape["m"]) for point in self.profile.of("matmul")})
        return measured_operations(self.profile, self.model, rows[:1] + rows[1:][-1:])

    @cached_property
    def residuals(self) -> pd.DataFrame:
        """All points that a rate was fitted to, as launched when the rates speak, with a sentence for each."""
        table = live.residuals(self.profile)
        if table.empty:  # nothing was fitted
            return pd.DataFrame(columns=["operation", "flops", "said"])
        table = table[table["mode"] == self.profile.modes[-1]]
        said = table.operation.str.replace("_", " ") + ", " + table["shape"].str.replace("_", " ")
        return table.assign(said=said)

    @cached_property
    def decode_attention(self) -> pd.DataFrame:
        """Those of decode attention, with the cached tokens that each reads."""
        table = self.residuals[self.residuals.operation == "attention_decode"]
        sizes = [(p.shape["batch"] * p.shape["kv_len"]) for p in self.profile.of("attention_decode")]
        return table.assign(cached=sizes) if len(sizes) == len(table) else table.iloc[:0]


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
        published=profile.row is not None,
    )


def picture(results: Results) -> None:
    """Measured steps on the post's axes, where this model's were measured."""
    if len(results.steps):
        data = frames.time_data(results.profile, results.model, results.steps)
        alt = words.time_alt(results.profile, results.steps)
        chart.draw(charts.time_spec(), data, key="measure_time", alt=alt, title="Measured steps against their tokens")


def show(results: Results) -> None:
    """All that was measured, from the key numbers to the single multiply."""
    profile = results.profile
    with prose.together():
        components.figures(words.figures(profile))
        for sentence in words.about(profile):
            components.note(sentence)
        _steps(results)
        components.section("The rates that were fitted", "These price every page while live is the source.")
        if profile.fits:
            words.fits(profile).draw()
        else:
            components.note("Too few points to fit any: what is published answers instead.")
    _under_the_roof(results)
    _over_context(results)
    if len(results.operations):
        with prose.together():
            components.section("Single multiplies", "The model's own matrices, a launch each.")
            words.operations(results.operations).draw()


def _steps(results: Results) -> None:
    components.section("Whole steps", "One block measured, times their number, and the modelled head; or all of it.")
    if len(results.steps):
        words.steps(results.steps).draw()
    else:
        components.note(f"No whole step of {results.model.name} is in this profile: measure with it to see some.")


def _under_the_roof(results: Results) -> None:
    hw, dtype = results.profile.hardware, results.profile.dtype
    if results.residuals.flops.gt(0).any():
        components.section("Under the roof", "What each measured kernel reached, against the work that it does a byte.")
        data = frames.roof_data(results.residuals, hw.bandwidth, hw.peak[dtype])
        alt = words.roof_alt(results.profile)
        chart.draw(charts.roof_spec(), data, key="measure_roof", alt=alt, title="Measured kernels under the roof")


def _over_context(results: Results) -> None:
    table = results.decode_attention
    if len(table):
        components.section("Decode attention against context", "One layer: it reads every cached token once.")
        data = frames.context_data(table, results.profile.hardware.bandwidth)
        alt, title = words.context_alt(table), "Decode attention against context"
        chart.draw(charts.context_spec(), data, key="measure_context", alt=alt, title=title)
