"""Pieces of a page, from top to bottom: badge, headline, figures, derivation, table, questions.

Text is made of parts: a plain string, or ``Ink(text, meaning)`` for words in one of the five colours. All of it is
escaped here, so a name with HTML in it is shown as it is written; only ``Html`` passes as markup.
"""

from __future__ import annotations

import html
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import streamlit as st

from pages.parts import borrowed, folded, offers, prose, spreadsheet, state
from pages.parts.copying import COPY
from pages.parts.format import Number, Quantity
from pages.parts.scenario import Scenario


@dataclass(frozen=True)
class Ink:
    """Words in the colour of a meaning ("" for plain ink); ``strong`` for the numbers of a headline."""

    text: object
    meaning: str = ""
    strong: bool = False


@dataclass(frozen=True)
class Html:
    """Markup that the code wrote itself, never text from a user or a catalogue. ``said``: its place in bare text."""

    markup: str
    said: str = ""


BREAK = Html("<br>", ": ")
"""A new line between a name and what is said of it."""


Part = str | Quantity | Ink | Html
Text = Part | Sequence[Part]


def markup(text: Text) -> str:
    """HTML of a text, escaped."""
    if isinstance(text, (str, Quantity)):
        return html.escape(str(text))
    if isinstance(text, Html):
        return text.markup
    if isinstance(text, Ink):
        tag = "b" if text.strong else "span"
        return f'<{tag} class="{html.escape(text.meaning)}">{html.escape(str(text.text))}</{tag}>'
    return "".join(markup(part) for part in text)


def plain(text: Text) -> str:
    """The words of a text alone, for alt texts and copying."""
    if isinstance(text, (str, Quantity)):
        return str(text)
    if isinstance(text, Ink):
        return str(text.text)
    return text.said if isinstance(text, Html) else "".join(plain(part) for part in text)


def numbers(text: Text) -> list[Quantity | Number]:
    """The numbers that a text is made of, if it is made of nothing else but what stands in brackets."""
    if isinstance(text, Ink):
        text = text.text  # type: ignore[assignment]  # it is written out as a text would be
    if isinstance(text, (Quantity, Number)):
        return [text] if text.raw is not None and math.isfinite(text.raw) else []
    if isinstance(text, (str, Html)) or not isinstance(text, Sequence):
        return []
    parts = [part for part in text if not re.fullmatch(r"\s*(\(.*\))?\s*", plain(part))]
    found = [numbers(part) for part in parts]
    return [number for one in found for number in one] if all(found) else []


def caption(text: Text) -> None:
    """A muted word above a group of controls."""
    prose.put(f'<div class="sc sc-caption muted">{markup(text)}</div>')


def note(text: Text, *, lines: int = 0) -> None:
    """A muted sentence. ``lines``: as many as it may come to on a wide page; what is below it does not move then."""
    prose.put(f"<p {_kept_free('sc sc-note', lines)}>{markup(text)}</p>")


def _kept_free(classes: str, lines: int) -> str:
    """Attributes of a text that has the place of so many lines, of twice as many on a phone; 0: of its own."""
    return f'class="{classes} sc-lines" style="--lines: {lines}"' if lines else f'class="{classes}"'


def complaint(text: Text) -> None:
    """One sentence about what is wrong and what to change."""
    prose.put(f'<div class="sc sc-notice" role="alert"><p>{markup(text)}</p></div>')


def section(title: str, text: Text = "", *, asks: bool = False) -> None:
    """A heading, and the sentence that says what follows. ``asks``: only controls, nothing to show to an audience."""
    offers.current().section = title
    kind = " sc-asks" if asks else ""
    below = f'<p class="sc sc-note{kind}">{markup(text)}</p>' if text else ""
    prose.put(f'<h2 class="sc sc-section{kind}">{markup(title)}</h2>{below}')


_BADGES = {
    "datasheet": ("○", "a floor, nothing measured"),
    "calibrated": ("◐", "an estimate, fitted to published measurements"),
    "live": ("●", "measured on this machine"),
}


