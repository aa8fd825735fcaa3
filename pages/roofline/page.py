import streamlit as st
from pages.parts import controls, chart, dragging
from pages.parts.components import top, Ink
from pages.roofline import charts
from pages.roofline.numbers import Roofline
from pages.parts import state
s = controls.scenario()
r=Roofline(s, state.value("batch"), state.value("prompt"), state.value("context"), state.value("count"))
top(s, "Hello ", Ink("356", "memory", True))
chart.draw(charts.time_spec(), {"frame":r.frame(),"curve":r.curves(),"marks":r.marks()}, key="time", alt="x")
dragging.bridge(["time"])
controls.slider("batch", "Sequences decoding, B")
controls.slider("prompt", "Prompt, tokens")
controls.slider("context", "Context of each, tokens")
controls.switch("count", "Count the caches", "weights", "attention")
