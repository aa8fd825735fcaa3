"""One step, opened: what goes through, who is in it, who is not and why, and the map of the blocks."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass

from costmodel.model import Model
from costmodel.serving import Member, StepView
from pages.parts import format
from pages.parts.components import Column, Figure, Html, Ink, Table, Text
from pages.parts.layers import block, keeps

_MOST_ROWS = 8
_MOST_CELLS = 1200  # of the block map: beyond, a cell stands for several blocks


def figures(view: StepView) -> list[Figure]:
    """The step in five numbers."""
    meaning = view.bound if view.bound in ("memory", "compute") else ""
    return [
        Figure(f"step {view.step:,} carries", format.tokens(view.tokens)),
        Figure("prefill", format.tokens(view.prefill_tokens), "prefill"),
        Figure("decode", format.tokens(view.decode_tokens), "decode"),
        Figure("it takes", format.seconds(view.seconds)),
        Figure("waits for", view.bound or "–", meaning),
    ]


@dataclass(frozen=True)
class _Row:
    who: Text
    does: Text
    tokens: str
    cached: str


def members(view: StepView, model: Model) -> Table:
    """Who is in the step; those that decode are one row."""
    inside = [member for member in view.running if member.tokens]
    decodes = [member for member in inside if member.phase == "decode"]
    prefills = [member for member in inside if member.phase == "prefill"]
    rows = [_decode_row(decodes)] if decodes else []
    rows += [_prefill_row(member) for member in prefills[:_MOST_ROWS]]
    if len(prefills) > _MOST_ROWS:
        rest = prefills[_MOST_ROWS:]
        total = sum(member.tokens for member in rest)
        rows.append(_Row(f"{len(rest)} more", Ink("prefill", "prefill"), format.count(total), ""))
    columns = (
        Column("who", lambda row: row.who, left=True),
        Column("does", lambda row: row.does, left=True),
        Column("tokens", lambda row: row.tokens),
        Column("cached" if model.kv_values_per_token else "in the state", lambda row: row.cached),
    )
    return Table(columns, rows)


def _decode_row(decodes: Sequence[Member]) -> _Row:
    who = decodes[0].id if len(decodes) == 1 else format.many(len(decodes), "request")
    each = "1" if len(decodes) == 1 else "1 each"
    return _Row(who, Ink("decode", "decode"), each, format.count(sum(member.computed for member in decodes)))


def _prefill_row(member: Member) -> _Row:
    whole = member.computed == 0 and member.tokens >= member.known
    does = "prefill" if whole else f"prefill, chunk of {member.known:,}"
    return _Row(member.id, Ink(does, "prefill"), format.count(member.tokens), format.count(member.computed))


def outsiders(view: StepView) -> Table:
    """Who is not in the step, and why; those behind the head of the line share a row."""
    out = [member for member in view.running if not member.tokens] + list(view.waiting)
    behind = [member for member in out if member.reason == "head of line"]
    first = [member for member in out if member.reason != "head of line"]
    rows = [(member.id, _state(member), member.why or "–") for member in first[:_MOST_ROWS]]
    if len(first) > _MOST_ROWS:
        rows.append((f"{len(first) - _MOST_ROWS} more", "", "for the same reasons"))
    if behind:
        head = view.waiting[0].id if view.waiting else "the head"
        who = behind[0].id if len(behind) == 1 else f"{len(behind)} more"
        rows.append((who, "waiting", f"behind {head}, first come first served"))
    columns = (
        Column("request", lambda row: row[0], left=True),
        Column("is", lambda row: row[1], left=True, wide_only=True),
        Column("reason", lambda row: row[2], left=True),
    )
    return Table(columns, rows)


def _state(member: Member) -> str:
    return "preempted before" if member.phase == "preempted" else "waiting" if member.phase == "waiting" else "running"


def budget_bar(view: StepView, crossing: float | None) -> Html:
    """What the step carries of its budget: decodes in one segment, each prompt in its own, T* marked."""
    total = max(view.budget or 0, view.tokens, 1)
    shares = [("decode", view.decode_tokens)]
    shares += [("prefill", member.tokens) for member in view.running if member.phase == "prefill" and member.tokens]
    segments = "".join(
        f'<i class="{meaning}" style="width:{100 * amount / total:.3f}%"></i>' for meaning, amount in shares if amount
    )
    mark = ""
    if crossing is not None and 1 < crossing <= total:
        place = 100 * crossing / total
        mark = f'<u style="left:{place:.2f}%"><span>T* = {format.count(crossing)}</span></u>'
    of = f"of a budget of {format.count(view.budget)}" if view.budget else "; this policy has no budget of tokens"
    said = f"{format.tokens(view.tokens)} {of}"
    return Html(
        f'<div class="sc sc-budget" role="img" aria-label="{html.escape(said)}">{segments}{mark}</div>'
        f'<p class="sc sc-note">{html.escape(said)}</p>'
    )


def block_map(view: StepView, block_size: int, model: Model) -> Html:
    """Blocks of the pool in order of their numbers: held, written in this step, free."""
    state = _block_states(view, block_size)
    shown = view.num_blocks if view.num_blocks <= _MOST_CELLS else max(state, default=0) + 1
    per_cell = max(1, -(-shown // _MOST_CELLS))
    cells = [
        _cell([state.get(held, "") for held in range(i, min(i + per_cell, shown))]) for i in range(0, shown, per_cell)
    ]
    held = len(state)
    written = sum(1 for meaning in state.values() if meaning != "cached")
    done = "written in this step" if model.kv_values_per_token else "with tokens of this step"
    said = f"{format.capitalised(block(model))}s: {held:,} of {view.num_blocks:,} held, {written:,} {done}"
    if per_cell > 1 or shown < view.num_blocks:
        said += f"; {f'{per_cell} blocks a cell, ' if per_cell > 1 else ''}the {shown:,} with the lowest numbers"
    squares = "".join(f'<i class="{meaning}"></i>' for meaning in cells)
    return Html(
        f'<p class="sc sc-note">{html.escape(said)}</p>'
        f'<div class="sc sc-blocks" role="img" aria-label="{html.escape(said)}">{squares}</div>'
    )


def _block_states(view: StepView, size: int) -> dict[int, str]:
    """What each held block is in this step: in its holder's colour where it is written, else cached."""
    state: dict[int, str] = {}
    for member in view.running:
        first = member.computed // size if member.tokens else len(member.blocks)
        last = (member.computed + max(member.tokens, 1) - 1) // size
        for place, held in enumerate(member.blocks):
            written = member.tokens and first <= place <= last
            state[held] = member.phase if written else state.get(held, "cached")
    return state


