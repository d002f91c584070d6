"""Messages that differ between two runs as edits, grouped into changes. Pure."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from diffing.attribution.unexplained_changes import Atom as Root
from diffing.compare.comparison import Pair
from diffing.content.facet import SYSTEM_ROLES, category_of
from diffing.content.message_diff import MessagePair, changed_messages
from diffing.sentences.atoms.obstacles import Obstacle
from diffing.sequences.word_hunks import Hunk, hunks, passage, with_hunks
from replay.proofs.changes.atoms import Change, Slot
from replay.proofs.changes.overrides import RunPair, atom_of, number, override_change, set_to, untestable
from traces.core.canonical import digest
from traces.core.json_access import as_integer, as_list, as_object, as_text, has_string
from traces.core.json_types import JSONObject, JSONValue
from traces.core.vocabulary import StepType
from traces.payloads.messages import Message

_PLAIN: Final = frozenset({"role", "content"})
_FIELD: Final = "message"
_SIDES: Final = ("base", "candidate")
# Overrides of the base and of the candidate.
Edits = tuple[list[JSONObject], list[JSONObject]]


def message_roots(runs: RunPair, root: Root) -> list[Root]:
    """The differing messages of a step as roots of their own, so that each has its own title and its own texts.

    A call and its results are one.
    """
    if root.facet is None or root.facet.kind != "message list" or root.input_place is not None:
        return [root]
    # A later message that repeats one of these differences belongs to the same change.
    repeated_messages = [item for item in root.facet.messages if item.source is not None]
    own_messages = [item for item in root.facet.messages if item.source is None]
    if not own_messages:
        # A remark that messages pass on is one change, however many contain it.
        return [root]
    groups = _group_calls(own_messages, _messages(runs, root.pair))
    parts = (
        (*group, *(item for item in repeated_messages if item.source in {own.key for own in group})) for group in groups
    )
    facets = [replace(root.facet, messages=messages) for messages in parts]
    return [replace(root, facet=facet, category=category_of(facet)) for facet in facets]


def message_list(runs: RunPair, root: Root) -> Iterator[Change]:
    """The edit of these messages."""
    # The caller has checked it.
    assert root.facet is not None
    make = _run_input if root.input_place is not None else edit_messages
    yield make(runs, root, root.facet.messages)


def _run_input(runs: RunPair, root: Root, messages: Sequence[MessagePair]) -> Change:
    """A changed input of the run, in the messages and in the calls by code that pass it on."""
    calls = [place for place in root.places if runs.pairs[place].step.type is not StepType.MODEL]
    if not calls:
        return edit_messages(runs, root, messages)
    on_base, on_candidate = entries(runs, runs.beginnings(root.places), messages)
    for place in calls:
        pair = runs.pairs[place]
        left, right = runs.inputs(pair)
        if left is None or right is None:
            return untestable(root, Obstacle.ARGUMENTS_UNRECORDED)
        for step, value, side in ((number(pair, 0), right, on_base), (number(pair, 1), left, on_candidate)):
            side.append({"match": {"step": step}, **_call_input(pair, value)})
    change = override_change(root, on_base, on_candidate)
    return replace(change, atom=replace(change.atom, rekeys=True))


def _call_input(pair: Pair, value: JSONValue) -> JSONObject:
    """The override that makes a call by code with this input; of a search, only the query passes on a run's input."""
    if pair.step.type is StepType.RETRIEVAL:
        return {"retrieval": {"query": as_object(value).get("query")}}
    return {"arguments": value}


def context_window(runs: RunPair, root: Root) -> Iterator[Change]:
    """All messages that one side's context window dropped, at every step where it did."""
    # The caller has checked it.
    assert root.facet is not None
    on_base, on_candidate = entries(runs, root.places, root.facet.messages, skip_repeats=True)
    yield override_change(root, on_base, on_candidate)


def system_prompt(runs: RunPair, root: Root) -> Iterator[Change]:
    """One change that sets the text; several system messages are separate changes."""
    # The caller has checked it.
    assert root.facet is not None
    sides = _messages(runs, root.pair)
    counts = [sum(as_text(as_object(message).get("role")) in SYSTEM_ROLES for message in side) for side in sides]
    texts = root.facet.base, root.facet.candidate
    if max(counts) <= 1 and (root.facet.passages or not _is_same_everywhere(runs, root)):
        yield _prompt_passages(runs, root)
        return
    if max(counts) <= 1 and all(isinstance(text, str) for text in texts):
        yield set_to(runs, root, "prompt", "system", *texts)
        return
    for item in changed_messages(*sides):
        if item.role in SYSTEM_ROLES:
            yield edit_messages(runs, root, [item])


