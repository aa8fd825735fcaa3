"""A page's figures as a program: the sidebar as calls of ``costmodel``, then the page's own, then the figures.

Names and configs come from users and from links. They enter a program as Python literals, or in a comment without
anything that could end its line.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pprint import pformat
from typing import Any

import costmodel as cm
from pages.parts import codec
from pages.parts.components import Figure, plain
from pages.parts.format import NBSP, Number, Quantity
from pages.parts.scenario import Scenario

LONGEST_CONFIG = 20_000  # characters of a config that stand in the program itself
PROFILE = "profile.json"
_WIDTH = 100
_NOT_FIGURES = frozenset({"base", "source", "note"})  # fields of Hardware that no price depends on


def program(
    page: str,
    scenario: Scenario,
    *,
    body: Sequence[str],
    figures: Mapping[str, str],
    packed: str = "",
    imports: Sequence[str] = (),
    after: Sequence[str] = (),
) -> str:
    """A program that prints the figures of a page.

    ``body``: lines after the scenario's; they may use ``model``, ``hardware``, ``precision``, ``rates``, ``gpus`` and
    ``price(step, count, rates)``; imports among them go to the top. ``figures``: an expression for each name, with a
    comment. ``packed``: the user's own model as the link carries it. ``imports``: lines beside
    ``import costmodel as cm``. ``after``: lines at the end, such as a table to print.
    """
    lines = [*imports, *setting(scenario, packed), "", *body]
    imported = {"import costmodel as cm", *(line for line in lines if _imports(line))}
    return "\n".join(
        [
            comment(f"The figures of the {page} page: {scenario.label}."),
            "# Run it where the folder costmodel is; it needs numpy and pandas.",
            *sorted(imported),
            "",
            *(line for line in lines if not _imports(line)),
            "",
            "figures = {",
            *(f"    {literal(name)}: {_listed(expression)}" for name, expression in figures.items()),
            "}",
            "for name, value in figures.items():",
            '    print(f"{name}: {value}")',
            *after,
            "",
        ]
    )


def _imports(line: str) -> bool:
    return line.startswith(("import ", "from "))


def _listed(expression: str) -> str:
    """An expression with its comma before the comment."""
    code, gap, said = expression.partition("  #")
    return f"{code},{gap}{said}"


def figures(shown: Sequence[Figure], expressions: Sequence[str]) -> dict[str, str]:
    """An expression for each figure of a page, with the unit that it is in."""
    found = {}
    for figure, expression in zip(shown, expressions, strict=True):
        found[plain(figure.name).replace(NBSP, " ")] = expression + unit(figure.value)
    return found


def unit(value: Quantity | Number | str) -> str:
    """The comment that says a value's unit."""
    base = getattr(value, "base", "")
    return f"  # {base}" if base else ""


def floor(scenario: Scenario) -> str:
    """The argument that asks for a floor where another source speaks; nothing where the floor is what is asked for."""
    return "" if scenario.source == "datasheet" else ', rates="datasheet"'


def comment(text: str) -> str:
    """A comment of one line, whatever the text."""
    return f"# {''.join(letter if letter.isprintable() else ' ' for letter in text)}"


def literal(value: Any) -> str:
    """A value as Python writes it; plain words in the quotes that people use."""
    if isinstance(value, str) and re.fullmatch(r"[\w .,:;/()+*-]*", value, re.ASCII):
        return f'"{value}"'
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{literal(key)}: {literal(one)}' for key, one in value.items())}}}"
    return repr(value)


def call(start: str, arguments: Sequence[str]) -> list[str]:
    """Lines of a call, an argument a line where one line would be too long."""
    line = f"{start}({', '.join(arguments)})"
    return [line] if len(line) <= _WIDTH else [f"{start}(", *(f"    {argument}," for argument in arguments), ")"]


# ---- what the sidebar says ---------------------------------------------------------------------------------------


