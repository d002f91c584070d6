"""Steps of one run only: no replay can add or remove a step, but its output can be put where it was used. Pure.

The effect of a step on the rest of a run is the use of its output. If all of these uses are recorded on both sides, the
run with the step and the run without it are known, except for the step itself.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from diffing.attribution.unexplained_changes import Atom as Root
from diffing.attribution.verdict import atom_phrase
from diffing.compare.comparison import Pair
from diffing.compare.data_flow import FlowLink
from diffing.content.message_diff import MessagePair, changed_messages
from diffing.sentences.atoms.obstacles import STAND_IN, Obstacle, step_name
from diffing.sentences.atoms.titles import request_of_step, several_steps
from replay.proofs.changes import message_edits
from replay.proofs.changes.atoms import Change
from replay.proofs.changes.message_edits import Edits
from replay.proofs.changes.overrides import RunPair, number, override_change, untestable
from traces.core.json_access import as_list, as_object
from traces.core.json_types import JSONObject, JSONValue
from traces.core.vocabulary import EdgeKind, StepType
from traces.payloads.messages import Message, ModelRequest

_PROMPT: Final = ("template", "template_id", "version", "variables")
_QUERY: Final = ("query", "top_k", "filters", "embedding_profile")


@dataclass
class _Group:
    """Steps of one run only that belong together; `uses`: how steps of both runs used their outputs, by place."""

    roots: list[Root]
    members: set[int]
    side: int
    uses: dict[int, list[FlowLink]] = field(default_factory=dict)

    @property
    def targets(self) -> set[tuple[int, str]]:
        return {(place, _message(travel.path)) for place, travels in self.uses.items() for travel in travels}


@dataclass(frozen=True, kw_only=True)
class _Problem:
    """Why a group of steps cannot be tested, and the step that prevents it."""

    kind: Obstacle
    step: str = ""


def lone_steps(runs: RunPair, roots: Sequence[Root]) -> Iterator[tuple[Root, Change]]:
    """One change for each step of one run only; steps whose outputs reach the same input are one change."""
    groups: list[_Group] = []
    for root in roots:
        group = _group(runs, root)
        for earlier in [item for item in groups if item.members & group.members or item.targets & group.targets]:
            groups.remove(earlier)
            group = _join(earlier, group)
        groups.append(group)
    for group in groups:
        yield group.roots[0], _change(runs, group)


def _group(runs: RunPair, root: Root) -> _Group:
    """A step and the steps of its run only that used it, with the uses in both runs."""
    side = int(root.pair.base is None)
    group = _Group(roots=[root], members=set(root.places), side=side)
    queue = list(root.places)
    while queue:
        for travel in runs.examination.flow.outgoing(queue.pop()):
            if runs.pairs[travel.consumer].sides is not None:
                group.uses.setdefault(travel.consumer, []).append(travel)
            elif travel.consumer not in group.members:
                group.members.add(travel.consumer)
                queue.append(travel.consumer)
    return group


def _join(first: _Group, second: _Group) -> _Group:
    places = {*first.uses, *second.uses}
    return _Group(
        roots=[*first.roots, *second.roots],
        members=first.members | second.members,
        side=first.side,
        uses={place: [*first.uses.get(place, ()), *second.uses.get(place, ())] for place in places},
    )


def _change(runs: RunPair, group: _Group) -> Change:
    root = group.roots[0]
    if problem := _problem(runs, group):
        change = untestable(root, problem.kind, step=problem.step)
    else:
        on_base: list[JSONObject] = []
        on_candidate: list[JSONObject] = []
        for place, travels in sorted(group.uses.items()):
            base_edits, candidate_edits = _input_edits(runs, place, travels, group) or ([], [])
            on_base += base_edits
            on_candidate += candidate_edits
        change = override_change(root, on_base, on_candidate) if on_base else untestable(root, Obstacle.OUTPUT_UNUSED)
    title = several_steps(atom_phrase(root), len(group.roots) - 1)
    description = change.atom.description
    if change.atom.testable:
        description = f"{description} {STAND_IN}"
    if request := _own_request(runs, root.pair):
        description = f"{description} {request_of_step(request)}"
    return replace(change, atom=replace(change.atom, title=title, description=description))


def _own_request(runs: RunPair, pair: Pair) -> str:
    """The last user's message to a model step of one run; empty if the other run's models received it as well.

    Example: an input with one more line is one batch more, for which the agent's code calls a model once more.
    """
    side = int(pair.base is None)
    text = next(reversed(_user_texts(runs, pair, side)), "")
    other_texts = (text for other in runs.pairs for text in _user_texts(runs, other, 1 - side))
    return text if text and not any(text in other for other in other_texts) else ""


def _user_texts(runs: RunPair, pair: Pair, side: int) -> list[str]:
    if pair.step.type != StepType.MODEL:
        return []
    messages = map(Message, ModelRequest(runs.inputs(pair)[side]).messages)
    return [message.text for message in messages if message.role == "user"]


def _problem(runs: RunPair, group: _Group) -> _Problem | None:
    """Why the run with the steps, or without them, is unknown; None if both are known."""
    if not group.uses:
        return _Problem(kind=Obstacle.NO_DATA_FLOW)
    for member in sorted(group.members):
        if _has_other_source(runs, member, "", group.members):
            return _Problem(kind=Obstacle.OTHER_CAUSES)
    for place, travels in sorted(group.uses.items()):
        pair = runs.pairs[place]
        step = step_name(pair.step.sequence_no, pair.step.type, pair.step.display_name)
        if pair.step.type not in {StepType.MODEL, StepType.TOOL, StepType.RETRIEVAL, StepType.PROMPT}:
            return _Problem(kind=Obstacle.CODE_CONSUMER, step=step)
        if any(travel.kind is EdgeKind.HISTORY for travel in travels):
            return _Problem(kind=Obstacle.CONVERSATION, step=step)
        if any(_has_other_source(runs, place, _message(travel.path), group.members) for travel in travels):
            return _Problem(kind=Obstacle.MIXED_INPUT, step=step)
        if _input_edits(runs, place, travels, group) is None:
            return _Problem(kind=Obstacle.OTHER_INPUT_UNRECORDED, step=step)
    return None


def _has_other_source(runs: RunPair, place: int, path: str, members: Collection[int]) -> bool:
    """Return whether another change reaches the same input; for a model, the same message."""
    flow = runs.examination.flow
    whole = not path or runs.pairs[place].step.type is not StepType.MODEL
    return any(
        travel.producer not in members and flow.carries(travel) and (whole or _message(travel.path) == path)
        for travel in flow.incoming(place)
    )


def _input_edits(runs: RunPair, place: int, travels: Sequence[FlowLink], group: _Group) -> Edits | None:
    """The overrides that exchange a step's inputs between base and candidate; None: unknown."""
    pair = runs.pairs[place]
    match pair.step.type:
        case StepType.MODEL:
            # Later steps of a conversation need no edit: it stays in the history.
            if place not in runs.beginnings(sorted(group.uses)):
                return [], []
            items = _messages_at(runs, pair, {_message(travel.path) for travel in travels}, group.side)
            return message_edits.entries(runs, [place], items)
        case StepType.TOOL:
            return _whole(runs, pair, "arguments")
        case StepType.RETRIEVAL:
            return _fields(runs, pair, "retrieval", _QUERY)
        case _:
            return _fields(runs, pair, "prompt", _PROMPT)


