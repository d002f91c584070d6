"""An OpenHands session, independent of the version that wrote its events."""

from dataclasses import dataclass, field, replace

from traces.core.json_access import as_object
from traces.core.json_types import JSONObject, JSONValue
from traces.importers.common.transcript_messages import TranscriptMessage


@dataclass(kw_only=True)
class Session:
    """The conversation so far and the facts about it."""

    messages: list[TranscriptMessage] = field(default_factory=list)
    # The event id of each message.
    events: list[JSONValue] = field(default_factory=list)
    tools: list[JSONValue] = field(default_factory=list)
    model: str = ""
    output: str = ""
    failed: bool = False
    has_costs: bool = False
    # Of the whole session, if those of its calls are unknown.
    cost: JSONValue = None
    metadata: JSONObject = field(default_factory=dict)
    # Events that are no part of the conversation: hooks, pauses.
    notes: list[JSONValue] = field(default_factory=list)

    def append(self, message: TranscriptMessage, event_id: JSONValue) -> None:
        self.messages.append(message)
        self.events.append(event_id)

    def condense(self, forgotten_ids: list[JSONValue], summary: str, offset: int, location: str) -> None:
        """Restart the history without the forgotten events, with the summary in their place."""
        dropped_ids = {event_id for event_id in forgotten_ids if isinstance(event_id, str | int)}
        last = next(
            (index for index in range(len(self.messages) - 1, -1, -1) if self.messages[index].resets_history), 0
        )
        remaining = [
            (message, event_id)
            for message, event_id in zip(self.messages[last:], self.events[last:], strict=True)
            if not (isinstance(event_id, str | int) and event_id in dropped_ids)
        ]
        if summary:
            summary_message: JSONObject = {"role": "user", "content": summary}
            remaining.insert(
                min(max(offset, 0), len(remaining)), (TranscriptMessage(value=summary_message, location=location), None)
            )
        for index, (message, event_id) in enumerate(remaining):
            # The repeated message has no time: its original time lies before the condensation.
            value: JSONObject = {key: item for key, item in as_object(message.value).items() if key != "ts"}
            self.append(
                replace(message, value=value, is_injected=True, resets_history=index == 0, actions=()), event_id
            )
        count = self.metadata.get("condensations")
        self.metadata["condensations"] = (count if isinstance(count, int) else 0) + 1
