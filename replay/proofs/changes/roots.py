"""The changes between two separate recordings, turned into overrides: the roots that attribution found. Pure."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final, get_args

from diffing.attribution import reasoning
from diffing.attribution.difference_origins import Origin
from diffing.attribution.unexplained_changes import Atom as Root
from diffing.content.facet import WINDOW
from diffing.report.build import Examined
from diffing.sentences.text import format_value
from replay.overrides.profile import CallEnd
from replay.proofs.changes.atoms import Absent, Change
from replay.proofs.changes.certificates import certify
from replay.proofs.changes.message_edits import context_window, message_list, system_prompt
from replay.proofs.changes.overrides import RUN_BOTH, Found, Load, made_by, number, obj, set_to, untestable
from replay.proofs.changes.unpaired_steps import lone_steps
from traces.core.json_types import JSONObject, JSONValue
from traces.core.vocabulary import StepType

_SPELLINGS: Final = {"max_completion_tokens": "max_tokens", "stop_sequences": "stop"}
_RETRIEVAL: Final = frozenset({"query", "top_k", "filters", "embedding_profile"})
_PROMPT: Final = ("template", "template_id", "version", "variables")
_ENDS: Final = frozenset(get_args(CallEnd))
_CHANCE: Final = (
    "nobody changed anything here: the model answered the same request differently, and repeats of both runs are what "
    "says how often it does"
)
_LAST: Final = f"the last answer is put together by the agent's own code, which a replay does not run; {RUN_BOTH}"
_BESIDE: Final = f"it is no part of the recorded request, so no replay can tell what it does; {RUN_BOTH}"
_DERIVED: Final = (
    "it comes after a changed output, and the agent's own code may have derived it from that; replays take it to "
    f"follow, as it did in the recordings; {RUN_BOTH}"
)
_SAME: Final = "the step gave the same in both runs, so nothing after it can have felt this"


def roots(seen: Examined, load: Load = lambda refs: {}) -> list[Change]:
    """Every root, those that can be replayed and those that cannot, with the reason."""
    found = Found(seen=seen, load=load)
    ranks = _ranked(seen)
    lone = [
        root for root, _ in ranks if root.facet is None and not root.is_sampled and root.origin is not Origin.DERIVED
    ]
    changes: dict[str, Change] = {}
    alone = {id(root): change for root, change in lone_steps(found, lone)}
    for root, rank in ranks:
        for at, change in enumerate([alone[id(root)]] if id(root) in alone else _changes(found, root)):
            order = (*rank, reasoning.PRIORITY.index(change.atom.category), root.places[0], at)
            ordered = replace(change.atom, rank=order, certificate=certify(seen, root.places))
            changes.setdefault(ordered.id, replace(change, atom=ordered))
    return _dependent(_apart(list(changes.values())))


def _ranked(seen: Examined) -> list[tuple[Root, tuple[int, int]]]:
    found = seen.found
    return [
        *((atom, (0, 0)) for atom in (found.primary, *found.rivals) if atom is not None),
        *((atom, (0, 1)) for atom in found.later),
        *((atom, (1, 0)) for atom in found.exclusions),
    ]


def _changes(found: Found, root: Root) -> Iterable[Change]:
    if root.is_sampled:
        return [untestable(root, _CHANCE)]
    if root.origin is Origin.DERIVED:
        return [untestable(root, _DERIVED)]
    if root.facet is None:
        return []  # told with another step that feeds the same place
    if root.pair.step.type == StepType.OUTPUT:
        return [untestable(root, _LAST)]
    return _READERS.get(root.facet.kind, _outputs)(found, root)


def _model(found: Found, root: Root) -> Iterator[Change]:
    assert root.facet is not None  # its caller looked
    yield set_to(found, root, "model", "model", root.facet.base, root.facet.candidate)


def _schemas(found: Found, root: Root) -> Iterator[Change]:
    left, right = (obj(value).get("tools") for value in found.inputs(root.pair))
    change = set_to(found, root, "model", "tools", left, right)
    yield _rekeying(change) if _names(left) != _names(right) else change


def _rekeying(change: Change) -> Change:
    return replace(change, atom=replace(change.atom, rekeys=True))


def _parameters(found: Found, root: Root) -> Iterator[Change]:
    """One change for each; what one of the runs does not say is left out."""
    requests = [obj(value) for value in found.inputs(root.pair)]
    left, right = ({**obj(request.get("parameters")), **_format(request)} for request in requests)
    seen = [obj(side) for side in ((root.facet.base, root.facet.candidate) if root.facet else ())]
    beside = {name for side in seen for name in side if seen[0].get(name) != seen[1].get(name)}
    for name in sorted({*left, *right} | beside):
        if name not in {*left, *right}:
            yield untestable(root, _BESIDE, title=f"{name} of the request", name=name)
        elif left.get(name) != right.get(name):
            title = f"{name}: {format_value(left.get(name))} → {format_value(right.get(name))}"
            setting = _SPELLINGS.get(name, name)
            yield set_to(found, root, "model", setting, left.get(name), right.get(name), title=title)


def _format(request: JSONObject) -> JSONObject:
    return {"response_format": request["response_format"]} if request.get("response_format") is not None else {}


def _settings(found: Found, root: Root) -> Iterator[Change]:
    """One change for each setting of a search; those that no override takes are tried by what was found with them."""
    left, right = (obj(value) for value in found.inputs(root.pair))
    names = [name for name in sorted({*left, *right}) if left.get(name) != right.get(name)]
    wanted = [name for name in names if (name == "query") == (root.facet is not None and root.facet.kind == "query")]
    set_ = [name for name in wanted if name in _RETRIEVAL and None not in (left.get(name), right.get(name))]
    for name in set_:
        title = f"{name}: {format_value(left.get(name))} → {format_value(right.get(name))}"
        yield set_to(found, root, "retrieval", name, left[name], right[name], title=title)
    if len(set_) < len(wanted):
        yield (
            _answers(found, root)
            if not set_
            else untestable(
                root,
                f"an override does not take it beside the other settings that changed; {RUN_BOTH}",
                title=f"Other settings of {root.pair.step.display_name}",
                name="others",
            )
        )


def _arguments(found: Found, root: Root) -> Iterator[Change]:
    """A tool that the agent's code called otherwise: called so on the other side, it answers as it was recorded to."""
    left, right = found.inputs(root.pair)
    if left is None or right is None:
        yield untestable(root, f"one of the runs does not record what the tool was called with; {RUN_BOTH}")
    else:
        yield _rekeying(set_to(found, root, "arguments", "", left, right))


