"""Changes between two runs as overrides, which can be applied to the base or reverted from the candidate. Pure."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from diffing.sentences.atoms.titles import part_location
from replay.overrides.edits import merge_settings
from replay.overrides.profile import ModelOverride, Override, OverrideProfile
from replay.proofs.changes.hunks import Division, divide
from replay.proofs.core.types import Atom, Atoms
from traces.core.canonical import digest
from traces.core.json_access import as_list, as_object, as_text, has_list, member, text_or_json
from traces.core.json_types import JSONObject, JSONValue

_FIELDWISE: Final = ("prompt", "model", "retrieval")
# A model is identified by both.
MODEL_IDENTITY: Final = frozenset({"provider", "model"})
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
# Categories that consist of one value.
_WHOLE: Final = frozenset({"arguments", "tool", "output"})
_MODEL_FIELDS: Final = ModelOverride.model_fields.keys() - {"parameters", "unset"}


class Absent:
    """No override: the recorded value applies."""


ABSENT: Final = Absent()
Value = JSONValue | Absent


@dataclass(frozen=True, kw_only=True)
class Slot:
    """A place that an override can set: the steps, the category, and the field in it."""

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
        fields = self._model_fields(value) if self.category == "model" else {self.field: value}
        return {"match": self.match, self.category: fields}

    def _model_fields(self, value: JSONValue) -> JSONObject:
        """The override of one field of a model request; None removes it."""
        if value is None:
            return {"unset": [self.field]}
        return {self.field: value} if self.field in _MODEL_FIELDS else {"parameters": {self.field: value}}


@dataclass(frozen=True, kw_only=True)
class Change:
    """An atom and the overrides that apply it. On each side, the value is set in that side's slots.

    `recorded_value`: the base's recorded value if `base` is absent, so that a text can be divided. A change that no
    single value expresses consists of whole overrides: `apply_overrides` apply it to the base, `revert_overrides`
    revert it from the candidate.
    """

    atom: Atom
    on_base: tuple[Slot, ...] = ()
    on_candidate: tuple[Slot, ...] = ()
    base: Value = ABSENT
    candidate: Value = ABSENT
    recorded_value: Value = ABSENT
    apply_overrides: tuple[JSONObject, ...] = ()
    revert_overrides: tuple[JSONObject, ...] = ()

    def division(self) -> Division | None:
        """The change in parts; None if it has none."""
        base = self.recorded_value if isinstance(self.base, Absent) else self.base
        if isinstance(base, Absent) or isinstance(self.candidate, Absent):
            return None
        if any(_is_insertion(slot, value) for slot in self.on_base for value in (base, self.candidate)):
            return None
        return divide(*_contents(base, self.candidate))


@dataclass
class Changes:
    """All changes, with the divisions requested so far.

    `common`: overrides of both sides. `previous_steps`: by side and step, the step whose conversation it continues.
    """

    changes: dict[str, Change]
    common: tuple[JSONObject, ...] = ()
    lattice: bool = True
    previous_steps: Mapping[str, Mapping[int, int]] = field(default_factory=dict)
    divisions: dict[str, Division] = field(default_factory=dict)

    def parts(self, atom: Atom) -> list[Atom]:
        """The parts of an atom, or of a part of one."""
        division = self._division(atom.id)
        if division is None:
            return []
        self.divisions[atom.id] = division
        return [
            Atom(
                id=f"{atom.id}/{index}",
                category=atom.category,
                title=part.title,
                parent=atom.id,
                rank=(index,),
                description=part_location(index, len(division.parts)),
                base=atom.base,
                candidate=atom.candidate,
                is_relay=atom.is_relay,
                texts=((text_or_json(part.base), text_or_json(part.candidate)),),
            )
            for index, part in enumerate(division.parts)
        ]

    def profile(self, subset: Atoms, side: str) -> OverrideProfile:
        """The overrides with which a replay of a side has exactly these changes."""
        entries = list(self.common)
        for change in self.changes.values():
            # A relay stays as recorded unless a probe holds it, or a part of it.
            if not change.atom.testable and not self._has_any(change, subset):
                continue
            if change.apply_overrides or change.revert_overrides:
                is_applied = change.atom.id in subset
                entries += change.apply_overrides if is_applied and side == "base" else ()
                entries += change.revert_overrides if not is_applied and side == "candidate" else ()
                continue
            slots = change.on_base if side == "base" or self.lattice else change.on_candidate
            value = self.value(change, subset)
            if not isinstance(value, Absent) and (self.lattice or not self._is_recorded(change, value, side)):
                entries += [slot.entry(value) for slot in slots]
        complete_entries = repeat_edits(merge_entries(entries), self.previous_steps.get(side, {}))
        return OverrideProfile(overrides=[Override.model_validate(entry) for entry in complete_entries])

    def value(self, change: Change, subset: Atoms) -> Value:
        """The value that a change sets: one of its two values, or a mixture of both by its parts."""
        name = change.atom.id
        if name in subset:
            return change.candidate
        if name not in self.divisions or not self._has_any(change, subset):
            return change.base
        base = change.recorded_value if isinstance(change.base, Absent) else change.base
        # A change without a base value is not divided.
        assert not isinstance(base, Absent)
        assert not isinstance(change.candidate, Absent)
        content = self._mixture(name, subset)
        return _with_content(change.candidate if base is change.recorded_value else base, content)

    def _has_any(self, change: Change, subset: Atoms) -> bool:
        """True if the subset contains a change or a part of it."""
        name = change.atom.id
        return name in subset or any(atom.startswith(f"{name}/") for atom in subset)

    def _is_recorded(self, change: Change, value: Value, side: str) -> bool:
        """True if the replayed run has this value already, so that it need not be set."""
        return value is (change.base if side == "base" else change.candidate)

    def _mixture(self, name: str, subset: Atoms) -> JSONValue:
        """A value with the candidate's parts in the subset, and the base's elsewhere."""
        division = self.divisions[name]
        values: list[JSONValue] = []
        for index, part in enumerate(division.parts):
            inner = f"{name}/{index}"
            if inner in subset:
                values.append(part.candidate)
            elif inner in self.divisions and any(atom.startswith(f"{inner}/") for atom in subset):
                values.append(_as_part(part.base, self._mixture(inner, subset)))
            else:
                values.append(part.base)
        return division.build(values)

    def _division(self, name: str) -> Division | None:
        if name in self.divisions:
            return self.divisions[name]
        if name in self.changes:
            return self.changes[name].division()
        outer, _, index = name.rpartition("/")
        part = self.divisions[outer].parts[int(index)] if outer in self.divisions else None
        return None if part is None else divide(_content_of_part(part.base), _content_of_part(part.candidate))


def _is_insertion(slot: Slot, edit: JSONValue) -> bool:
    """Return whether one run alone has a message: an insertion and a deletion have no parts in common."""
    return slot.category == "messages" and as_text(as_object(edit).get("op")) in {"insert", "delete"}


def merge_entries(entries: Iterable[JSONObject]) -> list[JSONObject]:
    """Merge overrides of the same steps."""
    by_match: dict[str, dict[str, Any]] = {}
    for entry in entries:
        merged_entry = by_match.setdefault(digest(entry["match"]), {"match": entry["match"]})
        for name, value in entry.items():
            if name in _FIELDWISE:
                merged_entry[name] = merge_settings(merged_entry.get(name, {}), as_object(value))
            elif name == "messages":
                merged_entry[name] = [*merged_entry.get(name, []), *as_list(value)]
            else:
                merged_entry[name] = value
    return list(by_match.values())


def repeat_edits(entries: Sequence[JSONObject], previous_steps: Mapping[int, int]) -> list[JSONObject]:
    """Repeat message edits at later steps of the conversation that have edits too.

    Such a step starts from the recorded history, which lacks the earlier edits.
    """
    edits = {
        number: entry["messages"]
        for entry in entries
        if "messages" in entry and isinstance(number := _step(entry), int)
    }
    complete_entries: list[JSONObject] = []
    for entry in entries:
        earlier = _earlier_edits(_step(entry), previous_steps, edits) if has_list(entry, "messages") else []
        own = as_list(entry.get("messages"))
        complete_entries.append({**entry, "messages": [*earlier, *own]} if earlier else entry)
    return complete_entries


def _step(entry: JSONObject) -> JSONValue:
    return member(entry, "match", "step")


def _earlier_edits(
    step: JSONValue, previous_steps: Mapping[int, int], edits: Mapping[int, JSONValue]
) -> list[JSONValue]:
    earlier: list[JSONValue] = []
    previous = previous_steps.get(step) if isinstance(step, int) else None
    while previous is not None:
        earlier = [*as_list(edits.get(previous)), *earlier]
        previous = previous_steps.get(previous)
    return earlier


def fields_of(profile: Mapping[str, Any]) -> dict[str, tuple[Slot, JSONValue]]:
    """Every single field that a profile sets, by the key of its slot."""
    values = (value for entry in profile.get("overrides", ()) for value in _fields(entry))
    return {slot.key: (slot, value) for slot, value in values}


def category_of(slot: Slot) -> Any:
    return _CATEGORIES[slot.category]


def rank_of(slot: Slot, index: int) -> tuple[float, ...]:
    """The prior: by category, then in the order of the overrides."""
    return (_ORDER.index(category_of(slot)), index)


def _fields(entry: Mapping[str, Any]) -> Iterator[tuple[Slot, JSONValue]]:
    match = entry["match"]
    for category in (name for name in entry if name == "output" or (name != "match" and entry[name] is not None)):
        value = entry[category]
        if category == "messages":
            for index, edit in enumerate(value):
                yield Slot(match=match, category=category, field=f"{edit['index']} {edit['op']} {index}"), edit
        elif category in _FIELDWISE:
            yield from _single_fields(match, category, {name: item for name, item in value.items() if item is not None})
        else:
            yield Slot(match=match, category=category), value


def _single_fields(match: JSONObject, category: str, value: JSONObject) -> Iterator[tuple[Slot, JSONValue]]:
    identity = {name: item for name, item in value.items() if category == "model" and name in MODEL_IDENTITY}
    if identity:
        yield Slot(match=match, category=category, field="model"), identity
    parameters = value.get("parameters") if category == "model" else None
    for name, item in (*value.items(), *as_object(parameters).items()):
        if name == "unset" and category == "model" and isinstance(item, list):
            yield from ((Slot(match=match, category=category, field=str(field_name)), None) for field_name in item)
        elif name not in identity and item is not parameters:
            yield Slot(match=match, category=category, field=name), item


def _contents(base: JSONValue, candidate: JSONValue) -> tuple[JSONValue, JSONValue]:
    """The parts of two values to divide: the content of a message, the output of a tool's answer."""
    return _content_of(base), _content_of(candidate)


def _content_of(value: JSONValue) -> JSONValue:
    name = _content_name(value)
    return as_object(value)[name] if name else value


def _content_name(value: JSONValue) -> str:
    fields = as_object(value)
    if fields.get("op") == "replace":
        return "message" if "message" in fields else "content"
    return "output" if fields.keys() == {"output", "status"} else ""


def _with_content(value: JSONValue, content: JSONValue) -> JSONValue:
    name = _content_name(value)
    return {**as_object(value), name: content} if name else content


def _content_of_part(value: JSONValue) -> JSONValue:
    """The value of a part; in a list or an object, a part is a list of one value."""
    return value[0] if isinstance(value, list) and len(value) == 1 else value


def _as_part(shape: JSONValue, value: JSONValue) -> JSONValue:
    return [value] if isinstance(shape, list) and len(shape) == 1 else value