def top(scenario: Scenario, *headline: Part, context: str = "", lines: int = 0) -> None:
    """How a page opens: notices, the badge of the source that speaks, and the sentence of numbers.

    ``lines``: as many as the sentence may come to, as in ``note``.
    """
    for sentence in state.notices():
        complaint(sentence)
    sign, what = _BADGES[scenario.source]
    badge = f'<span class="sc-badge">{sign} {scenario.source}</span>'
    whose = borrowed.of_scenario(scenario) if scenario.source == "calibrated" else ""
    said = [context or scenario.measured or ", ".join(part for part in (what, whose) if part), scenario.label]
    line = " <span>·</span>".join(f" <span>{markup(text)}</span>" for text in [*said, *_unpublished(scenario)])
    sentence = f"<h1 {_kept_free('sc sc-headline', lines)}>{markup(headline)}</h1>"
    prose.put(f'<div class="sc sc-context">{badge}{line}</div>{sentence}')


def _unpublished(scenario: Scenario) -> list[str]:
    """What floors of a machine without a datasheet are, on every page that speaks of one."""
    what = "floors are made of the best bandwidth and multiply that were measured, and are no bounds"
    return [] if scenario.published else [f"no datasheet: {what}"]


@dataclass(frozen=True)
class Figure:
    """A key number: what it is, the number, and its meaning."""

    name: Text
    value: Quantity | str
    meaning: str = ""


def figures(row: Iterable[Figure]) -> None:
    """Key numbers in a row under an ink rule."""
    prose.put(f'<dl class="sc sc-figures">{"".join(_figure(figure) for figure in row)}</dl>')


def _figure(figure: Figure) -> str:
    value = figure.value if isinstance(figure.value, Quantity) else Quantity(figure.value, "")
    unit = f" <small>{html.escape(value.unit)}</small>" if value.unit else ""
    number = f'<dd class="{figure.meaning}">{html.escape(value.value)}{unit}</dd>'
    return f"<div><dt>{markup(figure.name)}</dt>{number}</div>"


@dataclass(frozen=True)
class Line:
    """One line of a derivation: name, expression with the values put in, result. ``gap`` opens a new group."""

    name: str
    expression: Text
    result: Text
    gap: bool = False


def derivation(lines: Sequence[Line], *, key: str, title: str = "Show the arithmetic") -> None:
    """The arithmetic behind the page's numbers, folded away, as text that can be selected and copied."""
    rows = "".join(_line(line) for line in lines)
    text = "\n".join(f"{plain(n.name)}: {plain(n.expression)} = {plain(n.result)}" for n in lines)
    folded.draw(title, f'<div class="sc-sums">{rows}</div>', copied=text, key=key)


def _line(line: Line) -> str:
    gap = '<div class="gap"></div>' if line.gap else ""
    return (
        f'{gap}<div class="name">{markup(line.name)}</div><div class="expression">{markup(line.expression)}</div>'
        f'<div class="eq">=</div><div class="result">{markup(line.result)}</div>'
    )


@dataclass(frozen=True)
class Column:
    """A column of a table: its heading, the cell's text for a row, whether it is set left, and left out on a phone.

    ``named``: its heading in a file, where it is another one; "" leaves it out there.
    """

    name: str
    cell: Callable[[Any], Text]
    left: bool = False
    wide_only: bool = False
    named: str | None = None


@dataclass(frozen=True)
class Table:
    """Rows under headings, with the totals set apart. ``title`` names it as a file; else its section does."""

    columns: Sequence[Column]
    rows: Sequence[Any]
    totals: Sequence[Any] = field(default_factory=tuple)
    title: str = ""

    def csv(self) -> str:
        """The table as a file: numbers as they were before they were rounded, in units without a prefix."""
        rows = [*self.rows, *self.totals]
        groups = [_as_column(column, [column.cell(row) for row in rows]) for column in self.columns]
        columns = [column for group in groups for column in group]
        return spreadsheet.written([name for name, _ in columns], zip(*(cells for _, cells in columns), strict=True))

    def draw(self) -> None:
        """Put the table into the page; it scrolls by itself where the page is too narrow."""
        offers.file(self.title, "csv", self.csv)
        columns = [(_classes(column), column.cell) for column in self.columns]
        head = "".join(f"<th{_classes(c)}>{markup(c.name)}</th>" for c in self.columns)
        body, total = (
            "".join(
                f"<tr>{''.join(f'<td{classes}>{markup(cell(row))}</td>' for classes, cell in columns)}</tr>"
                for row in rows
            )
            for rows in (self.rows, self.totals)
        )
        name = html.escape(self.title or offers.current().section or "Table")
        prose.put(
            f'<div class="sc sc-scroll" role="group" tabindex="0" aria-label="{name}"><table class="sc-table">'
            f'<thead><tr>{head}</tr></thead><tbody>{body}</tbody><tbody class="total">{total}</tbody></table></div>'
        )