def setting(scenario: Scenario, packed: str = "", suffix: str = "") -> list[str]:
    """Lines that set up a scenario; ``suffix`` keeps the names of two of them apart."""
    s = scenario
    lines = [*_model(s, packed, suffix), *_machine(s, suffix), _precision(s.precision, suffix)]
    rates = f"profile{suffix}.rates" if s.source == "live" else literal(s.source)
    return [
        *lines,
        f"rates{suffix} = {rates}",
        f"gpus{suffix} = {s.tensor_parallel}",
        "",
        "",
        f"def price{suffix}(step, count=None, rates=rates{suffix}):",
        f"    return cm.price(model{suffix}, hardware{suffix}, step, precision=precision{suffix}, rates=rates,",
        f"                    count=count, tensor_parallel=gpus{suffix})",
        "",
    ]


def _model(s: Scenario, packed: str, suffix: str) -> list[str]:
    model = s.model
    if model.id in cm.model() and cm.model(model.id) == model:
        return [f"model{suffix} = cm.model({literal(model.id)})"]
    config, quantization = codec.own_config(packed)
    return [
        *_value(f"config{suffix}", config, "config.json"),
        *_value(f"quantization{suffix}", quantization, "hf_quant_config.json"),
        f"model{suffix} = cm.Model.from_config(config{suffix}, quantization{suffix})",
        f"model{suffix} = model{suffix}.replace(name={literal(model.name)})",
    ]


def _value(name: str, value: Any, file: str) -> list[str]:
    """Lines that give a JSON value a name: as a literal, or out of a file where it is too long to read."""
    text = pformat(value, width=_WIDTH, sort_dicts=False)
    if len(text) > LONGEST_CONFIG:
        reading = f"{name} = json.loads(Path({literal(file)}).read_text())  # yours, too long to stand here"
        return ["import json", "from pathlib import Path", reading]
    try:
        ast.literal_eval(text)
    except ValueError:  # a NaN, or an infinity
        return ["import json", f"{name} = json.loads({json.dumps(value)!r})"]
    return f"{name} = {text}".splitlines()


def _machine(s: Scenario, suffix: str) -> list[str]:
    name = f"hardware{suffix}"
    lines = [*_root(s, suffix)]
    changes = {
        "bandwidth": f"{name}.bandwidth * {s.bandwidth_x!r}" if s.bandwidth_x != 1 else "",
        "peak": f"{{unit: rate * {s.compute_x!r} for unit, rate in {name}.peak.items()}}" if s.compute_x != 1 else "",
        "memory": f"{name}.memory * {s.memory_x!r}" if s.memory_x != 1 and s.hardware.root.memory else "",
    }
    lines += [f"{name} = {name}.replace({key}={value})" for key, value in changes.items() if value]
    return lines


def _root(s: Scenario, suffix: str) -> list[str]:
    """The machine without the what-if."""
    hw = s.hardware.root
    if s.source == "live":
        load = f"profile{suffix} = live.Profile.load({literal(PROFILE)})  # the Measure page has it for download"
        return ["import live", load, f"hardware{suffix} = profile{suffix}.hardware"]
    if hw.id in cm.hardware() and cm.hardware(hw.id) == hw:
        return [f"hardware{suffix} = cm.hardware({literal(hw.id)})"]
    given = {
        field.name: getattr(hw, field.name) for field in fields(hw)
        if field.name not in _NOT_FIGURES and getattr(hw, field.name) not in (None, "")
    }  # fmt: skip
    return call(f"hardware{suffix} = cm.Hardware", [f"{key}={literal(value)}" for key, value in given.items()])


def _precision(precision: cm.Precision, suffix: str) -> str:
    asked = {name: getattr(precision, name) for name in ("weights", "kv", "compute")}
    given = ", ".join(f"{name}={literal(value)}" for name, value in asked.items() if value is not None)
    return f"precision{suffix} = cm.Precision({given})"
