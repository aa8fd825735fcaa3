"""The way into the pages: a line each, with a number of the current scenario, in the order of the post."""

from __future__ import annotations

import html

import streamlit as st
from streamlit.navigation.page import StreamlitPage

from pages.overview import words
from pages.overview.numbers import Overview
from pages.parts import shell, state
from pages.parts.components import markup
from pages.parts.format import Quantity

STYLE = """
.st-key-leads {gap: 0;}
.st-key-leads > div {border-top: 1px solid var(--rule); padding: .55rem 0;}
.st-key-leads > div > div {flex-wrap: nowrap;}
.st-key-leads .stPageLink a {padding: 0; background: none;}
.st-key-leads .stPageLink p {font-family: "Source Serif", serif; font-size: 1.15rem; font-weight: 500;
  text-decoration: underline; text-decoration-color: var(--muted); text-decoration-thickness: 1px;
  text-underline-offset: .25em;}
.st-key-leads .stPageLink a:hover p {text-decoration-color: var(--ink);}
.sc-lead {display: grid; grid-template-columns: minmax(0, 1fr) 13rem; gap: .2rem 1.6rem; align-items: center;}
.sc-lead p {margin: 0; font-size: .9375rem; color: var(--muted); text-wrap: pretty;}
.sc-lead .figure {font-size: 1.45rem; line-height: 1.2; text-align: right; color: var(--ink);}
.sc-lead small {font-size: .8125rem; color: var(--muted);}
.sc-lead .figure > small {display: block;}
@media (max-width: 640px) {
  .st-key-leads > div {padding: .8rem 0;}
  .st-key-leads > div > div {flex-wrap: wrap; gap: .3rem;}
  .sc-lead {grid-template-columns: minmax(0, 1fr) minmax(0, 7rem);}
}
"""


def draw(o: Overview) -> None:
    """A line for each page that there is, besides this one; those that nobody wrote a line for come last."""
    pages = {page.url_path: page for page in shell.pages() if page.url_path}
    order = [path for path in words.LEADS if path in pages]
    with st.container(key="leads"):
        for path in [*order, *(path for path in pages if path not in order)]:
            _line(o, path, pages[path])


def _line(o: Overview, path: str, page: StreamlitPage) -> None:
    with st.container(horizontal=True, vertical_alignment="center", key=f"lead_{path}"):
        st.page_link(page, label=page.title, width=130, query_params=state.address())
        if path in words.LEADS:
            lead = words.LEADS[path](o)
            figure = f'<p class="figure">{_number(lead)} <small>{markup(lead.what)}</small></p>'
            st.html(f'<div class="sc sc-lead"><p>{markup(lead.about)}</p>{figure}</div>')


def _number(lead: words.Lead) -> str:
    number = lead.figure if isinstance(lead.figure, Quantity) else Quantity(lead.figure, "")
    unit = f" <small>{html.escape(number.unit)}</small>" if number.unit else ""
    return f'<span class="{lead.meaning}">{html.escape(number.value)}{unit}</span>'