def edit_messages(runs: RunPair, root: Root, group: Sequence[MessagePair]) -> Change:
    """A change that edits messages at the first step of each conversation that contains them."""
    places = runs.beginnings(root.places)
    # Two passages of one message can be two changes.
    name = digest([_identity(item) for item in group])[:8]
    if len(group) == 1 and len(places) == 1 and not group[0].passages:
        return _single_message(runs, root, group[0], name)
    on_base, on_candidate = entries(runs, places, group)
    return override_change(root, on_base, on_candidate, name=name)


def _identity(item: MessagePair) -> JSONValue:
    """What identifies a message's difference: its texts, and the passages if it is a part."""
    return [*item.key, *(words for hunk in item.passages for words in (hunk.base, hunk.candidate))]


def _is_same_everywhere(runs: RunPair, root: Root) -> bool:
    """Return whether the system prompt is the same text at all places of a change."""
    assert root.facet is not None
    expected = root.facet.base, root.facet.candidate
    return all(
        item is None or (item.base, item.candidate) == expected
        for item in (_system_message(runs, runs.pairs[place]) for place in root.places)
    )


def _system_message(runs: RunPair, pair: Pair) -> MessagePair | None:
    """The differing system prompt of a step of both runs."""
    if pair.sides is None:
        return None
    messages = changed_messages(*_messages(runs, pair))
    return next((item for item in messages if item.role in SYSTEM_ROLES and item.op == "changed"), None)


def _prompt_passages(runs: RunPair, root: Root) -> Change:
    """An edit of a system prompt whose other passages follow from earlier outputs."""
    facet = root.facet
    assert facet is not None
    own = facet.passages or hunks(str(facet.base), str(facet.candidate))
    words = [(hunk.base, hunk.candidate) for hunk in own]
    on_base: list[JSONObject] = []
    on_candidate: list[JSONObject] = []
    for place in runs.beginnings(root.places):
        item = _system_message(runs, runs.pairs[place])
        if item is None:
            continue
        differences = hunks(item.base, item.candidate)
        item = replace(item, passages=tuple(hunk for hunk in differences if (hunk.base, hunk.candidate) in words))
        sides = _messages(runs, runs.pairs[place])
        for edit, side, step in zip(_edits(item, [item], sides), (on_base, on_candidate), (0, 1), strict=True):
            side.append({"match": {"step": number(runs.pairs[place], step)}, "messages": [edit]})
    return override_change(root, on_base, on_candidate, name="system")


def entries(
    runs: RunPair, places: Iterable[int], differences: Iterable[MessagePair], *, skip_repeats: bool = False
) -> Edits:
    """The overrides that apply these differences to the base and revert them from the candidate.

    With `skip_repeats`, an edit is not repeated at a step that continues the edited conversation.
    """
    passages_by_key = {item.key: item.passages for item in differences}
    earlier_edits: tuple[set[str], set[str]] = (set(), set())
    on_base: list[JSONObject] = []
    on_candidate: list[JSONObject] = []
    for place in places:
        pair = runs.pairs[place]
        if pair.sides is None:
            continue
        sides = _messages(runs, pair)
        messages = changed_messages(*sides)
        edits = [
            _edits(replace(item, passages=passages_by_key[item.key]), messages, sides)
            for item in messages
            if item.key in passages_by_key
        ]
        for side, side_entries in enumerate((on_base, on_candidate)):
            own = [edit[side] for edit in edits]
            if skip_repeats and number(pair, side) in runs.previous_steps[_SIDES[side]]:
                own = [edit for edit in own if digest(edit) not in earlier_edits[side]]
            earlier_edits[side].update(map(digest, own))
            for step, step_edits in _by_entry(runs, pair, side, own).items():
                side_entries.append({"match": {"step": step}, "messages": [*step_edits]})
    return on_base, on_candidate


def _by_entry(runs: RunPair, pair: Pair, side: int, edits: Sequence[JSONObject]) -> dict[int | None, list[JSONObject]]:
    """Edits of a request by the step at which each has to be made."""
    groups: dict[int | None, list[JSONObject]] = {}
    for edit in edits:
        groups.setdefault(_entry(runs, pair, side, edit), []).append(edit)
    return groups


def _entry(runs: RunPair, pair: Pair, side: int, edit: JSONObject) -> int | None:
    """The step at which an edit has to be made; a message is inserted into the request that lacks it."""
    index = as_integer(edit["index"])
    if edit["op"] == "insert" or index is None:
        return number(pair, side)
    return runs.entry_step(pair, side, index)


