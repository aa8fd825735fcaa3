"""The same pages for an audience and on paper: no sidebar, no controls; on a screen in large type.

``present=on`` in the URL shows the presentation view. Everything in it grows together (a scaled box), pictures with
their labels included, so that what keeps labels apart on a desk keeps them apart on a wall. Printing takes the same
things away, and lets the page run on over its sheets.
"""

from __future__ import annotations

import streamlit as st

from pages.parts import state

_WIDGETS = (
    *("Slider", "Selectbox", "Checkbox", "ButtonGroup", "Button", "DownloadButton", "FileUploader", "NumberInput"),
    *("TextInput", "TextArea", "Form", "Popover", "Radio", "MultiSelect", "Tabs", "Caption"),
)
_CONTROLS = ", ".join(f".st{name}" for name in _WIDGETS)
_SHOWS = ".stHtml > :not(.sc-asks, style), .stVegaLiteChart, .stBidiComponent, .stMarkdown, .stImage"
_HIDDEN = f"""
.stSidebar, .stAppHeader, .stApp form.vega-bindings, .stMain [class*="_question_"], .st-key-share_corner,
.st-key-transport,
.stMain :is({_CONTROLS}), .stMain .stElementContainer:has(> :is({_CONTROLS}), > .stHtml > .sc-asks),
.stMain .sc-prose > :has(> .sc-asks),
.stMain [data-testid=stLayoutWrapper]:not(:has({_SHOWS})) {{display: none !important;}}
"""

# Streamlit measures a chart's box on the screen, after the scaling, and then draws in the units before it: the box is
# made narrower by as much, and the picture fills the place that the box had.
_STAGE = f"""
{_HIDDEN}
.sc-leave {{position: fixed; right: 1rem; bottom: .8rem; z-index: 10; font: inherit; font-size: .8125rem;
  color: var(--muted); background: var(--paper); border: 1px solid var(--rule); border-radius: 4px;
  padding: .2rem .6rem; cursor: pointer;}}
.sc-leave:hover, .sc-leave:focus-visible {{color: var(--ink); border-color: var(--ink);}}
.st-key-leave {{position: absolute;}}
.stMain .stExpander:not(:has(.stVegaLiteChart)), .stMain .stExpander summary,
.stMain .stElementContainer:has(> .stHtml > .sc-folded), .stMain .sc-prose > :has(> .sc-folded) {{
  display: none;}}
.stMain .stExpander details {{border: 0;}}
.stMainBlockContainer {{padding: 1.4rem 2.2rem 2rem !important;}}
.sc-headline {{font-size: 2rem;}}
.sc-note {{font-size: 1rem;}}
.sc-context {{padding-right: 0;}}
.stMain {{overflow-x: hidden;}}
.stElementContainer:has(.stVegaLiteChart) {{width: calc(100% / var(--larger)) !important;}}
.stMainBlockContainer {{--larger: 1; width: calc(100vw / var(--larger)) !important; max-width: none !important;
  align-self: flex-start; transform-origin: 0 0; transform: scale(var(--larger));}}
@media (min-width: 1200px) {{.stMainBlockContainer {{--larger: 1.2;}}}}
@media (min-width: 1400px) {{.stMainBlockContainer {{--larger: 1.35;}}}}
@media (min-width: 1600px) {{.stMainBlockContainer {{--larger: 1.5;}}}}
@media (min-width: 1900px) {{.stMainBlockContainer {{--larger: 1.75;}}}}
@media (min-width: 2500px) {{.stMainBlockContainer {{--larger: 2.3;}}}}
"""

_PAPER = f"""
@page {{margin: 14mm 12mm;}}
@media print {{
{_HIDDEN}
.sc-leave {{display: none;}}
html, body, .stApp, .stAppViewContainer, .stMain, .stMain > div {{position: static !important; height: auto !important;
  overflow: visible !important; background: none !important;}}
.stApp {{color-scheme: light !important;}}
.stMainBlockContainer {{padding: 0 !important; max-width: none !important; width: auto !important;
  transform: none !important;}}
.stMain :is(.sc-headline, .sc-section, h2) {{break-after: avoid;}}
.stMain :is(.stVegaLiteChart, .stBidiComponent, .sc-figures, tr) {{break-inside: avoid;}}
.stVegaLiteChart :is(svg, canvas) {{max-width: 100%; height: auto;}}
.stVegaLiteChart svg {{background: none !important;}}
.stVegaLiteChart svg > :is(rect, g.background) {{fill: none;}}
.stVegaLiteChart, .stBidiComponent {{max-width: 100%; overflow: hidden;}}
.sc-scroll {{overflow: visible;}}
.sc-figures dd {{font-size: 1.15rem;}}
.sc-table {{font-size: .75rem;}}
.sc-table :is(th, td) {{white-space: normal; padding: .3rem .35rem;}}
.stExpander details, .sc-folded {{border: 0;}}
.stExpander summary * {{color: var(--ink) !important;}}
.stMain details::details-content {{content-visibility: visible; height: auto;}}
.sc-folded button {{display: none;}}
}}
"""
_DARK = "@media print {.stVegaLiteChart {filter: invert(1) hue-rotate(180deg);}}"

# The button stands outside the box that is scaled, where it can keep to the corner of the window.
_leave = st.components.v2.component(
    "leave_presentation",
    html="<span></span>",
    css="span {display: none}\n",
    js="""
export default function ({ parentElement, setTriggerValue }) {
  const leave = () => setTriggerValue("left", true);
  const escape = (event) => { if (event.key === "Escape") leave(); };
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = "Leave presentation";
  button.className = "sc-leave";
  button.onclick = leave;
  document.querySelector(".stApp").append(button);
  document.addEventListener("keydown", escape);
  return () => {
    button.remove();
    document.removeEventListener("keydown", escape);
  };
}
""",
)


def on() -> bool:
    """Whether the page is shown to an audience."""
    return bool(state.value("present") == "on")


def offer() -> None:
    """A small button that opens the presentation view; the last thing in the sidebar."""
    st.button(
        "Presentation view",
        key="present_button",
        on_click=state.put,
        kwargs={"present": "on"},
        type="tertiary",
        help="Large type, no controls. Escape leaves it.",
    )


def sheet() -> str:
    """Rules of the style sheet for an audience, if the page has one, and for paper."""
    dark = _DARK if st.context.theme.type == "dark" else ""
    return f"{_PAPER}{dark}{_STAGE if on() else ''}"


def exit_button() -> None:
    """The way out of the presentation view, where the page is in it."""
    if on():
        _leave(key="leave", on_left_change=lambda: state.put(present="off"))
