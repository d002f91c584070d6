"""Steps of one run alone: no replay adds or removes one, but what it gave can be put where it was used. Pure.

The effect of a step on the rest of a run is what others were given by it. Where all of that is recorded on both sides,
the run with the step and the run without it are known, but for the step itself.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from diffing.attribution.unexplained_changes import Atom as Root
from diffing.attribution.verdict import atom_phrase
from diffing.compare.comparison import Pair
from diffing.compare.data_flow import FlowLink
from diffing.content.message_diff import MessagePair, changed_messages
from replay.proofs.changes import message_edits
from replay.proofs.changes.atoms import Change
from replay.proofs.changes.message_edits import Edits
from replay.proofs.changes.overrides import RUN_BOTH, Found, made_by, number, obj, untestable
from traces.core.json_types import JSONObject, JSONValue
from traces.core.vocabulary import EdgeKind, StepType

_PROMPT: Final = ("template", "template_id", "version", "variables")
_QUERY: Final = ("query", "top_k", "filters", "embedding_profile")
_NOWHERE: Final = "what it gave stands in nothing that other steps were given, so no replay can show what it did"
_STANDS_IN: Final = "What it gave is put where it was used; the step itself is not added, nor taken away."


@dataclass
class _Group:
    """Steps of one run alone that belong together; `used`: by place, who of both runs was given what they gave."""

    roots: list[Root]
    members: set[int]
    side: int
    used: dict[int, list[FlowLink]] = field(default_factory=dict)

    @property
    def fed(self) -> set[tuple[int, str]]:
        return {(place, _message(travel.path)) for place, travels in self.used.items() for travel in travels}


def lone_steps(found: Found, roots: Sequence[Root]) -> Iterator[tuple[Root, Change]]:
    """A change for the steps that stand alone; those that feed the same place are one."""
    groups: list[_Group] = []
    for root in roots:
        group = _group(found, root)
        for other in [one for one in groups if one.members & group.members or one.fed & group.fed]:
            groups.remove(other)
            group = _joined(other, group)
        groups.append(group)
    for group in groups:
        yield group.roots[0], _change(found, group)


def _group(found: Found, root: Root) -> _Group:
    """A step with those that only its run has and that used it, and who else did."""
    side = int(root.pair.base is None)
    group = _Group(roots=[root], members=set(root.places), side=side)
    waiting = list(root.places)
    while waiting:
        for travel in found.seen.flow.outgoing.get(waiting.pop(), ()):
            if found.pairs[travel.consumer].sides is not None:
                group.used.setdefault(travel.consumer, []).append(travel)
            elif travel.consumer not in group.members:
                group.members.add(travel.consumer)
                waiting.append(travel.consumer)
    return group


def _joined(one: _Group, other: _Group) -> _Group:
    used = {place: [*one.used.get(place, ()), *other.used.get(place, ())] for place in {*one.used, *other.used}}
    return _Group(roots=[*one.roots, *other.roots], members=one.members | other.members, side=one.side, used=used)


def _change(found: Found, group: _Group) -> Change:
    root = group.roots[0]
    if why := _unknown(found, group):
        change = untestable(root, f"{why}; {RUN_BOTH}")
    else:
        made: list[JSONObject] = []
        undone: list[JSONObject] = []
        for place, travels in sorted(group.used.items()):
            there, back = _given(found, place, travels, group) or ([], [])
            made += there
            undone += back
        change = made_by(root, made, undone) if made else untestable(root, _NOWHERE)
    named = [atom_phrase(each) for each in group.roots]
    more = len(named) - 1
    title = f"{named[0]}, and {more} more step{'' if more == 1 else 's'}" if more else named[0]
    said = f"{change.atom.description} {_STANDS_IN}" if change.atom.testable else change.atom.description
    return replace(change, atom=replace(change.atom, title=title, description=said))


def _unknown(found: Found, group: _Group) -> str:
    """Why the run with the steps, or without them, is not known; empty when it is."""
    if not group.used:
        return "no replay adds a step or takes one away, and no recorded data flow says who used what it gave"
    for member in sorted(group.members):
        if _fed_by_others(found, member, "", group.members):
            return "what it gave depends on other changes as well, and only the agent's own code computes it anew"
    for place, travels in sorted(group.used.items()):
        pair = found.pairs[place]
        what = f"step {pair.step.sequence_no} ({pair.step.type} {pair.step.display_name})"
        if pair.step.type not in {StepType.MODEL, StepType.TOOL, StepType.RETRIEVAL, StepType.PROMPT}:
            return f"it is used by {what}, which only the agent's own code computes"
        if any(travel.kind is EdgeKind.HISTORY for travel in travels):
            return f"{what} goes on with its conversation, and what else was said there came with it"
        if any(_fed_by_others(found, place, _message(travel.path), group.members) for travel in travels):
            return f"{what} was given it together with what other changes made"
        if _given(found, place, travels, group) is None:
            return f"what {what} was given without it is not recorded"
    return ""


def _fed_by_others(found: Found, place: int, path: str, members: Collection[int]) -> bool:
    """Whether something else that changed went to the same place; of a model only into the same message."""
    whole = not path or found.pairs[place].step.type is not StepType.MODEL
    return any(
        travel.producer not in members and found.seen.flow.carries(travel) and (whole or _message(travel.path) == path)
        for travel in found.seen.flow.incoming.get(place, ())
    )


def _given(found: Found, place: int, travels: Sequence[FlowLink], group: _Group) -> Edits | None:
    """What gives one step of the base what the candidate's was given, and the other way round; None: not known."""
    pair = found.pairs[place]
    match pair.step.type:
        case StepType.MODEL:
            if place not in found.beginnings(sorted(group.used)):
                return [], []  # an edit stays in the history
            items = _messages_at(found, pair, {_message(travel.path) for travel in travels}, group.side)
            return message_edits.entries(found, [place], [item.key for item in items])
        case StepType.TOOL:
            return _whole(found, pair, "arguments")
        case StepType.RETRIEVAL:
            return _fields(found, pair, "retrieval", _QUERY)
        case _:
            return _fields(found, pair, "prompt", _PROMPT)


def _messages_at(found: Found, pair: Pair, paths: Collection[str], side: int) -> list[MessagePair]:
    left, right = (obj(value).get("messages") for value in found.inputs(pair))
    items = changed_messages(left if isinstance(left, list) else [], right if isinstance(right, list) else [])
    return [item for item in items if f"/messages/{(item.base_index, item.candidate_index)[side]}" in paths]


def _whole(found: Found, pair: Pair, category: str) -> Edits | None:
    left, right = found.inputs(pair)
    return None if left is None or right is None else _both(pair, category, left, right)


def _fields(found: Found, pair: Pair, category: str, names: Sequence[str]) -> Edits | None:
    left, right = (obj(value) for value in found.inputs(pair))
    differing = [name for name in {**left, **right} if left.get(name) != right.get(name)]
    if not set(differing) <= set(names) or any(None in (left.get(name), right.get(name)) for name in differing):
        return None
    values: list[JSONValue] = [{name: side[name] for name in differing} for side in (left, right)]
    return _both(pair, category, *values)


def _both(pair: Pair, category: str, base: JSONValue, candidate: JSONValue) -> Edits:
    if base == candidate:
        return [], []
    made: JSONObject = {"match": {"step": number(pair, 0)}, category: candidate}
    return [made], [{"match": {"step": number(pair, 1)}, category: base}]


def _message(path: str) -> str:
    """The message of a request that a place lies in; empty where it is no message."""
    head = path.split("/")[:3]
    return "/".join(head) if head[1:2] == ["messages"] else ""
