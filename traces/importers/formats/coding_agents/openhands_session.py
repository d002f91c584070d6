"""What events of OpenHands make up, whichever version wrote them."""

from dataclasses import dataclass, field, replace

from traces.core.json_types import JSONObject, JSONValue
from traces.importers.common.transcripts import TranscriptMessage
from traces.importers.files.json_reader import obj


@dataclass(kw_only=True)
class Session:
    """The conversation so far, and the facts around it."""

    said: list[TranscriptMessage] = field(default_factory=list)
    events: list[JSONValue] = field(default_factory=list)  # the id of the event of each message
    tools: list[JSONValue] = field(default_factory=list)
    model: str = ""
    output: str = ""
    failed: bool = False
    has_costs: bool = False
    metadata: JSONObject = field(default_factory=dict)

    def say(self, said: TranscriptMessage, event: JSONValue) -> None:
        self.said.append(said)
        self.events.append(event)

    def condense(self, forgotten: list[JSONValue], summary: str, offset: int, where: str) -> None:
        """Show the model only what was not forgotten from here on, with the summary in its place."""
        gone = {each for each in forgotten if isinstance(each, str | int)}
        last = next((at for at in range(len(self.said) - 1, -1, -1) if self.said[at].resets_history), 0)
        kept = [
            (said, event)
            for said, event in zip(self.said[last:], self.events[last:], strict=True)
            if not (isinstance(event, str | int) and event in gone)
        ]
        if summary:
            message: JSONObject = {"role": "user", "content": summary}
            kept.insert(min(max(offset, 0), len(kept)), (TranscriptMessage(value=message, location=where), None))
        for at, (said, event) in enumerate(kept):
            # said again later than it was first said
            value: JSONObject = {key: item for key, item in obj(said.value).items() if key != "ts"}
            self.say(replace(said, value=value, is_injected=True, resets_history=at == 0, actions=()), event)
        count = self.metadata.get("condensations")
        self.metadata["condensations"] = (count if isinstance(count, int) else 0) + 1