def _messages_at(runs: RunPair, pair: Pair, paths: Collection[str], side: int) -> list[MessagePair]:
    left, right = (as_object(value).get("messages") for value in runs.inputs(pair))
    items = changed_messages(as_list(left), as_list(right))
    return [item for item in items if f"/messages/{(item.base_index, item.candidate_index)[side]}" in paths]


def _whole(runs: RunPair, pair: Pair, category: str) -> Edits | None:
    left, right = runs.inputs(pair)
    return None if left is None or right is None else _exchange(pair, category, left, right)


def _fields(runs: RunPair, pair: Pair, category: str, names: Sequence[str]) -> Edits | None:
    left, right = (as_object(value) for value in runs.inputs(pair))
    differing = [name for name in {**left, **right} if left.get(name) != right.get(name)]
    if not set(differing) <= set(names) or any(None in (left.get(name), right.get(name)) for name in differing):
        return None
    values: list[JSONValue] = [{name: side[name] for name in differing} for side in (left, right)]
    return _exchange(pair, category, *values)


def _exchange(pair: Pair, category: str, base: JSONValue, candidate: JSONValue) -> Edits:
    """The overrides that give each side the value of the other."""
    if base == candidate:
        return [], []
    on_base: JSONObject = {"match": {"step": number(pair, 0)}, category: candidate}
    return [on_base], [{"match": {"step": number(pair, 1)}, category: base}]


def _message(path: str) -> str:
    """The message of a request that contains a path; empty if it is not in a message."""
    head = path.split("/")[:3]
    return "/".join(head) if head[1:2] == ["messages"] else ""
