"""Messages that differ between two runs, as edits: those that belong together in one change. Pure."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from diffing.attribution.unexplained_changes import Atom as Root
from diffing.compare.comparison import Pair
from diffing.content.facet import SYSTEM_ROLES
from diffing.content.message_diff import MessagePair, changed_messages
from replay.proofs.changes.atoms import Change, Slot
from replay.proofs.changes.overrides import Found, atom_of, made_by, number, obj, set_to, untestable
from traces.core.canonical import digest
from traces.core.json_types import JSONObject, JSONValue

_PLAIN: Final = frozenset({"role", "content"})
_NAMED: Final = "message"
_SIDES: Final = ("base", "candidate")
Edits = tuple[list[JSONObject], list[JSONObject]]  # overrides of the base, and of the candidate


def message_list(found: Found, root: Root) -> Iterator[Change]:
    """A change for each message that is other, new or gone; a call and its results are one."""
    assert root.facet is not None  # its caller looked
    sides = _messages(found, root.pair)
    for group in _together(root.facet.messages, sides):
        yield edited(found, root, group)


def context_window(found: Found, root: Root) -> Iterator[Change]:
    """All messages that one side's window dropped, at every step where it did."""
    assert root.facet is not None  # its caller looked
    made, undone = entries(found, root.places, {item.key for item in root.facet.messages}, once=True)
    yield made_by(root, made, undone)


def system_prompt(found: Found, root: Root) -> Iterator[Change]:
    """One text in the place of the other; several system messages are edited each on its own."""
    assert root.facet is not None  # its caller looked
    sides = _messages(found, root.pair)
    counts = [sum(obj(message).get("role") in SYSTEM_ROLES for message in side) for side in sides]
    texts = root.facet.base, root.facet.candidate
    if max(counts) <= 1 and all(isinstance(text, str) for text in texts):
        yield set_to(found, root, "prompt", "system", *texts)
        return
    for item in changed_messages(*sides):
        if item.role in SYSTEM_ROLES:
            yield edited(found, root, [item])


def edited(found: Found, root: Root, group: Sequence[MessagePair]) -> Change:
    """Messages edited where they first stand in each conversation."""
    places = found.beginnings(root.places)
    name = digest([list(item.key) for item in group])[:8]
    if len(group) == 1 and len(places) == 1:
        return _one(found, root, group[0], name)
    keys = {item.key for item in group}
    made, undone = entries(found, places, keys)
    return made_by(root, made, undone, name=name)


def entries(found: Found, places: Iterable[int], keys: Iterable[tuple[str, str]], *, once: bool = False) -> Edits:
    """What makes these differences on the base, and takes them back from the candidate.

    With `once`, a side that goes on its earlier edited messages is not edited in the same way again.
    """
    wanted = set(keys)
    seen: tuple[set[str], set[str]] = (set(), set())
    made: list[JSONObject] = []
    undone: list[JSONObject] = []
    for place in places:
        pair = found.pairs[place]
        if pair.sides is None:
            continue
        sides = _messages(found, pair)
        all_of_it = changed_messages(*sides)
        edits = [_edits(item, all_of_it, sides) for item in all_of_it if item.key in wanted]
        for side, entry in enumerate((made, undone)):
            own = [edit[side] for edit in edits]
            if once and number(pair, side) in found.continued[_SIDES[side]]:
                own = [edit for edit in own if digest(edit) not in seen[side]]
            seen[side].update(map(digest, own))
            for step, among in _by_entry(found, pair, side, own).items():
                entry.append({"match": {"step": step}, "messages": [*among]})
    return made, undone


def _by_entry(found: Found, pair: Pair, side: int, edits: Sequence[JSONObject]) -> dict[int | None, list[JSONObject]]:
    """Edits of a request by the step at which each has to be made."""
    groups: dict[int | None, list[JSONObject]] = {}
    for edit in edits:
        groups.setdefault(_entry(found, pair, side, edit), []).append(edit)
    return groups