def _as_column(column: Column, cells: Sequence[Text]) -> list[tuple[str, list[Any]]]:
    """A column of a file: its unit is in its heading, or in a column beside it where the rows have several.

    Pictures alone make no column.
    """
    name = column.name if column.named is None else column.named
    found = [numbers(cell) for cell in cells]
    values = [one[0].raw if len(one) == 1 else plain(cell) for one, cell in zip(found, cells, strict=True)]
    if column.named == "" or not any(value != "" for value in values):
        return []
    units = [one[0].base if len(one) == 1 else "" for one in found]
    distinct = {unit for unit, one in zip(units, found, strict=True) if len(one) == 1}
    if len(distinct) > 1:
        return [(name, values), (f"{name}, unit", units)]
    unit = distinct.pop() if distinct else ""
    return [(f"{name} ({unit})" if unit else name, values)]


def _classes(column: Column) -> str:
    names = " ".join(name for name, on in (("left", column.left), ("wide", column.wide_only)) if on)
    return f' class="{names}"' if names else ""


def share_bar(share: float, meaning: str) -> Html:
    """A bar as long as a share of one, in the colour of a meaning."""
    return Html(f'<span class="sc-bar {meaning}"><i style="width:{100 * min(max(share, 0), 1):.1f}%"></i></span>')


@dataclass(frozen=True)
class Question:
    """A question to think about; its answer sets controls, so that the page shows it."""

    text: str
    answer: str
    controls: dict[str, Any]


def questions(asked: Sequence[Question], *, key: str) -> None:
    """End a page with questions, each a button that sets the controls to its answer."""
    section("Try it", asks=True)
    for number, question in enumerate(asked):
        row_button(question.text, question.answer, question.controls, key=f"{key}_{number}_set")


def row_button(text: str, answer: str, controls: Mapping[str, Any], *, key: str) -> None:
    """A sentence and, at the end of its row, what pressing it does: one element, where a text and a button are three.

    ``controls``: the values that it sets.
    """
    with_answer = f"{_as_markdown(text)} **{_as_markdown(answer)}**"
    st.button(with_answer, key=key, on_click=state.put, kwargs=dict(controls), type="tertiary", width="stretch")


def _as_markdown(text: str) -> str:
    """Text that Streamlit's markdown shows as it is written, in the middle of a line."""
    return re.sub(r"([\\`*_{}\[\]()#!:$~<>|])", r"\\\1", text)


_copy = st.components.v2.component(
    "copy_text",
    html="<button type='button'><span aria-live='polite'></span></button>",
    css="""
button {font: inherit; font-size: .875rem; color: var(--st-text-color); background: transparent; cursor: pointer;
  border: 1px solid var(--st-border-color); border-radius: 4px; padding: .25rem .7rem;}
button:hover {border-color: var(--st-text-color);}
""",
    js=COPY
    + """
export default function ({ data, parentElement }) {
  const button = parentElement.querySelector("button");
  if (!button.dataset.copied) button.querySelector("span").textContent = data.label;
  button.onclick = () => copy(data.text ?? window.location.href, button, data.label);
}
""",
)


def copy_button(text: str, *, key: str) -> None:
    """A button that copies ``text``."""
    _copy(key=key, data={"text": text, "label": "Copy"}, width="content")


def copy_link(label: str, *, key: str) -> None:
    """A button that copies the address of the page as it then is."""
    _copy(key=key, data={"text": None, "label": label}, width="content")
