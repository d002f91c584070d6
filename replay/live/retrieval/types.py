"""What a retriever is, is asked and finds."""

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
    """Who makes the query's vector: a provider's endpoint, the packaged model in the worker, or the engine itself.

    `vector` is where the engine keeps vectors of this kind: a named vector of Qdrant, a column of PostgreSQL.
    """

    provider: Name | None = None
    model: Name | None = None
    dimensions: Annotated[int, Field(gt=0)] | None = None
    local: Literal["all-MiniLM-L6-v2"] | None = None
    engine: Name | None = None
    vector: Name | None = None

    @model_validator(mode="after")
    def _one_maker(self) -> "Embedding":
        if sum(maker is not None for maker in (self.provider, self.local, self.engine)) != 1:
            raise ValueError("give exactly one of `provider`, `local` and `engine`")
        if (self.provider is None) != (self.model is None):
            raise ValueError("`provider` and `model` belong together")
        return self

    @property
    def said(self) -> str:
        """Who makes the vector, in words."""
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
    """`content` is the field of the payload that holds the text."""

    url: OperatorUrl
    collection: Name
    content: Name = "content"
    headers_env: Environment = {}


class Pgvector(Schema):
    """A table of PostgreSQL; `columns` are returned and may be filtered by, as may the fields of `metadata` (jsonb)."""

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
    """An endpoint that is asked with `{query, top_k, filters}`; pointers and names say where its documents are."""

    url: OperatorUrl
    headers: dict[str, str] = {}
    headers_env: Environment = {}
    documents: Pointer = "/documents"
    id: Name = "id"
    content: Name = "content"
    score: Name = "score"


Store = Chroma | Qdrant | Pgvector | HttpSearch


class RetrieverEntry(Schema):
    """One entry of the configuration: one store, how queries become vectors, and which steps it answers."""

    chroma: Chroma | None = None
    qdrant: Qdrant | None = None
    pgvector: Pgvector | None = None
    http: HttpSearch | None = None
    embeddings: dict[Name, Embedding] = {}
    embedding: Name | None = None  # the one that is used unless a step asks for another; the first
    serves: list[Name] | None = None  # globs over step names; the retriever's own name
    stores: list[Name] = []  # globs over the store that the recording names
    top_k: TopK = 10  # where a step does not say
    timeout_s: Annotated[float, Field(gt=0, le=3600)] = 30.0

    @model_validator(mode="after")
    def _makes_sense(self) -> "RetrieverEntry":
        if sum(store is not None for store in (self.chroma, self.qdrant, self.pgvector, self.http)) != 1:
            raise ValueError("give exactly one of `chroma`, `qdrant`, `pgvector` and `http`")
        if self.http is not None and self.embeddings:
            raise ValueError("an `http` retriever gets the text and embeds it itself: leave out `embeddings`")
        if self.http is None and not self.embeddings:
            raise ValueError("`embeddings` is empty: say how a query becomes a vector")
        if self.qdrant is None and any(entry.engine for entry in self.embeddings.values()):
            raise ValueError("only Qdrant embeds texts itself: give `provider` or `local` instead of `engine`")
        if self.embedding is not None and self.embedding not in self.embeddings:
            raise ValueError(f"`embedding` is {self.embedding!r}, which is none of {sorted(self.embeddings)}")
        return self

    @property
    def store(self) -> Store:
        found = self.chroma or self.qdrant or self.pgvector or self.http
        if found is None:
            raise AssertionError("validated above")
        return found

    @property
    def default_embedding(self) -> str:
        """Empty where the store embeds the text itself."""
        return self.embedding or next(iter(self.embeddings), "")


@dataclass(frozen=True, kw_only=True)
class Retriever:
    name: str
    entry: RetrieverEntry

    @property
    def place(self) -> str:
        """What it asks, in words and without secrets."""
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
        """Globs over the names of the steps that it answers; none: any name, of the stores that it answers."""
        if self.entry.serves is not None:
            return self.entry.serves
        return [] if self.entry.stores else [self.name]

    @property
    def variables(self) -> list[str]:
        """The environment variables of the server that hold what is secret."""
        store = self.entry.store
        return [store.url_env] if isinstance(store, Pgvector) else list(store.headers_env.values())

    def serves(self, step: str, store: Callable[[], str]) -> bool:
        """Whether it answers steps of this name; `store` looks up which store the recording names."""
        if self.names and not any(fnmatchcase(step, name) for name in self.names):
            return False
        return not self.entry.stores or any(fnmatchcase(store().lower(), name.lower()) for name in self.entry.stores)

    def embedding(self, asked: str | None) -> str:
        """The embedding profile for a query that asks for one by name; the default where it is not known here."""
        return asked if asked in self.entry.embeddings else self.entry.default_embedding


@dataclass(frozen=True, kw_only=True)
class Search:
    """`replay` is the id of the session, by which what is asked can tell that this is a replay."""

    query: str
    top_k: int
    filters: JSONObject
    embedding: str | None
    replay: str


@dataclass(frozen=True, kw_only=True)
class Vector:
    """A query's vector, and what it cost; `cost_usd` None: unknown."""

    values: list[float]
    tokens: int | None = None
    cost_usd: Decimal | None = Decimal(0)


@dataclass(frozen=True, kw_only=True)
class SearchResult:
    """The documents, best first, each `{id, content, score?, distance?, metadata?}`."""

    documents: list[JSONObject]
    embedding: str = ""
    tokens: int | None = None
    cost_usd: Decimal | None = Decimal(0)