def _entry(found: Found, pair: Pair, side: int, edit: JSONObject) -> int | None:
    """The step at which an edit has to be made; a message is added to the request that lacks it."""
    index = edit["index"]
    if edit["op"] == "insert" or not isinstance(index, int):
        return number(pair, side)
    return found.entry(pair, side, index)


def _one(found: Found, root: Root, item: MessagePair, name: str) -> Change:
    """A single message, which can be divided further."""
    assert root.facet is not None  # its caller looked
    sides = _messages(found, root.pair)
    made, undone = _edits(item, changed_messages(*sides), sides)
    slots = [
        tuple(
            Slot(match={"step": no}, category="messages", field=f"{_NAMED} {made['index']} {side}")
            for no in [_entry(found, root.pair, at, (made, undone)[at])]
            if no is not None
        )
        for at, side in enumerate(_SIDES)
    ]
    if not all(slots):
        return untestable(root, "the step that is given it is there in one run only", name=name)
    return Change(atom=atom_of(root, name=name), on_base=slots[0], on_candidate=slots[1], base=undone, candidate=made)


def _edits(
    item: MessagePair, among: Sequence[MessagePair], sides: tuple[list[JSONValue], list[JSONValue]]
) -> tuple[JSONObject, JSONObject]:
    """The edit of the base's messages, and the one of the candidate's."""
    before = [each for each in among if each is not item and _place(each) < _place(item)]
    shift = sum(each.base_index is None for each in before) - sum(each.candidate_index is None for each in before)
    on_base = item.base_index if item.base_index is not None else (item.candidate_index or 0) - shift
    on_candidate = item.candidate_index if item.candidate_index is not None else (item.base_index or 0) + shift
    left = _at(sides[0], item.base_index)
    right = _at(sides[1], item.candidate_index)
    return _edit(left, right, on_base), _edit(right, left, on_candidate)


def _edit(own: JSONObject | None, other: JSONObject | None, at: int) -> JSONObject:
    """The edit that makes a message what it is on the other side."""
    if other is None:
        return {"op": "delete", "index": at}
    op = "insert" if own is None else "replace"
    if _is_plain(other) and (own is None or _is_plain(own)):
        return {"op": op, "index": at, **other}
    return {"op": op, "index": at, "message": other}


def _is_plain(message: JSONObject) -> bool:
    return message.keys() <= _PLAIN and isinstance(message.get("role"), str)


def _together(
    items: Sequence[MessagePair], sides: tuple[list[JSONValue], list[JSONValue]]
) -> Iterator[list[MessagePair]]:
    """Calls with their results: a request with one and without the other would be refused."""
    groups: list[tuple[set[str], list[MessagePair]]] = []
    for item in items:
        ids = _call_ids(_at(sides[0], item.base_index)) | _call_ids(_at(sides[1], item.candidate_index))
        group = next((known for known in groups if known[0] & ids), None)
        if group is None:
            groups.append((ids, [item]))
        else:
            group[0].update(ids)
            group[1].append(item)
    yield from (group for _, group in groups)


def _call_ids(message: JSONObject | None) -> set[str]:
    """The ids of the calls that a message makes or answers."""
    given = message or {}
    calls = given.get("tool_calls")
    made = {str(call.get("id")) for call in calls if isinstance(call, dict)} if isinstance(calls, list) else set()
    return {*made, str(given["tool_call_id"])} if given.get("tool_call_id") else made


def _messages(found: Found, pair: Pair) -> tuple[list[JSONValue], list[JSONValue]]:
    left, right = (obj(value).get("messages") for value in found.inputs(pair))
    return left if isinstance(left, list) else [], right if isinstance(right, list) else []


def _at(messages: Sequence[JSONValue], index: int | None) -> JSONObject | None:
    return None if index is None or index >= len(messages) else obj(messages[index])


def _place(item: MessagePair) -> tuple[int, int]:
    base = item.base_index if item.base_index is not None else -1
    candidate = item.candidate_index if item.candidate_index is not None else -1
    return max(base, candidate), candidate
