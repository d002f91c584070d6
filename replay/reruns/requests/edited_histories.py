"""Edits of messages in the later calls of a conversation. Pure.

An agent keeps its own messages: one that was edited in a request comes again as it was in the next. So a call whose
messages begin with those of an edited request gets the edits of that request, unless it has edits of messages itself:

    step 1   [a]          its edit: a → A         the model reads [A]
    step 3   [a, b, c]    begins with [a]         the model reads [A, b, c]
"""

import hmac
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self

from replay.overrides.edits import NO_EDITS, Edits
from traces.core.canonical import canonical_bytes
from traces.core.json_access import as_integer, as_object, as_objects, as_text
from traces.core.json_types import JSONObject, JSONValue


@dataclass(frozen=True, kw_only=True, slots=True)
class EditedHistory:
    """A request that was edited: the number of its messages, their digest, and the recorded step in its place."""

    count: int
    digest: str
    step: int

    @classmethod
    def from_json(cls, value: JSONValue) -> Self:
        fields = as_object(value)
        count, step = as_integer(fields.get("count")) or 0, as_integer(fields.get("step")) or 0
        return cls(count=count, digest=as_text(fields.get("digest")), step=step)

    def to_json(self) -> JSONObject:
        return {"count": self.count, "digest": self.digest, "step": self.step}


class Conversation:
    """The messages of a request as the agent sent it, with the digests of its beginnings under a key."""

    def __init__(self, messages: Sequence[JSONValue], key: bytes) -> None:
        self._digests = [""]
        for message in messages:
            content = self._digests[-1].encode() + canonical_bytes(message)
            self._digests.append(hmac.digest(key, content, "sha256").hex())

    def history(self, step: int) -> EditedHistory:
        """Return what later requests that continue this one are recognised by."""
        return EditedHistory(count=len(self._digests) - 1, digest=self._digests[-1], step=step)

    def continues(self, history: EditedHistory) -> bool:
        """Return whether it begins with the messages of an earlier request."""
        return history.count < len(self._digests) and self._digests[history.count] == history.digest


def inherit(own: Edits, histories: Iterable[EditedHistory], by_step: Mapping[int, Edits]) -> Edits:
    """Return the edits of a call that continues these requests; `by_step` are the edits of the requests.

    Edits of messages count those of their own request: they replace the ones before them, as in other replays.
    """
    if own.messages:
        return own
    edits = NO_EDITS
    for history in sorted(histories, key=lambda item: item.count):
        step_edits = by_step.get(history.step, NO_EDITS)
        if step_edits.messages:
            edits = replace(step_edits, message_count=history.count)
        else:
            edits = replace(edits, prompt={**edits.prompt, **step_edits.prompt})
    prompt = {**edits.prompt, **own.prompt}
    return replace(own, messages=edits.messages, message_count=edits.message_count, prompt=prompt)


def has_same_form(messages: Sequence[JSONValue], recorded_messages: Sequence[JSONValue]) -> bool:
    """Return whether two conversations have the same roles and request the same tools, message by message."""
    return [_form(message) for message in messages] == [_form(message) for message in recorded_messages]


def _form(message: JSONValue) -> tuple[str, list[str]]:
    fields = as_object(message)
    return as_text(fields.get("role")), [as_text(call.get("name")) for call in as_objects(fields.get("tool_calls"))]
