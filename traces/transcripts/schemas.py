"""REST schemas of transcripts."""

from traces.core.schema import Schema
from traces.schemas import LostPayloadView


class Excerpt(Schema):
    """The beginning of a text, and the length of all of it."""

    text: str
    length: int


class TurnCall(Schema):
    """A tool call that a message requests, with its arguments as JSON."""

    id: str
    name: str
    arguments: Excerpt


class TurnDocument(Schema):
    title: str
    text: Excerpt


class Turn(Schema):
    """A message, or the output of a step. The role of an output that is no message is empty."""

    role: str
    name: str
    text: Excerpt
    is_json: bool  # the text is a value that is no text, as JSON
    thinking: Excerpt
    calls: list[TurnCall]
    blocks: list[str]  # the types of its content that is neither text, thinking nor a call
    documents: list[TurnDocument]


class TranscriptStep(Schema):
    """The turns of one step: what is new in its input, then its output."""

    sequence_no: int
    incoming: list[Turn]  # messages of its input that no earlier step shows
    more_incoming: int  # such messages beyond the first 100
    content: Turn | None  # null: it has no output
    repeats: int | None  # the model step whose answer its output repeats
    error: Excerpt
    losses: list[LostPayloadView]


class Transcript(Schema):
    steps: list[TranscriptStep]
    redactions: dict[str, str]  # why values were replaced, by the kind that their markers name
    next: int | None  # pass as `after` for the rest