def _prompt(found: Found, root: Root) -> Iterator[Change]:
    """Template, version and variables together; where one run does not record them, what they made."""
    left, right = (obj(value) for value in found.inputs(root.pair))
    names = [name for name in _PROMPT if left.get(name) != right.get(name)]
    if not names or any(left.get(name) is None or right.get(name) is None for name in names):
        yield _answers(found, root)
    else:
        values: list[JSONValue] = [{name: side[name] for name in names} for side in (left, right)]
        yield set_to(found, root, "prompt", "*", *values)


def _documents(found: Found, root: Root) -> Iterator[Change]:
    facet = root.facet
    if facet is None or facet.base is None or facet.candidate is None:
        yield from _outputs(found, root)
    else:
        yield set_to(found, root, "retrieval", "documents", facet.base, facet.candidate)


def _outputs(found: Found, root: Root) -> Iterator[Change]:
    yield _output(found, root)


def _output(found: Found, root: Root) -> Change:
    """Another answer of the world, of an operator or of code."""
    base, candidate = root.pair.sides or (None, None)
    if base is None or candidate is None:
        return untestable(root, f"only one of the runs has this step; {RUN_BOTH}")
    left, right = found.outputs(root.pair)
    if root.pair.step.type is not StepType.TOOL:
        return untestable(root, _SAME) if left == right else set_to(found, root, "output", "", left, right)
    if not {base.status, candidate.status} <= _ENDS:
        return untestable(root, f"one of the calls never ended, and no override leaves one open; {RUN_BOTH}")
    answers: list[JSONValue] = [
        {"output": value, "status": str(side.status)}
        for value, side in zip((left, right), (base, candidate), strict=True)
    ]
    return set_to(found, root, "tool", "", *answers)