def _cell(states: Sequence[str]) -> str:
    """What a cell shows for its blocks: a write before a hold, a hold before nothing."""
    for meaning in ("prefill", "decode", "cached"):
        if meaning in states:
            return meaning
    return ""


STYLE = """
[data-testid=stColumn] .sc-table td:last-child {white-space: normal;}
.sc-budget {position: relative; display: flex; height: 1.15rem; border: 1px solid var(--rule); margin: 1.6rem 0 .4rem;}
.sc-budget i {display: block; height: 100%; box-sizing: border-box; border-right: 1px solid var(--paper);}
.sc-budget i.prefill {background: var(--prefill-fill);} .sc-budget i.decode {background: var(--decode-fill);}
.sc-budget u {position: absolute; top: -.3rem; bottom: -.3rem; border-left: 2px dotted var(--ink);
  text-decoration: none;}
.sc-budget u span {position: absolute; bottom: 100%; left: 0; transform: translateX(-50%); white-space: nowrap;
  font-size: .8125rem; color: var(--ink);}
.sc-blocks {display: grid; grid-template-columns: repeat(auto-fill, minmax(9px, 1fr)); gap: 1px; margin-top: .4rem;}
.sc-blocks i {aspect-ratio: 1; box-shadow: inset 0 0 0 1px var(--rule);}
.sc-blocks i.cached {background: var(--cached-fill);} .sc-blocks i.prefill {background: var(--prefill-fill);}
.sc-blocks i.decode {background: var(--decode-fill);}
.sc-legend {display: flex; flex-wrap: wrap; gap: .2rem 1.2rem; font-size: .875rem; color: var(--muted);}
.sc-legend i {display: inline-block; width: .95rem; height: .6rem; margin-right: .45rem;}
.sc-legend i.line {height: 1px; background: var(--muted); vertical-align: middle;}
.sc-legend i.prefill {background: var(--prefill-fill); height: .8rem;}
.sc-legend i.decode {background: var(--decode-fill);} .sc-legend i.hollow {border: 1.5px dashed var(--ink);}
.sc-dumbbell {position: relative; display: inline-block; width: 11rem; height: .9rem; vertical-align: middle;}
.sc-dumbbell::before {content: ""; position: absolute; left: 0; right: 0; top: 50%; border-top: 1px solid var(--rule);}
.sc-dumbbell s {position: absolute; top: calc(50% - 1px); height: 2px; background: var(--ink);}
.sc-dumbbell i {position: absolute; top: 50%; width: .62rem; height: .62rem; margin: -.31rem 0 0 -.31rem;
  border: 1.5px solid var(--ink); border-radius: 50%; background: var(--paper);}
.sc-dumbbell i.a {background: var(--ink);}
"""
"""Style of the step's pictures; the page puts it in once."""


def legend(model: Model) -> str:
    """What the bars of a timeline are."""
    return (
        '<div class="sc sc-legend"><span><i class="line"></i>queued</span><span><i class="prefill"></i>prefill</span>'
        '<span><i class="decode"></i>decode</span>'
        f'<span><i class="hollow"></i>preempted, {keeps(model)} lost</span></div>'
    )
