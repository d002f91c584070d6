"""The agent of a program: its values so far, and how its code writes them into texts."""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Final

from tests.bench.truth.runtime import Runtime
from traces.core.canonical import digest
from traces.core.json_types import JSONObject, JSONValue

# Writes a value into a text.
Rendering = Callable[[JSONValue], str]
_TEMPLATES: Final = (
    "Handle this for the customer: {}",
    "Context: {}. Answer in one sentence.",
    "# Case\n- {}\n- reply soon",
    "{}",
    "{}",
)
_REMARKS: Final = ("We are closed on Sundays.", "The customer is a member since 2019.", "", "", "")


@dataclass
class Agent:
    """One run of a program. `random` decides only how the program is built, and not by what its calls return."""

    run: Runtime
    random: Random
    place: str = ""
    values: list[JSONValue] = field(default_factory=list)
    history: list[JSONValue] = field(default_factory=list)

    def value(self) -> JSONValue:
        """One of the values so far, mostly a late one."""
        index = max(self.random.randrange(len(self.values)), self.random.randrange(len(self.values)))
        return self.values[index]

    def fragment(self) -> str:
        """A value as code writes it into a text."""
        return self.rendering(self.random.choice([*RENDERINGS]))(self.value())

    def rendering(self, name: str) -> Rendering:
        """A way to write values, which notes its choices."""

        def render(value: JSONValue) -> str:
            text = RENDERINGS[name](value)
            if name in CHOICES:
                self.run.choose(self.place, text)
            return text

        return render

    def text(self) -> str:
        """A text with one or two values."""
        template = self.random.choice(_TEMPLATES)
        fragments = [self.fragment() for _ in range(self.random.choice((1, 1, 2)))]
        return f"{template.format(' and '.join(fragments))} {self.random.choice(_REMARKS)}".strip()

    def request(self, system: str) -> list[JSONValue]:
        """Messages with one question."""
        return [{"role": "system", "content": system}, {"role": "user", "content": self.text()}]


def as_text(value: JSONValue) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def fields(value: JSONValue) -> JSONObject:
    """Fields of a value, also of JSON in a text."""
    try:
        parsed = json.loads(value) if isinstance(value, str) else value
    except ValueError:
        return {}
    return parsed if isinstance(parsed, dict) else {}


def _number(value: JSONValue) -> int:
    return int(next(iter(re.findall(r"\d+", as_text(value))), "0"))


def _field(value: JSONValue) -> str:
    items = [item for item in fields(value).values() if item is not None]
    return str(items[int(digest([*sorted(fields(value))])[:4], 16) % len(items)]) if items else as_text(value)


def _date(value: JSONValue) -> str:
    dates = re.findall(r"\d{4}-(\d\d)-(\d\d)", as_text(value))
    return f"{int(dates[0][1])} {('March', 'April')[int(dates[0][0]) - 3]}" if dates else as_text(value)


def _parity(value: JSONValue) -> int:
    return int(digest(value)[:2], 16) % 2


RENDERINGS: Final[Mapping[str, Rendering]] = {
    "whole": as_text,
    "upper": lambda value: as_text(value).upper(),
    "head": lambda value: as_text(value)[:14],
    "tail": lambda value: as_text(value)[-10:],
    "words": lambda value: " ".join(as_text(value).split()[:4]),
    "last word": lambda value: as_text(value).rpartition(" ")[2],
    "field": _field,
    "indented": lambda value: json.dumps(fields(value) or value, indent=2),
    "lines": lambda value: "\n".join(f"{name}: {item}" for name, item in fields(value).items()) or as_text(value),
    "double": lambda value: f"{_number(value) * 2} EUR",
    "grams": lambda value: f"{_number(value) * 1000} g",
    "plus one": lambda value: str(_number(value) + 1),
    "date": _date,
    "length": lambda value: f"{len(as_text(value))} characters",
    "priority": lambda value: ("priority high", "priority low")[_parity(value)],
    "code": lambda value: digest(value)[:6],
    "optional": lambda value: ("", "Please hurry.")[_parity(value)],
    "marked": lambda value: f"<<{as_text(value)}>>",
}
# Renderings whose texts do not repeat a value, and may be empty or that of an earlier request.
CHOICES: Final = frozenset({"priority", "optional"})
