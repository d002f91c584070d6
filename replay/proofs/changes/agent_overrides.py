"""Overrides in the form in which a running agent's requests can be edited. Pure.

An agent keeps its own messages: one that is replaced in a request is there again, as it was, in the next. So an edit of
a message becomes one of its text, in every request that has it at this place.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from replay.overrides.profile import Match, MessageEdit, Override, OverrideProfile, Passage
from traces.core.json_types import JSONObject
from traces.core.vocabulary import StepType

# The message of a step's request at an index; None if it is not recorded.
MessageAt = Callable[[str, int], JSONObject | None]
_PLAIN = frozenset({"role", "content"})


class Unfit(Exception):
    """An edit that no request of a running agent can have. The message is the reason, as a clause."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _TextEdit:
    index: int
    before: str
    after: str


def fit(profile: OverrideProfile, message_at: MessageAt) -> OverrideProfile:
    """Return the overrides with which an agent's requests are edited; raise `Unfit`."""
    overrides: list[Override] = []
    text_edits: dict[_TextEdit, None] = {}
    for entry in profile.overrides:
        whole_edits = [edit for edit in entry.messages or () if edit.passages is None]
        text_edits |= dict.fromkeys(_text_edit(entry, edit, message_at) for edit in whole_edits)
        overrides += _remainder(entry, whole_edits)
    if text_edits:
        edits = [_edit(edit) for edit in text_edits]
        overrides.append(Override(match=Match(type=StepType.MODEL), messages=edits))
    return OverrideProfile(overrides=overrides)


def _remainder(entry: Override, edits: list[MessageEdit]) -> Iterator[Override]:
    """The entry without some edits of messages, unless it has no others."""
    if not edits:
        yield entry
        return
    rest = [edit for edit in entry.messages or () if edit not in edits]
    fields = {name: getattr(entry, name) for name in entry.model_fields_set - {"messages"}}
    if rest or fields.keys() - {"match"}:
        yield Override(**fields, **({"messages": rest} if rest else {}))


def _text_edit(entry: Override, edit: MessageEdit, message_at: MessageAt) -> _TextEdit:
    if edit.op != "replace":
        raise Unfit("the agent builds its messages itself, and none can be added or left out")
    message = None if entry.match.step is None else message_at(str(entry.match.step), edit.index)
    new = edit.message or {"role": edit.role or (message or {}).get("role"), "content": edit.content}
    before, after = (message or {}).get("content"), new.get("content")
    has_texts = isinstance(before, str) and isinstance(after, str) and before != ""
    if message is None or not has_texts or message.get("role") != new.get("role") or new.keys() - _PLAIN:
        raise Unfit("the agent builds its messages itself, and only a text in them can be replaced")
    return _TextEdit(index=edit.index, before=str(before), after=str(after))


def _edit(edit: _TextEdit) -> MessageEdit:
    return MessageEdit(op="replace", index=edit.index, passages=[Passage(before=edit.before, after=edit.after)])
