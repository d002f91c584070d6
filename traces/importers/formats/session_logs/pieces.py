"""Messages of a session whose log has the pieces of answers: texts, thoughts, calls and results."""

from dataclasses import dataclass, field
from typing import Final

from traces.core.json_access import as_list, as_object, as_text
from traces.core.json_types import JSONObject, JSONValue
from traces.importers.common.transcript_messages import TranscriptMessage

_TEXTS: Final = ("text", "thinking")


@dataclass(kw_only=True)
class Pieces:
    """What a log has so far. After calls, a text is another answer; after results, so is a call."""

    _messages: list[TranscriptMessage] = field(default_factory=list)
    # A block of several pieces, which are joined once, so that the cost stays linear.
    _block: JSONObject | None = None
    _texts: list[str] = field(default_factory=list)
    _answer: JSONObject | None = None
    _answer_id: str = ""
    _has_results: bool = False

    @property
    def messages(self) -> list[TranscriptMessage]:
        """The messages so far, with whole texts."""
        self._join_texts()
        return self._messages

    def add_message(self, message: JSONObject, location: str, *, is_injected: bool = False) -> None:
        """Add a whole message that no model wrote."""
        self._answer = None
        self._messages.append(TranscriptMessage(value=message, location=location, is_injected=is_injected))

    def add_block(self, block: JSONObject, time: JSONValue, location: str, *, answer_id: str = "") -> None:
        """Add a block to the answer; a piece of a text continues the text before it."""
        answer = self._open(time, location, answer_id, is_block=True)
        blocks = as_list(answer["content"])
        last_block = as_object(blocks[-1]) if blocks else {}
        kind = as_text(block.get("type"))
        if kind not in _TEXTS or last_block.get("type") != kind:
            blocks.append(block)
            return
        if last_block is not self._block:
            self._join_texts()
            self._block, self._texts = last_block, [as_text(last_block.get(kind))]
        self._texts.append(as_text(block.get(kind)))

    def add_call(self, call: JSONObject, time: JSONValue, location: str, *, answer_id: str = "") -> None:
        answer = self._open(time, location, answer_id)
        as_list(answer["tool_calls"]).append(call)

    def end_answer(self) -> None:
        """Make the next piece another answer."""
        self._answer = None

    def drop_answer(self) -> JSONObject | None:
        """Remove the last answer, which its program began again, and return it; None if results followed it."""
        self._join_texts()
        answer, self._answer = self._answer, None
        if answer is None or self._has_results:
            return None
        # Whatever follows an answer ends it.
        self._messages.pop()
        return answer

    def annotate(self, facts: JSONObject) -> None:
        """Add what is known of the answer."""
        if self._answer is not None:
            self._answer.update({name: value for name, value in facts.items() if value not in (None, "", [], {})})

    def add_result(self, message: JSONObject, location: str) -> None:
        self._messages.append(TranscriptMessage(value={"role": "tool", **message}, location=location))
        self._has_results = True

    def _open(self, time: JSONValue, location: str, id: str, *, is_block: bool = False) -> JSONObject:
        """Return the answer that a piece belongs to."""
        answer = self._answer
        if answer is None or not self._continues(answer, id, is_block=is_block):
            # Of an answer at the beginning, the request is unknown.
            request: JSONValue = None if self._messages else []
            answer = {"role": "assistant", "content": [], "tool_calls": []}
            self._answer, self._answer_id, self._has_results = answer, "", False
            self._messages.append(TranscriptMessage(value=answer, location=location, request_messages=request))
        self._answer_id = id or self._answer_id
        answer["ts"] = time
        return answer

    def _continues(self, answer: JSONObject, id: str, *, is_block: bool) -> bool:
        if id and self._answer_id:
            return id == self._answer_id
        return not self._has_results and not (is_block and answer["tool_calls"])

    def _join_texts(self) -> None:
        if self._block is not None:
            self._block[as_text(self._block["type"])] = "".join(self._texts)
            self._block = None
