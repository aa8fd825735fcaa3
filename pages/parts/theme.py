"""The look, said once: the five meanings, their colours in prose, and the configuration of every chart.

In charts a colour is a *name*. Every chart uses one nominal scale over ``MEANINGS``; Streamlit fills it in the browser
from ``chartCategoricalColors`` of the theme, so that a switch between light and dark needs no rerun. In prose the same
names are CSS variables on ``.stApp``.
"""

from __future__ import annotations

from typing import Any, Literal

import streamlit as st

Meaning = Literal[
    "memory", "compute", "prefill", "decode", "cached", "ink", "muted", "paper", "rule", "prefill text", "decode text"
]
MEANINGS: tuple[Meaning, ...] = (
    "memory", "compute", "prefill", "decode", "cached", "ink", "muted", "paper", "rule", "prefill text", "decode text",
)  # fmt: skip

WIDTH = 1180  # px of content at most

# Texts are a little darker (lighter on dark paper) than fills where a fill alone would be too faint to read.
PROSE: dict[str, tuple[str, str]] = {  # name: (light, dark)
    "memory": ("#3A5BB0", "#8FAEF6"),
    "compute": ("#A8410F", "#F08A52"),
    "prefill": ("#8A6100", "#FAC63E"),
    "decode": ("#067A6D", "#80E5D7"),
    "cached": ("#646B73", "#9AA1A9"),
    "muted": ("#646B73", "#9AA1A9"),
    "ink": ("#1F2226", "#E9E7E2"),
    "rule": ("#DEDBD3", "#33383E"),
    "paper": ("#FDFCFA", "#15171A"),
}
FILLS: dict[str, tuple[str, str]] = {
    "memory": ("#3A5BB0", "#7599F1"),
    "compute": ("#B0451A", "#E07033"),
    "prefill": ("#EBB02A", "#FAC63E"),
    "decode": ("#0AA392", "#80E5D7"),
    "cached": ("#C4C9CE", "#4F565C"),
}

CHART_CONFIG: dict[str, Any] = {
    "view": {"stroke": None},
    "legend": {"disable": True},
    "axis": {
        "grid": False,
        "labelFontSize": 13,
        "titleFontSize": 13,
        "titleFontWeight": "normal",
        "labelFontWeight": "normal",
        "labelPadding": 6,
        "titlePadding": 10,
        "domainWidth": 1,
        "tickWidth": 1,
        "tickSize": 5,
    },
    "text": {"fontSize": 14},
    "line": {"strokeCap": "round", "strokeJoin": "round"},
}


def apply(more: str = "") -> None:
    """Put the style sheet of the app, and ``more`` rules, into the page; once a run, before anything is drawn."""
    st.html(f"<style>{_VARIABLES}{_SHEET}{more}</style>")


_VARIABLES = (
    ".stApp{"
    + "".join(f"--{name}:light-dark({light},{dark});" for name, (light, dark) in PROSE.items())
    + "".join(f"--{name}-fill:light-dark({light},{dark});" for name, (light, dark) in FILLS.items())
    + "}"
)

