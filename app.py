"""The dashboard: the pages there are, the sidebar they share, and the one that is looked at."""

import streamlit as st

from pages.parts import shell

st.set_page_config(page_title="Stepcost", page_icon="assets/icon.svg", layout="wide")
shell.run(
    [
        st.Page("pages/overview/page.py", title="Overview", default=True),
        st.Page("pages/roofline/page.py", title="Roofline", url_path="roofline"),
        st.Page("pages/shapes/page.py", title="Shapes", url_path="shapes"),
        st.Page("pages/batching/page.py", title="Batching", url_path="batching"),
        st.Page("pages/scheduler/page.py", title="Scheduler", url_path="scheduler"),
        st.Page("pages/memory/page.py", title="Memory", url_path="memory"),
        st.Page("pages/model/page.py", title="Model", url_path="model"),
        st.Page("pages/compare/page.py", title="Compare", url_path="compare"),
        st.Page("pages/measure/page.py", title="Measure", url_path="measure"),
        st.Page("pages/accuracy/page.py", title="Accuracy", url_path="accuracy"),
    ]
)