def _answers(found: Found, root: Root) -> Change:
    """What the steps gave in the other run: whatever was changed about them, that is all that others felt of it."""
    made: list[JSONObject] = []
    undone: list[JSONObject] = []
    for place in root.places:
        pair = found.pairs[place]
        left, right = found.outputs(pair)
        if pair.sides is not None and left != right:
            made.append({"match": {"step": number(pair, 0)}, "output": right})
            undone.append({"match": {"step": number(pair, 1)}, "output": left})
    return made_by(root, made, undone) if made else untestable(root, _SAME)


_READERS: Final[Mapping[str, Callable[[Found, Root], Iterable[Change]]]] = {
    "system prompt": system_prompt,
    "message list": message_list,
    WINDOW: context_window,
    "model": _model,
    "tool schemas": _schemas,
    "parameters": _parameters,
    "settings": _settings,
    "query": _settings,
    "arguments": _arguments,
    "template": _prompt,
    "template version and variables": _prompt,
    "documents": _documents,
}


def _apart(changes: Sequence[Change]) -> list[Change]:
    """Changes that set the same field of the same step cannot be told apart: only the first one is tried."""
    taken: set[str] = set()
    found: list[Change] = []
    for change in changes:
        own = _sets(change)
        if own & taken:
            why = f"it stands in the same place as another change, and the two cannot be told apart; {RUN_BOTH}"
            change = Change(atom=replace(change.atom, why_not=why))
        taken |= own
        found.append(change)
    return found


def _sets(change: Change) -> set[str]:
    """The places that a change sets on the base."""
    value = None if isinstance(change.candidate, Absent) else change.candidate
    entries = change.made or tuple(slot.entry(value) for slot in change.on_base)
    return {f"{entry['match']} {place}" for entry in entries for place in _places(entry)}


def _places(entry: JSONObject) -> Iterator[str]:
    """The fields of a step that an override sets, and the messages that it edits."""
    for category, value in entry.items():
        if category == "messages" and isinstance(value, list):
            yield from (f"message {obj(edit).get('index')}" for edit in value if obj(edit).get("op") != "insert")
        elif category in {"prompt", "model", "retrieval"}:
            yield from (f"{category} {name}" for name in _fields(obj(value)))
        elif category != "match":
            yield "output" if category == "tool" else category


def _fields(value: JSONObject) -> Iterator[str]:
    for name, item in value.items():
        if name == "parameters":
            yield from obj(item)
        elif name == "unset" and isinstance(item, list):
            yield from map(str, item)
        else:
            yield name


def _dependent(changes: Sequence[Change]) -> list[Change]:
    """A prompt that tells of a tool has no meaning where that is not offered."""
    offering = [change for change in changes if _field(change) == "tools"]
    prompts = [change for change in changes if _field(change) == "system"]
    requires: dict[str, set[str]] = {}
    for schemas in offering:
        new, gone = _names(schemas.candidate) - _names(schemas.base), _names(schemas.base) - _names(schemas.candidate)
        for prompt in prompts:
            before, after = str(prompt.base), str(prompt.candidate)
            if any(_tells(after, name) and not _tells(before, name) for name in new):
                requires.setdefault(prompt.atom.id, set()).add(schemas.atom.id)
            if any(_tells(before, name) and not _tells(after, name) for name in gone):
                requires.setdefault(schemas.atom.id, set()).add(prompt.atom.id)
    return [
        replace(change, atom=replace(change.atom, requires=frozenset(requires.get(change.atom.id, ()))))
        for change in changes
    ]


def _field(change: Change) -> str:
    return change.on_base[0].field if change.on_base and change.atom.testable else ""


def _names(tools: object) -> set[str]:
    listed = tools if isinstance(tools, list) else []
    return {str(tool["name"]) for tool in listed if isinstance(tool, dict) and tool.get("name")}


def _tells(text: str, name: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) is not None