_ROW = ':is([class*="st-key-"][class*="_question_"], [class*="st-key-remedy_"])'  # a sentence that is a button
_SHEET = f"""
.stMainBlockContainer {{max-width: calc({WIDTH}px + 4.8rem); padding: 4.2rem 2.4rem 5rem;}}
.stSidebar [data-testid=stSidebarUserContent] {{padding-top: .5rem;}}
.sc {{color: var(--ink);}}
.sc-prose {{display: flex; flex-direction: column; gap: 1rem;}}
.sc b, .sc strong {{font-weight: 600;}}
.memory {{color: var(--memory);}} .compute {{color: var(--compute);}} .prefill {{color: var(--prefill);}}
.decode {{color: var(--decode);}} .cached, .muted {{color: var(--muted);}} .ink {{color: var(--ink);}}
.sc-context {{font-size: .875rem; line-height: 1.75; color: var(--muted); word-spacing: .05em;}}
.sc-badge {{display: inline-block; line-height: 1.4; margin-right: .4rem; border: 1px solid var(--ink);
  border-radius: 4px; color: var(--ink); padding: .05rem .45rem;
  white-space: nowrap;}}
.sc-headline {{font-family: "Source Serif", serif; font-size: 1.75rem; line-height: 1.25; text-wrap: pretty;
  margin: .45rem 0 .2rem; overflow-wrap: anywhere;
  font-weight: 400; letter-spacing: 0; padding: 0;}}
.sc-headline b {{font-weight: 600; white-space: nowrap;}}
.sc-caption {{font-size: .875rem; border-top: 1px solid var(--rule); padding-top: .8rem; margin-top: .4rem;}}
.sc-later {{font-size: .9375rem; margin: -.6rem 0 0 .2rem;}}
{_ROW} button {{justify-content: start; padding: .1rem 0;}}
{_ROW} button :not(strong) {{width: 100%;}}
{_ROW} p {{display: flex; flex-wrap: wrap; align-items: center;
  gap: .3rem 1rem; text-align: left; font-size: 1rem;}}
{_ROW} strong {{font-weight: 400; margin-left: auto;
  border: 1px solid var(--rule); border-radius: 4px; padding: .35rem .8rem;}}
{_ROW} button:is(:hover, :focus-visible) strong {{
  border-color: var(--ink);}}
.sc-note {{color: var(--muted); font-size: .875rem; margin: 0; max-width: 60rem; overflow-wrap: anywhere;}}
.sc-lines {{min-height: calc(1lh * var(--lines));}}
.sc-section {{font-family: "Source Serif", serif; font-weight: 500; font-size: 1.3rem; margin: 1.6rem 0 .1rem;}}
.sc-figures {{display: grid; grid-template-columns: repeat(auto-fit, minmax(7rem, 1fr)); gap: .9rem 1.2rem;
  border-top: 1px solid var(--ink); border-bottom: 1px solid var(--rule); padding: .8rem 0 .9rem !important;
  margin: .4rem 0;}}
.sc-figures > div {{margin: 0;}}
.sc-figures dt {{margin: 0; color: var(--muted); font-size: .8125rem;}}
.sc-figures dd {{margin: .15rem 0 0 !important; font-size: 1.45rem; line-height: 1.2; white-space: nowrap;}}
.sc-figures small {{font-size: .8125rem; color: var(--muted);}}
.sc-sums {{display: grid; grid-template-columns: max-content minmax(0, 1fr) auto minmax(max-content, 16rem);
  gap: .35rem 1.4rem; font-size: .9375rem; align-items: baseline;}}
.sc-sums .name, .sc-sums .eq {{color: var(--muted);}}
.sc-sums .gap {{grid-column: 1 / -1; height: .35rem;}}
.sc-sums .result {{overflow-wrap: anywhere;}}
.sc-folded {{border: 1px solid var(--rule); border-radius: 4px;}}
.sc-folded summary {{display: flex; align-items: center; gap: .7rem; min-height: 2.375rem; padding: .25rem .9rem;
  font-size: .9375rem; cursor: pointer; border-radius: 4px; list-style: none; overflow-wrap: anywhere;}}
.sc-folded summary::-webkit-details-marker {{display: none;}}
.sc-folded summary::before {{content: ""; flex: none; width: .42rem; height: .42rem; border: solid currentColor;
  border-width: 1.5px 1.5px 0 0; transform: rotate(45deg);}}
.sc-folded[open] summary::before {{transform: translateY(-.12rem) rotate(135deg);}}
.sc-folded summary:hover {{background: color-mix(in srgb, var(--ink) 5%, transparent);}}
.sc-folded summary:focus-visible {{outline: 2px solid var(--ink); outline-offset: -2px;}}
.sc-folded [data-text] {{padding: 1rem 1rem .9rem;}}
.sc-folded button {{font: inherit; font-size: .875rem; color: var(--ink); background: transparent; cursor: pointer;
  border: 1px solid var(--rule); border-radius: 4px; padding: .25rem .7rem; margin: 0 1rem 1rem;}}
.sc-folded button:hover, .sc-folded button:focus-visible {{border-color: var(--ink);}}
.sc-scroll {{overflow-x: auto;}}
.sc-scroll:focus-visible {{outline: 2px solid var(--ink); outline-offset: 2px;}}
.sc-table {{border-collapse: collapse; width: 100%; font-size: .9375rem; font-variant-numeric: tabular-nums;
  border-top: 1px solid var(--ink); border-bottom: 1px solid var(--ink);}}
.sc-table th {{color: var(--muted); font-weight: 400; font-size: .8125rem; padding: .5rem .6rem;}}
.sc-table td {{padding: .42rem .6rem;}}
.sc-table th, .sc-table td {{text-align: right; white-space: nowrap;}}
.sc-table th:first-child, .sc-table td:first-child {{text-align: left; padding-left: 0;}}
.sc-table th:last-child, .sc-table td:last-child {{padding-right: .2rem;}}
.sc-table .left {{text-align: left;}}
[class*=st-key-reasons] td:last-child, [class*=st-key-reasons] th:last-child {{text-align: left;}}
[class*=st-key-reasons] td {{vertical-align: top;}}
[class*=st-key-reasons] td:nth-child(2), [class*=st-key-reasons] td:nth-child(3) {{white-space: normal;
  max-width: 13rem;}}
[class*=st-key-reasons] td:last-child {{white-space: normal; color: var(--muted); min-width: 15rem;}}
.st-key-league_table .sc-table th, .st-key-league_table .sc-table td {{padding-left: .3rem; padding-right: .3rem;}}
.sc-table thead tr, .sc-table tbody.total tr {{border-bottom: 1px solid var(--rule);}}
.sc-table tbody.total tr:first-child {{border-top: 1px solid var(--rule);}}
.sc-table tbody.total td {{font-weight: 600; padding-top: calc(.42rem - 1px);}} /* as high as other rows */
.sc-bar {{display: inline-block; vertical-align: middle; width: 5.6rem; height: .55rem; background: var(--rule);
  margin-left: .5rem; text-align: left;}}
.sc-bar i {{display: block; height: 100%; background: currentColor;}}
.sc-notice {{border-left: 3px solid var(--ink); padding: .3rem .8rem; font-size: .9375rem; overflow-wrap: anywhere;
  background: color-mix(in srgb, var(--ink) 5%, transparent);}}
.sc-notice p {{margin: .1rem 0;}}
.stApp svg.marks text[stroke] {{paint-order: stroke;}} /* a label's halo goes behind its letters */
.stApp form.vega-bindings {{display: flex; flex-flow: row wrap; gap: .2rem 2.4rem; margin: -.5rem 0 0;}}
.stApp form.vega-bindings .vega-bind {{width: auto;}}
.stApp form.vega-bindings .vega-bind label > span:last-child {{min-width: 2.4rem;}}
.stApp form.vega-bindings input[type=range] {{width: 12rem; max-width: 44vw;}}
.stApp form.vega-bindings .vega-bind-name {{min-width: 0;}}
div:has(> .st-key-share_corner) {{height: 0; margin-bottom: -1rem; z-index: 2;}}
.st-key-share_corner .st-key-share {{margin-left: auto;}}
.st-key-share button {{min-height: 1.75rem; padding: .1rem .55rem; font-size: .875rem;}}
.sc-context {{padding-right: 5.5rem;}}
div:has(> .st-key-share_corner) + * .sc-notice {{margin-right: 5.5rem;}}
[data-testid=stPopoverBody] {{width: min(27rem, 94vw); padding: .9rem 1.1rem 1.2rem;
  --ink: currentColor; --muted: color-mix(in srgb, currentColor 70%, transparent);
  --rule: color-mix(in srgb, currentColor 18%, transparent);}}
[data-testid=stPopoverBody]:has([class*="st-key-remedy_"]) {{width: min(54rem, 94vw); max-width: none;}}
[data-testid=stPopoverBody] [data-testid=stVerticalBlock] {{gap: .45rem;}}
[data-testid=stPopoverBody] .sc-caption {{margin-top: .35rem; padding-top: .6rem;}}
[data-testid=stPopoverBody] .st-key-share_first .sc-caption {{border-top: 0; margin: 0; padding: 0;}}
[data-testid=stPopoverBody] .stDownloadButton button {{min-height: 1.6rem; padding: .1rem .55rem; font-size: .8125rem;}}
.sc-code {{max-height: 9rem; overflow: auto; margin: 0; padding: .5rem .7rem; font-size: .8125rem; line-height: 1.45;
  border: 1px solid var(--rule); border-radius: 4px; white-space: pre;}}
.st-key-roof form.vega-bindings {{display: none;}}
.st-key-what_if, .st-key-ride_along, .st-key-companion, .st-key-lost, [class*=st-key-keep_address],
.st-key-dismiss_page_not_found {{position: absolute;}}
.stApp [data-testid=stCaptionContainer] {{opacity: 1;}}
.stApp [data-testid=stCaptionContainer] p {{color: var(--muted);}}
.stApp button[kind=primary] p {{color: var(--paper);}}
.stApp a:focus-visible {{outline: 2px solid var(--ink); outline-offset: 3px; border-radius: 2px;}}
.stMain:focus-visible {{outline: 1px solid var(--muted); outline-offset: -3px;}}
@media (max-width: 640px) {{
  .stMainBlockContainer {{padding: 4.4rem 1rem 3rem;}}
  .sc-table .wide {{display: none;}}
  .sc-table th, .sc-table td {{padding-left: .3rem; padding-right: .3rem;}}
  .sc-table td:first-child {{white-space: normal;}}
  [class*=st-key-reasons] tr {{display: grid; grid-template-columns: 1.5fr 1fr 1fr 1fr;}}
  [class*=st-key-reasons] td {{white-space: normal;}}
  [class*=st-key-reasons] td:last-child {{grid-column: 1 / -1; padding: 0 0 .5rem;}}
  [class*=st-key-reasons] th:last-child {{display: none;}}
  .sc-headline {{font-size: 1.3125rem;}}
  .sc-lines {{min-height: calc(2lh * var(--lines));}}
  .sc-figures {{grid-template-columns: repeat(auto-fit, minmax(5.6rem, 1fr));}}
  .sc-figures dd {{font-size: 1.2rem;}}
  .sc-sums {{grid-template-columns: auto minmax(0, 1fr); gap: .1rem .6rem;}}
  .sc-sums .name, .sc-sums .expression {{grid-column: 1 / -1;}}
  .sc-sums .name {{margin-top: .45rem;}}
  .sc-bar {{width: 2.6rem;}}
  {_ROW} strong {{margin-left: 0;}}
}}
"""
