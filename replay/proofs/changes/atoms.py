"""The changes between two runs as overrides: each can be made on the base, or taken back from the candidate. Pure."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from diffing.sentences.changes import edit_phrase
from diffing.sentences.text import format_value
from diffing.sequences.text_diff import shorten
from replay.overrides.edits import merge_settings
from replay.overrides.profile import ModelOverride, Override, OverrideProfile
from replay.proofs.changes.hunks import Division, divide
from replay.proofs.core.types import Atom, Atoms
from traces.core.canonical import digest
from traces.core.json_types import JSONObject, JSONValue

_FIELDWISE: Final = ("prompt", "model", "retrieval")
_TOGETHER: Final = frozenset({"provider", "model"})  # a model is known by both
_CATEGORIES: Final[Mapping[str, Any]] = {
    "prompt": "prompt",
    "messages": "upstream",
    "model": "model",
    "retrieval": "retrieval",
    "arguments": "tool",
    "tool": "tool",
    "output": "output",
}
_ORDER: Final = ("prompt", "upstream", "retrieval", "tool", "model", "structure", "output")
_WHOLE: Final = frozenset({"arguments", "tool", "output"})  # categories that are one value
_NAMED: Final = ModelOverride.model_fields.keys() - {"parameters", "unset"}
_QUOTED: Final = 80


class Absent:
    """Nothing is overridden: what was recorded holds."""


ABSENT: Final = Absent()
Value = JSONValue | Absent


@dataclass(frozen=True, kw_only=True)
class Slot:
    """A place that an override can set: steps, the category, and the field within it."""

    match: JSONObject
    category: str
    field: str = ""

    @property
    def key(self) -> str:
        return digest([self.match, self.category, self.field])

    def entry(self, value: JSONValue) -> JSONObject:
        """The override that sets this place."""
        if self.category == "messages":
            return {"match": self.match, "messages": [value]}
        if self.category in _WHOLE:
            return {"match": self.match, self.category: value}
        if self.field in {"model", "*"} and isinstance(value, dict):
            return {"match": self.match, self.category: value}
        given = self._asked_with(value) if self.category == "model" else {self.field: value}
        return {"match": self.match, self.category: given}

    def _asked_with(self, value: JSONValue) -> JSONObject:
        """A field of a model request, under which null means that it is left out."""
        if value is None:
            return {"unset": [self.field]}
        return {self.field: value} if self.field in _NAMED else {"parameters": {self.field: value}}


@dataclass(frozen=True, kw_only=True)
class Change:
    """An atom with how it is made. On each side the value is set in that side's slots.

    `recorded` is what the base says where its value is absent, so that a text can be divided. What no single value
    says is made by whole overrides: `made` on the base, `undone` on the candidate.
    """

    atom: Atom
    on_base: tuple[Slot, ...] = ()
    on_candidate: tuple[Slot, ...] = ()
    base: Value = ABSENT
    candidate: Value = ABSENT
    recorded: Value = ABSENT
    made: tuple[JSONObject, ...] = ()
    undone: tuple[JSONObject, ...] = ()

    def divided(self) -> Division | None:
        """The change in parts, where it has any."""
        base = self.recorded if isinstance(self.base, Absent) else self.base
        if isinstance(base, Absent) or isinstance(self.candidate, Absent):
            return None
        return divide(*_contents(base, self.candidate))


@dataclass
class Changes:
    """All changes, with the parts that were asked for so far."""

    changes: dict[str, Change]
    common: tuple[JSONObject, ...] = ()  # overrides that both sides have
    lattice: bool = True
    continued: Mapping[str, Mapping[int, int]] = field(default_factory=dict)  # by side: whose messages a step goes on
    divisions: dict[str, Division] = field(default_factory=dict)

    def parts(self, atom: Atom) -> list[Atom]:
        """The parts of an atom, or of a part of one."""
        division = self._division(atom.id)
        if division is None:
            return []
        self.divisions[atom.id] = division
        return [
            Atom(
                id=f"{atom.id}/{at}",
                category=atom.category,
                title=part.title,
                parent=atom.id,
                rank=(at,),
                description=f"Part {at + 1} of {len(division.parts)}.",
                base=atom.base,
                candidate=atom.candidate,
            )
            for at, part in enumerate(division.parts)
        ]

    def profile(self, applied: Atoms, side: str) -> OverrideProfile:
        """The overrides with which a replay has exactly these changes."""
        entries = list(self.common)
        for change in self.changes.values():
            if not change.atom.testable:
                continue
            if change.made or change.undone:
                is_made = change.atom.id in applied
                entries += change.made if is_made and side == "base" else ()
                entries += change.undone if not is_made and side == "candidate" else ()
                continue
            slots = change.on_base if side == "base" or self.lattice else change.on_candidate
            value = self.value(change, applied)
            if not isinstance(value, Absent) and (self.lattice or not self._is_recorded(change, value, side)):
                entries += [slot.entry(value) for slot in slots]
        edited = kept(merged(entries), self.continued.get(side, {}))
        return OverrideProfile(overrides=[Override.model_validate(entry) for entry in edited])

    def value(self, change: Change, applied: Atoms) -> Value:
        """What the change sets: one of the two values, or something between them made of its parts."""
        name = change.atom.id
        if name in applied:
            return change.candidate
        if name not in self.divisions or not any(each.startswith(f"{name}/") for each in applied):
            return change.base
        base = change.recorded if isinstance(change.base, Absent) else change.base
        assert not isinstance(base, Absent)  # what has no base value is not divided
        assert not isinstance(change.candidate, Absent)
        content = self._between(name, applied)
        return _with_content(change.candidate if base is change.recorded else base, content)

    def _is_recorded(self, change: Change, value: Value, side: str) -> bool:
        """Whether the replayed run says so itself: then nothing has to be set."""
        return value is (change.base if side == "base" else change.candidate)

    def _between(self, name: str, applied: Atoms) -> JSONValue:
        division = self.divisions[name]
        values: list[JSONValue] = []
        for at, part in enumerate(division.parts):
            inner = f"{name}/{at}"
            if inner in applied:
                values.append(part.candidate)
            elif inner in self.divisions and any(each.startswith(f"{inner}/") for each in applied):
                values.append(_as_part(part.base, self._between(inner, applied)))
            else:
                values.append(part.base)
        return division.build(values)

    def _division(self, name: str) -> Division | None:
        if name in self.divisions:
            return self.divisions[name]
        if name in self.changes:
            return self.changes[name].divided()
        outer, _, at = name.rpartition("/")
        part = self.divisions[outer].parts[int(at)] if outer in self.divisions else None
        return None if part is None else divide(_content_of_part(part.base), _content_of_part(part.candidate))


def merged(entries: Iterable[JSONObject]) -> list[JSONObject]:
    """Overrides of the same steps as one."""
    found: dict[str, dict[str, Any]] = {}
    for entry in entries:
        known = found.setdefault(digest(entry["match"]), {"match": entry["match"]})
        for name, value in entry.items():
            if name in _FIELDWISE:
                known[name] = merge_settings(known.get(name, {}), value if isinstance(value, dict) else {})
            elif name == "messages" and isinstance(value, list):
                known[name] = [*known.get(name, []), *value]
            else:
                known[name] = value
    return list(found.values())


def kept(entries: Sequence[JSONObject], continued: Mapping[int, int]) -> list[JSONObject]:
    """The overrides, message edits repeated where a later step of the conversation has edits of its own.

    Such a step starts from the recorded history, in which they would be missing.
    """
    edits = {
        number: entry["messages"]
        for entry in entries
        if "messages" in entry and isinstance(number := _step(entry), int)
    }
    found: list[JSONObject] = []
    for entry in entries:
        own = entry.get("messages")
        earlier = _earlier(_step(entry), continued, edits) if isinstance(own, list) else []
        found.append({**entry, "messages": [*earlier, *own]} if earlier and isinstance(own, list) else entry)
    return found


def _step(entry: JSONObject) -> JSONValue:
    match = entry.get("match")
    return match.get("step") if isinstance(match, dict) else None


def _earlier(step: JSONValue, continued: Mapping[int, int], edits: Mapping[int, JSONValue]) -> list[JSONValue]:
    found: list[JSONValue] = []
    at = continued.get(step) if isinstance(step, int) else None
    while at is not None:
        before = edits.get(at)
        found = [*(before if isinstance(before, list) else []), *found]
        at = continued.get(at)
    return found


def fields_of(profile: Mapping[str, Any]) -> dict[str, tuple[Slot, JSONValue]]:
    """Every single field that a profile sets, by its place."""
    found: dict[str, tuple[Slot, JSONValue]] = {}
    for entry in profile.get("overrides", ()):
        for slot, value in _fields(entry):
            found[slot.key] = (slot, value)
    return found


def category_of(slot: Slot) -> Any:
    return _CATEGORIES[slot.category]


def rank_of(slot: Slot, at: int) -> tuple[float, ...]:
    """The prior: by kind, then in the order in which somebody wrote it down."""
    return (_ORDER.index(category_of(slot)), at)


def title(slot: Slot, base: Value, candidate: Value) -> str:
    """The change as what somebody did."""
    where = _where(slot)
    if slot.category == "messages" and isinstance(candidate, dict):
        whole = candidate.get("message")
        content = whole.get("content") if isinstance(whole, dict) else candidate.get("content")
        said = shorten(str(content or ""), _QUOTED)
        done = {"insert": "Inserting", "delete": "Deleting", "replace": "Replacing"}[str(candidate.get("op"))]
        return f"{done} message {candidate.get('index')} of {where}" + (f": “{said}”" if said else "")
    if slot.category == "arguments" and not isinstance(candidate, Absent):
        return f"Calling {where} with {_said(candidate)}"
    if slot.category in {"tool", "output"} and not isinstance(candidate, Absent):
        return f"Giving {where} the answer {_said(candidate)}"
    name = _TITLES.get(slot.field, f"{slot.field} of {where}")
    if isinstance(base, str) and isinstance(candidate, str):
        return edit_phrase(base, candidate, name)
    if isinstance(candidate, Absent):
        return f"Leaving {name} as recorded"
    if candidate is None:
        return f"Leaving out {name}"
    if slot.field == "tools":
        return f"Offering {_listed(candidate)}"
    return f"Setting {name} to {_said(candidate)}"


_TITLES: Final = {
    "system": "the system prompt",
    "model": "the model",
    "tools": "the tools",
    "response_format": "the response format",
}


def _listed(tools: JSONValue) -> str:
    """Tools by their names."""
    names = [str(tool.get("name")) for tool in tools if isinstance(tool, dict)] if isinstance(tools, list) else []
    return f"the tools {shorten(', '.join(names), _QUOTED)}" if names else "no tools"


def _fields(entry: Mapping[str, Any]) -> Iterator[tuple[Slot, JSONValue]]:
    match = entry["match"]
    for category in (name for name in entry if name == "output" or (name != "match" and entry[name] is not None)):
        value = entry[category]
        if category == "messages":
            for at, each in enumerate(value):
                yield Slot(match=match, category=category, field=f"{each['index']} {each['op']} {at}"), each
        elif category in _FIELDWISE:
            yield from _single(match, category, {name: item for name, item in value.items() if item is not None})
        else:
            yield Slot(match=match, category=category), value


def _single(match: JSONObject, category: str, value: JSONObject) -> Iterator[tuple[Slot, JSONValue]]:
    together = {name: item for name, item in value.items() if category == "model" and name in _TOGETHER}
    if together:
        yield Slot(match=match, category=category, field="model"), together
    further = value.get("parameters") if category == "model" else None
    for name, item in (*value.items(), *(further.items() if isinstance(further, dict) else ())):
        if name == "unset" and category == "model" and isinstance(item, list):
            yield from ((Slot(match=match, category=category, field=str(each)), None) for each in item)
        elif name not in together and item is not further:
            yield Slot(match=match, category=category, field=name), item


def _where(slot: Slot) -> str:
    match = slot.match
    if match.get("step") is not None:
        return f"step {match['step']}"
    named = match.get("name") or match.get("model")
    since = f" from step {match['since']} on" if match.get("since") is not None else ""
    before = f" before step {match['before']}" if match.get("before") is not None else ""
    return f"{match.get('type')} steps" + (f" ({named})" if named else "") + since + before


def _said(value: JSONValue) -> str:
    if isinstance(value, dict) and "output" in value:
        return _said(value["output"])
    if isinstance(value, dict) and value.keys() <= _TOGETHER:
        return " ".join(str(item) for item in value.values())
    return f"“{shorten(value, _QUOTED)}”" if isinstance(value, str) else format_value(value)


def _contents(base: JSONValue, candidate: JSONValue) -> tuple[JSONValue, JSONValue]:
    """What of two values is divided: of a message its content, of a tool's answer its output."""
    return _content_of(base), _content_of(candidate)


def _content_of(value: JSONValue) -> JSONValue:
    name = _content_name(value)
    return value[name] if name and isinstance(value, dict) else value


def _content_name(value: JSONValue) -> str:
    if isinstance(value, dict) and value.get("op") == "replace":
        return "message" if "message" in value else "content"
    return "output" if isinstance(value, dict) and value.keys() == {"output", "status"} else ""


def _with_content(value: JSONValue, content: JSONValue) -> JSONValue:
    name = _content_name(value)
    return {**value, name: content} if name and isinstance(value, dict) else content


def _content_of_part(value: JSONValue) -> JSONValue:
    """Inside a list or an object a part is a list of one."""
    return value[0] if isinstance(value, list) and len(value) == 1 else value


def _as_part(shape: JSONValue, value: JSONValue) -> JSONValue:
    return [value] if isinstance(shape, list) and len(shape) == 1 else value
