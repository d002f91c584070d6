"""Chats as their clients store them, and the answer, call or result that a part of a message is."""

from dataclasses import dataclass, field

from traces.core.json_access import as_text
from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedJudgement
from traces.importers.formats.session_logs.pieces import Pieces


@dataclass(kw_only=True)
class Chat:
    """A conversation of a client."""

    app: str
    location: str
    id: str = ""
    title: str = ""
    model: str = ""
    system: JSONValue = None
    parameters: JSONObject = field(default_factory=dict)
    facts: JSONObject = field(default_factory=dict)
    judgements: list[RecordedJudgement] = field(default_factory=list)
    pieces: Pieces = field(default_factory=Pieces)

    def add_message(self, role: JSONValue, content: JSONValue, time: JSONValue, **facts: JSONValue) -> None:
        """Add a message that no model wrote."""
        message: JSONObject = {"role": as_text(role) or "user", "content": content, "ts": time, **facts}
        self.pieces.add_message(message, self.location)

    def begin_answer(self) -> None:
        """End the answer before: the next part is of another message."""
        self.pieces.end_answer()

    def add_text(self, text: JSONValue, time: JSONValue, *, is_thought: bool = False) -> None:
        kind = "thinking" if is_thought else "text"
        if text:
            self.pieces.add_block({"type": kind, kind: text}, time, self.location)

    def add_call(self, id: JSONValue, name: JSONValue, arguments: JSONValue, time: JSONValue) -> None:
        call: JSONObject = {"id": as_text(id), "name": name, "arguments": arguments}
        self.pieces.add_call(call, time, self.location)

    def add_result(
        self, id: JSONValue, content: JSONValue, time: JSONValue, *, is_failed: bool = False, **facts: JSONValue
    ) -> None:
        failure: JSONObject = {"is_error": True} if is_failed else {}
        result: JSONObject = {**facts, "tool_call_id": as_text(id), "content": content, "ts": time, **failure}
        self.pieces.add_result(result, self.location)