def _single_message(runs: RunPair, root: Root, item: MessagePair, name: str) -> Change:
    """A change of one message, which can be divided further."""
    sides = _messages(runs, root.pair)
    edits = _edits(item, changed_messages(*sides), sides)
    slots = [
        tuple(
            Slot(match={"step": no}, category="messages", field=f"{_FIELD} {edits[0]['index']} {side}")
            for no in [_entry(runs, root.pair, index, edits[index])]
            if no is not None
        )
        for index, side in enumerate(_SIDES)
    ]
    if not all(slots):
        return untestable(root, Obstacle.CONSUMER_ON_ONE_SIDE, name=name)
    return Change(
        atom=atom_of(root, name=name),
        on_base=slots[0],
        on_candidate=slots[1],
        base=edits[1],
        candidate=edits[0],
    )


def _edits(
    item: MessagePair, items: Sequence[MessagePair], sides: tuple[list[JSONValue], list[JSONValue]]
) -> tuple[JSONObject, JSONObject]:
    """The edit of the base's messages and that of the candidate's."""
    before = [earlier for earlier in items if earlier is not item and _place(earlier) < _place(item)]
    shift = sum(earlier.base_index is None for earlier in before)
    shift -= sum(earlier.candidate_index is None for earlier in before)
    on_base = item.base_index if item.base_index is not None else (item.candidate_index or 0) - shift
    on_candidate = item.candidate_index if item.candidate_index is not None else (item.base_index or 0) + shift
    left = _at(sides[0], item.base_index)
    right = _at(sides[1], item.candidate_index)
    if item.passages and left is not None and right is not None:
        return _passage_edits(left, right, item.passages, (on_base, on_candidate))
    return _edit(left, right, on_base), _edit(right, left, on_candidate)


def _passage_edits(
    left: JSONObject, right: JSONObject, passages: Collection[Hunk], indexes: tuple[int, int]
) -> tuple[JSONObject, JSONObject]:
    """The edits of single passages, which leave the rest of a message as it is in a replay."""
    texts = str(left.get("content") or ""), str(right.get("content") or "")
    differences = hunks(*texts)
    places = [at for at, hunk in enumerate(differences) if hunk in passages]
    opposite = [hunk.mirror for hunk in differences]
    return (
        _passage_edit(indexes[0], texts, differences, places),
        _passage_edit(indexes[1], texts[::-1], opposite, places),
    )


def _passage_edit(index: int, texts: tuple[str, str], differences: Sequence[Hunk], places: Sequence[int]) -> JSONObject:
    """The edit of one side's text; a passage that cannot be told from others is replaced with the whole text."""
    edits_found = [passage(*texts, differences, at) for at in places]
    replacements: list[JSONValue] = [{"before": pair[0], "after": pair[1]} for pair in edits_found if pair is not None]
    if len(replacements) < len(edits_found) or not replacements:
        content = with_hunks(texts[0], [differences[at] for at in places], texts[1])
        return {"op": "replace", "index": index, "content": content}
    return {"op": "replace", "index": index, "passages": replacements}


def _edit(own: JSONObject | None, target: JSONObject | None, index: int) -> JSONObject:
    """The edit that turns a message into that of the other side."""
    if target is None:
        return {"op": "delete", "index": index}
    op = "insert" if own is None else "replace"
    if _is_plain(target) and (own is None or _is_plain(own)):
        return {"op": op, "index": index, **target}
    return {"op": op, "index": index, "message": target}


def _is_plain(message: JSONObject) -> bool:
    return message.keys() <= _PLAIN and has_string(message, "role")


def _group_calls(
    items: Sequence[MessagePair], sides: tuple[list[JSONValue], list[JSONValue]]
) -> Iterator[list[MessagePair]]:
    """Group calls with their results: a request that contains only one of them would be refused."""
    groups: list[tuple[set[str], list[MessagePair]]] = []
    for item in items:
        ids = _call_ids(_at(sides[0], item.base_index)) | _call_ids(_at(sides[1], item.candidate_index))
        group = next((candidate for candidate in groups if candidate[0] & ids), None)
        if group is None:
            groups.append((ids, [item]))
        else:
            group[0].update(ids)
            group[1].append(item)
    yield from (group for _, group in groups)


def _call_ids(message: JSONObject | None) -> set[str]:
    """The ids of the calls that a message makes or answers."""
    ids = {str(call.get("id")) for call in Message(message).calls}
    answer_id = as_object(message).get("tool_call_id")
    return {*ids, str(answer_id)} if answer_id else ids


def _messages(runs: RunPair, pair: Pair) -> tuple[list[JSONValue], list[JSONValue]]:
    left, right = (as_object(value).get("messages") for value in runs.inputs(pair))
    return as_list(left), as_list(right)


def _at(messages: Sequence[JSONValue], index: int | None) -> JSONObject | None:
    return None if index is None or index >= len(messages) else as_object(messages[index])


def _place(item: MessagePair) -> tuple[int, int]:
    base = item.base_index if item.base_index is not None else -1
    candidate = item.candidate_index if item.candidate_index is not None else -1
    return max(base, candidate), candidate
