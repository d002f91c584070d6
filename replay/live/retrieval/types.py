"""Types of retrievers: configuration, searches and results."""

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from fnmatch import fnmatchcase
from typing import Annotated, Literal

from pydantic import Field, StringConstraints, model_validator

from replay.live.operator_urls import OperatorUrl
from replay.live.tools.types import Environment, Name
from traces.core.json_types import JSONObject
from traces.core.schema import Schema

Identifier = Annotated[str, StringConstraints(min_length=1, max_length=63, pattern=r"^[^\x00]+$")]
Pointer = Annotated[str, StringConstraints(pattern=r"^(/.*)?$")]
TopK = Annotated[int, Field(ge=1, le=1000)]


class Embedding(Schema):
    """The source of a query's vector: a provider, the packaged model, or the search engine.

    `vector` names the engine's vectors of this kind: a named vector of Qdrant, a column of PostgreSQL.
    """

    provider: Name | None = None
    model: Name | None = None
    dimensions: Annotated[int, Field(gt=0)] | None = None
    local: Literal["all-MiniLM-L6-v2"] | None = None
    engine: Name | None = None
    vector: Name | None = None

    @model_validator(mode="after")
    def _require_one_source(self) -> "Embedding":
        if sum(source is not None for source in (self.provider, self.local, self.engine)) != 1:
            raise ValueError("give exactly one of `provider`, `local` and `engine`")
        if (self.provider is None) != (self.model is None):
            raise ValueError("give `provider` and `model` together")
        return self

    @property
    def summary(self) -> str:
        """Describe the source of the vector."""
        if self.provider is not None:
            return f"{self.model} of {self.provider}"
        return f"{self.local} here" if self.local is not None else f"{self.engine} in the store"


class Chroma(Schema):
    url: OperatorUrl
    collection: Name
    tenant: Name = "default_tenant"
    database: Name = "default_database"
    headers_env: Environment = {}


class Qdrant(Schema):
    """`content` is the payload field with the text."""

    url: OperatorUrl
    collection: Name
    content: Name = "content"
    headers_env: Environment = {}


class Pgvector(Schema):
    """A PostgreSQL table.

    `columns` are returned, and filters may use them and the fields of `metadata` (jsonb).
    """

    url_env: Name
    table: Identifier
    schema_name: Annotated[Identifier, Field(alias="schema")] = "public"
    id: Identifier = "id"
    content: Identifier = "content"
    vector: Identifier = "embedding"
    metadata: Identifier | None = None
    columns: list[Identifier] = []
    distance: Literal["cosine", "l2", "inner_product", "l1"] = "cosine"


class HttpSearch(Schema):
    """An endpoint that receives `{query, top_k, filters}`.

    Pointers and names locate the documents in its answer.
    """

    url: OperatorUrl
    headers: dict[str, str] = {}
    headers_env: Environment = {}
    documents: Pointer = "/documents"
    id: Name = "id"
    content: Name = "content"
    score: Name = "score"


Store = Chroma | Qdrant | Pgvector | HttpSearch


class RetrieverEntry(Schema):
    """One entry of the configuration: the store, its embeddings, and the steps that it answers."""

    chroma: Chroma | None = None
    qdrant: Qdrant | None = None
    pgvector: Pgvector | None = None
    http: HttpSearch | None = None
    embeddings: dict[Name, Embedding] = {}
    # The default unless a step selects another one; null: the first.
    embedding: Name | None = None
    # Globs over step names; null: the retriever's own name.
    serves: list[Name] | None = None
    # Globs over the recorded name of the store.
    stores: list[Name] = []
    # For steps without `top_k`.
    top_k: TopK = 10
    timeout_s: Annotated[float, Field(gt=0, le=3600)] = 30.0

    @model_validator(mode="after")
    def _check_consistency(self) -> "RetrieverEntry":
        if sum(store is not None for store in (self.chroma, self.qdrant, self.pgvector, self.http)) != 1:
            raise ValueError("give exactly one of `chroma`, `qdrant`, `pgvector` and `http`")
        if self.http is not None and self.embeddings:
            raise ValueError("an `http` retriever receives the text and embeds it itself: omit `embeddings`")
        if self.http is None and not self.embeddings:
            raise ValueError("`embeddings` is empty: define how a query becomes a vector")
        if self.qdrant is None and any(entry.engine for entry in self.embeddings.values()):
            raise ValueError("only Qdrant embeds texts itself: give `provider` or `local` instead of `engine`")
        if self.embedding is not None and self.embedding not in self.embeddings:
            raise ValueError(f"`embedding` is “{self.embedding}”, which `embeddings` does not define")
        return self

    @property
    def store(self) -> Store:
        store = self.chroma or self.qdrant or self.pgvector or self.http
        if store is None:
            raise AssertionError("validated above")
        return store

    @property
    def default_embedding(self) -> str:
        """Name of the default embedding; empty if the store embeds the text itself."""
        return self.embedding or next(iter(self.embeddings), "")


@dataclass(frozen=True, kw_only=True)
class Retriever:
    name: str
    entry: RetrieverEntry

    @property
    def place(self) -> str:
        """Describe the store, without secrets."""
        store = self.entry.store
        match store:
            case Chroma():
                return f"chroma {store.url.host} {store.collection}"
            case Qdrant():
                return f"qdrant {store.url.host} {store.collection}"
            case Pgvector():
                return f"pgvector {store.schema_name}.{store.table}"
            case HttpSearch():
                return f"http POST {store.url.host}"

    @property
    def kind(self) -> Literal["chroma", "qdrant", "pgvector", "http"]:
        match self.entry.store:
            case Chroma():
                return "chroma"
            case Qdrant():
                return "qdrant"
            case Pgvector():
                return "pgvector"
            case HttpSearch():
                return "http"

    @property
    def names(self) -> list[str]:
        """Globs over the names of the steps that it answers; empty: all steps of the matching stores."""
        if self.entry.serves is not None:
            return self.entry.serves
        return [] if self.entry.stores else [self.name]

    @property
    def variables(self) -> list[str]:
        """Names of the environment variables with secrets."""
        store = self.entry.store
        return [store.url_env] if isinstance(store, Pgvector) else list(store.headers_env.values())

    def serves(self, step: str, store: Callable[[], str]) -> bool:
        """True if the retriever answers steps of this name; `store` looks up the recorded store."""
        if self.names and not any(fnmatchcase(step, name) for name in self.names):
            return False
        return not self.entry.stores or any(fnmatchcase(store().lower(), name.lower()) for name in self.entry.stores)

    def embedding(self, profile: str | None) -> str:
        """Return the requested embedding profile, or the default if this retriever does not have it."""
        return profile if profile in self.entry.embeddings else self.entry.default_embedding


@dataclass(frozen=True, kw_only=True)
class Search:
    """One search; `replay` is the session's id, so that the store can recognize a replay."""

    query: str
    top_k: int
    filters: JSONObject
    embedding: str | None
    replay: str


@dataclass(frozen=True, kw_only=True)
class Vector:
    """A query's vector and its cost; None: unknown."""

    values: list[float]
    tokens: int | None = None
    cost_usd: Decimal | None = Decimal(0)


@dataclass(frozen=True, kw_only=True)
class SearchResult:
    """Documents of a search, best first, each `{id, content, score?, distance?, metadata?}`."""

    documents: list[JSONObject]
    embedding: str = ""
    tokens: int | None = None
    cost_usd: Decimal | None = Decimal(0)
