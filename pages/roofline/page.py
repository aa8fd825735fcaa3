import streamlit as st
from pages.parts import controls
from pages.parts.components import top, Ink
s = controls.scenario()
top(s, "Hello ", Ink("356", "memory", True))
controls.slider("batch", "Sequences decoding, B")
controls.slider("prompt", "Prompt, tokens")
controls.slider("context", "Context of each, tokens")
controls.switch("count", "Count the caches", "weights", "attention")
st.write(s)
