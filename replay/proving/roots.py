"""The changes between two separate recordings, turned into overrides: the roots that attribution found. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from diffing import attribution
from diffing.comparison import Pair
from diffing.messages import MessagePair
from diffing.references import step_ref
from diffing.report import Examined
from diffing.roots import Atom as Root
from diffing.verdict import phrase
from diffing.wording import shown
from replay.proving.atoms import Change, Slot, Value
from replay.proving.certificates import certify
from replay.proving.lab import Atom
from traces.canonical import digest
from traces.json_types import JSONObject, JSONValue
from traces.vocabulary import StepType

_SPELLINGS: Final = {"max_completion_tokens": "max_tokens", "stop_sequences": "stop"}
_PARAMETERS: Final = frozenset({"temperature", "top_p", "max_tokens", "seed", "stop"})
_RETRIEVAL: Final = frozenset({"query", "top_k", "filters", "embedding_profile"})
_PROMPT: Final = ("template", "template_id", "version", "variables")
_TOOL_STATUS: Final = frozenset({"ok", "error", "timeout", "partial"})
_CHANCE: Final = "nobody changed anything here: the model answered the same request differently"
_STRUCTURE: Final = "no override adds a step to a run or takes one away"
_NONE: Final = "no override sets this"


def roots(seen: Examined) -> list[Change]:
    """Every root, those that can be replayed and those that cannot, with the reason."""
    found = seen.found
    ranks = [
        *((atom, (0, 0)) for atom in (found.primary, *found.rivals) if atom is not None),
        *((atom, (0, 1)) for atom in found.later), *((atom, (1, 0)) for atom in found.discarded),
    ]  # fmt: skip
    changes: dict[str, Change] = {}
    for atom, rank in ranks:
        for at, change in enumerate(_changes(seen, atom)):
            order = (*rank, attribution.PRIORITY.index(change.atom.category), atom.places[0], at)
            ordered = replace(change.atom, rank=order, certificate=certify(seen, atom.places))
            changes.setdefault(ordered.id, replace(change, atom=ordered))
    return list(changes.values())


def _changes(seen: Examined, atom: Root) -> Iterator[Change]:
    facet = atom.facet
    if facet is None or atom.sampled:
        yield _untestable(atom, _STRUCTURE if facet is None else _CHANCE)
    elif facet.kind == "system prompt":
        yield _system(seen, atom)
    elif facet.kind == "model":
        yield _set(seen, atom, "model", "model", facet.base, facet.candidate)
    elif facet.kind in {"parameters", "settings", "query"}:
        yield from _settings(seen, atom)
    elif facet.kind == "message list":
        for item in facet.messages:
            yield _message(seen, atom, item)
    elif facet.kind == "documents":
        yield _set(seen, atom, "retrieval", "documents", facet.base, facet.candidate)
    elif facet.kind in {"template", "template version and variables"}:
        yield _prompt(seen, atom)
    elif facet.part == "output" and atom.pair.step.type is not StepType.OUTPUT:
        yield _output(seen, atom)
    else:
        yield _untestable(atom, _WHY.get(facet.kind, _NONE))


_WHY: Final = {
    "tool schemas": "no override changes which tools a model is offered",
    "arguments": "what a tool is called with is up to the agent's own code here",
}


def _system(seen: Examined, atom: Root) -> Change:
    assert atom.facet is not None  # its caller looked
    if not atom.facet.base or not atom.facet.candidate:
        return _untestable(atom, "one of the runs has no system prompt, and no override takes one away")
    return _set(seen, atom, "prompt", "system", atom.facet.base, atom.facet.candidate)


def _settings(seen: Examined, atom: Root) -> Iterator[Change]:
    """One change for each setting."""
    facet = atom.facet
    assert facet is not None  # its caller looked
    base, candidate = facet.base, facet.candidate
    if facet.kind == "query":
        base, candidate = {"query": base}, {"query": candidate}
    left, right = base if isinstance(base, dict) else {}, candidate if isinstance(candidate, dict) else {}
    category, known = ("model", _PARAMETERS) if facet.kind == "parameters" else ("retrieval", _RETRIEVAL)
    for name in sorted({*left, *right}):
        if left.get(name) == right.get(name):
            continue
        setting = _SPELLINGS.get(name, name)
        title = f"{name}: {shown(left.get(name))} → {shown(right.get(name))}"
        if setting not in known or left.get(name) is None or right.get(name) is None:
            why = _NONE if setting not in known else "one of the runs does not set it, and no override takes it away"
            yield _untestable(atom, why, title=title, name=name)
        else:
            yield _set(seen, atom, category, setting, left[name], right[name], title=title)


def _message(seen: Examined, atom: Root, item: MessagePair) -> Change:
    """A message that is other, new or gone, edited where it first stands."""
    assert atom.facet is not None  # its caller looked
    before = [each for each in atom.facet.messages if each is not item and _place(each) < _place(item)]
    shift = sum(each.base_index is None for each in before) - sum(each.candidate_index is None for each in before)
    on_base = item.base_index if item.base_index is not None else (item.candidate_index or 0) - shift
    on_candidate = item.candidate_index if item.candidate_index is not None else (item.base_index or 0) + shift
    sides = _messages(seen, atom.pair)
    made = _edit(item.base_index, item.candidate_index, on_base, sides[1])
    undone = _edit(item.candidate_index, item.base_index, on_candidate, sides[0])
    where = f"message {on_base}"
    slots = [_slots(seen, atom.places[:1], "messages", f"{where} {name}", side)
             for name, side in (("base", 0), ("candidate", 1))]  # fmt: skip
    return Change(
        atom=_atom(atom, name=digest(list(item.key))[:8]), on_base=slots[0], on_candidate=slots[1], base=undone,
        candidate=made,
    )  # fmt: skip


def _edit(own: int | None, other: int | None, at: int, theirs: Sequence[JSONValue]) -> JSONObject:
    """The edit that makes a message what it is on the other side."""
    if other is None:
        return {"op": "delete", "index": at}
    message = theirs[other] if other < len(theirs) else {}
    given = message if isinstance(message, dict) else {}
    role: JSONObject = {"role": given["role"]} if isinstance(given.get("role"), str) else {}
    return {"op": "insert" if own is None else "replace", "index": at, "content": given.get("content"), **role}


def _prompt(seen: Examined, atom: Root) -> Change:
    """Template, version and variables together: what they render to is what is used."""
    left, right = (_object(value) for value in _inputs(seen, atom.pair))
    names = [name for name in _PROMPT if left.get(name) != right.get(name)]
    if not names or any(left.get(name) is None or right.get(name) is None for name in names):
        return _untestable(atom, "one of the runs does not record what the prompt was made from")
    values: list[JSONValue] = [{name: side[name] for name in names} for side in (left, right)]
    return _set(seen, atom, "prompt", "*", *values)


def _output(seen: Examined, atom: Root) -> Change:
    """Another answer of the world, or of an operator."""
    base, candidate = atom.pair.both or (None, None)
    if base is None or candidate is None:
        return _untestable(atom, _STRUCTURE)
    values = [seen.payloads.get(ref) if ref else None for ref in (base.output_ref, candidate.output_ref)]
    if base.output_ref == candidate.output_ref:  # the status alone differs, and the payload was not opened
        return _untestable(atom, "the status alone differs, and what the step gave was not compared")
    if atom.pair.step.type is not StepType.TOOL:
        return _set(seen, atom, "output", "", *values)
    if not {base.status, candidate.status} <= _TOOL_STATUS:
        return _untestable(atom, "a denied call is the agent's or a hook's doing, and no override denies one")
    answers: list[JSONValue] = [
        {"output": value, "status": str(side.status)} for value, side in zip(values, (base, candidate), strict=True)
    ]
    return _set(seen, atom, "tool", "", *answers)


def _set(
    seen: Examined, atom: Root, category: str, field: str, base: JSONValue, candidate: JSONValue, *,
    title: str = "",
) -> Change:  # fmt: skip
    slots = [_slots(seen, atom.places, category, field, side) for side in (0, 1)]
    return Change(
        atom=_atom(atom, title=title, name=field), on_base=slots[0], on_candidate=slots[1],
        base=_value(base), candidate=_value(candidate),
    )  # fmt: skip


def _slots(seen: Examined, places: Sequence[int], category: str, field: str, side: int) -> tuple[Slot, ...]:
    """The steps on one side: by their type where all model calls are meant, so that new ones are too."""
    pairs = seen.comparison.pairs
    models = [pair.place for pair in pairs if pair.step.type == StepType.MODEL]
    if category in {"prompt", "model"} and field != "*" and set(models) <= set(places):
        return (Slot(match={"type": "model"}, category=category, field=field),)
    steps = [pairs[place].candidate if side else pairs[place].base for place in places]
    return tuple(
        Slot(match={"step": step.sequence_no}, category=category, field=field) for step in steps if step is not None
    )


def _atom(atom: Root, *, title: str = "", name: str = "", why: str = "") -> Atom:
    pair = atom.pair
    kind = atom.facet.kind if atom.facet is not None else "step"
    count = len(atom.places)
    also = f" and {count - 1} more" if count > 1 else ""
    return Atom(
        id=f"{kind.replace(' ', '-')}-{pair.place}" + (f"-{name}" if name else ""), category=atom.category,
        title=title or phrase(atom), description=f"At step {pair.step.sequence_no} ({pair.step.type}){also}.",
        why_not=why, base=step_ref(pair.base), candidate=step_ref(pair.candidate),
    )  # fmt: skip


def _untestable(atom: Root, why: str, *, title: str = "", name: str = "") -> Change:
    return Change(atom=_atom(atom, title=title, name=name, why=why))


def _value(value: JSONValue) -> Value:
    return value


def _inputs(seen: Examined, pair: Pair) -> tuple[JSONValue, JSONValue]:
    refs = [side.input_ref if side is not None else "" for side in (pair.base, pair.candidate)]
    left, right = (seen.payloads.get(ref) if ref else None for ref in refs)
    return left, right


def _messages(seen: Examined, pair: Pair) -> tuple[list[JSONValue], list[JSONValue]]:
    left, right = (_object(value).get("messages") for value in _inputs(seen, pair))
    return left if isinstance(left, list) else [], right if isinstance(right, list) else []


def _place(item: MessagePair) -> tuple[int, int]:
    base = item.base_index if item.base_index is not None else -1
    candidate = item.candidate_index if item.candidate_index is not None else -1
    return max(base, candidate), candidate


def _object(value: JSONValue) -> JSONObject:
    return value if isinstance(value, dict) else {}
