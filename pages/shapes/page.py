import streamlit as st
from costmodel.shapes import Shape, layer_kinds
from pages.parts import controls
from pages.parts.components import top, Ink
from pages.shapes import drawing, pictures
s = controls.scenario()
top(s, "Prefill sends ", Ink("six rows", "prefill", True), " through the block, decode sends ", Ink("one","decode",True), ". Each computes as many new keys and values as it has rows: 6 and 1.")
layer=layer_kinds(s.model)[0][0]
n = int(st.query_params.get("n", 6)); r=int(st.query_params.get("r", 1))
a=Shape(layer, s.model.hidden, n, 0); b=Shape(layer, s.model.hidden, r, n-r)
equal = "equal" in st.query_params
drawing.step(key="k", data={"words": pictures.SENTENCE[:n] if n<=16 else [], "equal": equal, "alt":"alt", "panels":[{"title":"Prefill","note":f"{n} rows, {n} new keys and values", **pictures.sentence_panel(a)},
  {"title":"Decode","note":f"{r} row, 1 new key and value, {n-r} cached", **pictures.sentence_panel(b)}]})
