"""The Measure page: measure this machine with the model's shapes, and what came of it beside floor and estimate."""

import streamlit as st

from pages.measure import asking, files, snippet, words
from pages.measure.results import Results, measured, picture, show
from pages.parts import components, controls, live_rates, offers, state

scenario = controls.scenario()
profile = live_rates.profile()
# What has a place of its own stays what it is when more comes before it: a file that is on its way arrives.
measuring, profiles = st.container(), st.container()

with measuring:
    components.top(measured(scenario, profile) if profile else scenario, *words.headline(profile))

    results = Results(profile, scenario.model) if profile else None
    if results is not None:
        picture(results)

    asking.ask(scenario.model, profile)

    if results is not None:
        asking.offer_to_speak(scenario, results.profile)
        show(results)
        found = results.profile
        offers.python(lambda: snippet.code(found, measured(scenario, found), state.own_model()))

with profiles:
    files.exchange(profile)
