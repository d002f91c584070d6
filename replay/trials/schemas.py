"""REST schemas of trials and of the configured retrievers."""

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field, StrictBool, StringConstraints

from replay.core.vocabulary import TrialStatus
from traces.core.json_types import JSONObject, JSONValue
from traces.core.schema import Schema

Name = Annotated[str, StringConstraints(min_length=1, max_length=300)]


class ToolTrialRequest(Schema):
    """`confirmed`: the tool may run now, although no review calls it safe."""

    name: Name
    arguments: JSONObject = {}
    confirmed: StrictBool = False


class RetrieverTrialRequest(Schema):
    """Omitted fields use the retriever's defaults."""

    name: Name
    query: Annotated[str, StringConstraints(min_length=1, max_length=100_000)]
    top_k: Annotated[int, Field(ge=0, le=1000)] | None = None
    filters: JSONObject | None = None
    embedding_profile: str | None = None


class TrialView(Schema):
    """One call of a tool or one search, outside of any replay. It is kept with the name of its user."""

    id: UUID
    kind: Literal["tool", "retrieval"]
    name: str
    input: JSONValue
    # It ran without a review as safe.
    confirmed: bool
    status: TrialStatus
    executor: str
    # The answer of a tool; `{documents}` of a retriever.
    output: JSONValue
    # The status that the tool itself returned, "ok" or "error"; empty without an answer.
    output_status: str
    error_code: str
    error: str
    by: str
    at: datetime
    duration_ms: float | None


class TrialList(Schema):
    """Newest first."""

    trials: list[TrialView]


class EmbeddingView(Schema):
    name: str
    # The service that computes the vector.
    by: str


class RetrieverView(Schema):
    """A configured retriever. Secrets never leave the server."""

    name: str
    kind: Literal["chroma", "qdrant", "pgvector", "http"]
    asks: str
    # Globs over step names; empty: any.
    serves: list[str]
    # Globs over the recorded store name; empty: any.
    stores: list[str]
    # Empty: the store embeds the text itself.
    embeddings: list[EmbeddingView]
    # The default, unless a step requests another one.
    embedding: str
    top_k: int
    timeout_s: float


class RetrieverList(Schema):
    retrievers: list[RetrieverView]
