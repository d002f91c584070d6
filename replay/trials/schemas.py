"""What the REST interface says about trying a tool or a retriever out, and about the retrievers there are."""

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field, StrictBool, StringConstraints

from replay.core.vocabulary import TrialStatus
from traces.core.json_types import JSONObject, JSONValue
from traces.core.schema import Schema

Name = Annotated[str, StringConstraints(min_length=1, max_length=300)]


class ToolTrialRequest(Schema):
    """`confirmed`: it may run now although nobody has reviewed it as safe."""

    name: Name
    arguments: JSONObject = {}
    confirmed: StrictBool = False


class RetrieverTrialRequest(Schema):
    """What is left out is as the retriever has it."""

    name: Name
    query: Annotated[str, StringConstraints(min_length=1, max_length=100_000)]
    top_k: Annotated[int, Field(ge=0, le=1000)] | None = None
    filters: JSONObject | None = None
    embedding_profile: str | None = None


class TrialView(Schema):
    """One call of a tool or one search, outside of any replay. It stays, with who made it."""

    id: UUID
    kind: Literal["tool", "retrieval"]
    name: str
    input: JSONValue
    confirmed: bool  # it ran without a review
    status: TrialStatus
    executor: str  # what ran it
    output: JSONValue  # of a tool: its answer; of a retriever: `{documents}`
    output_status: str  # as the tool itself said: "ok" or "error"; empty: there is no answer
    error_code: str
    error: str
    by: str
    at: datetime
    duration_ms: float | None


class TrialList(Schema):
    """The newest first."""

    trials: list[TrialView]


class EmbeddingView(Schema):
    name: str
    by: str  # who makes the vector


class RetrieverView(Schema):
    """A configured retriever; what is secret never leaves the server."""

    name: str
    kind: Literal["chroma", "qdrant", "pgvector", "http"]
    asks: str
    serves: list[str]  # globs over step names; empty: any
    stores: list[str]  # globs over the store that a recording names; empty: any
    embeddings: list[EmbeddingView]  # empty: the store embeds the text itself
    embedding: str  # used unless a step asks for another
    top_k: int
    timeout_s: float


class RetrieverList(Schema):
    retrievers: list[RetrieverView]
