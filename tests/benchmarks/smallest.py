"""An app of one slider and five charts and nothing else: what a move takes in it tells how fast a machine is."""

import numpy as np
import pandas as pd
import streamlit as st

ENCODING = {axis: {"field": axis, "type": "quantitative"} for axis in "xy"}
SPEC = {"mark": "line", "encoding": ENCODING, "data": {"name": "curve"}}

steepness = st.slider("Steepness", 0, 100, 5, key="steepness")
x = np.arange(200)
for number in range(5):
    curve = pd.DataFrame({"x": x, "y": x * (steepness + number)})
    st.vega_lite_chart({**SPEC, "datasets": {"curve": curve}}, key=f"chart_{number}")
