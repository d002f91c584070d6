"""Retrieval from PostgreSQL with pgvector: one read-only query with its own time limit."""

import json
import os
import socket
from typing import Any, Final

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict

from replay.live import egress
from replay.live.providers.types import ProviderError
from replay.live.retrieval.filters import Condition, UnknownFilter, conditions
from replay.live.retrieval.types import Embedding, Pgvector, Retriever, Search
from traces.core.json_types import JSONObject

_CONNECT_S: Final = 10
_OPERATORS: Final = {"cosine": "<=>", "l2": "<->", "inner_product": "<#>", "l1": "<+>"}
_COMPARISONS: Final = {"$eq": "=", "$ne": "IS DISTINCT FROM", "$gt": ">", "$gte": ">=", "$lt": "<", "$lte": "<="}


def search(
    retriever: Retriever, store: Pgvector, asked: Search, embedding: Embedding, vector: list[float]
) -> list[JSONObject]:
    """The rows nearest to the vector."""
    statement, values = _statement(store, asked, embedding, vector)
    try:
        with psycopg.connect(**_connection(retriever, store, asked)) as connection:
            connection.read_only = True
            found = connection.execute(statement, values).fetchall()
    except psycopg.Error as error:
        raise _failure(retriever, error) from error
    return [_document(store, row) for row in found]


def _connection(retriever: Retriever, store: Pgvector, asked: Search) -> dict[str, Any]:
    """Connect to the addresses that were checked, and to no other that the name may have by then."""
    url = os.environ.get(store.url_env, "")
    if not url:
        detail = f"the environment variable {store.url_env} is not set"
        raise ProviderError(detail, code="auth", retryable=False)
    try:
        given: dict[str, Any] = conninfo_to_dict(url)
    except psycopg.Error as error:  # its message repeats the URL, and so the password
        raise ProviderError(f"{store.url_env} is no PostgreSQL URL", code="auth", retryable=False) from error
    milliseconds = int(retriever.entry.timeout_s * 1000)
    return {
        **given,
        **_checked(retriever, str(given.get("host") or ""), int(given.get("port") or 5432)),
        "connect_timeout": _CONNECT_S,
        "application_name": f"forkpoint-replay {asked.replay}"[:63],
        "options": f"-c statement_timeout={milliseconds} -c idle_in_transaction_session_timeout={milliseconds}",
    }


def _checked(retriever: Retriever, host: str, port: int) -> dict[str, str]:
    """Nothing for a socket in the file system, which is no network at all."""
    if not host or host.startswith("/"):
        return {}
    try:
        addresses = egress.addresses(egress.Destination(host=host, operator=True), port)
    except egress.EgressRefusal as error:
        raise ProviderError(str(error), code="egress_refused", retryable=False) from error
    except socket.gaierror as error:
        detail = f"the connection to {retriever.name} failed: {host}: {error.strerror}"
        raise ProviderError(detail, code="network", retryable=True) from error
    return {"hostaddr": ",".join(addresses), "host": ",".join([host] * len(addresses))}


def _statement(
    store: Pgvector, asked: Search, embedding: Embedding, vector: list[float]
) -> tuple[sql.Composed, list[Any]]:
    """Names are quoted, values are parameters."""
    text = "[" + ",".join(repr(float(value)) for value in vector) + "]"
    distance = sql.SQL("{} {} %s::vector").format(
        _name(embedding.vector or store.vector), sql.SQL(_OPERATORS[store.distance])
    )
    metadata = _name(store.metadata) if store.metadata else sql.SQL("NULL")
    picked = [_name(store.id), _name(store.content), distance, metadata]
    picked += [sql.SQL("to_jsonb({})").format(_name(column)) for column in store.columns]
    tests, values = _tests(store, asked)
    condition = sql.SQL(" AND ").join(tests) if tests else sql.SQL("TRUE")
    statement = sql.SQL("SELECT {} FROM {} WHERE {} ORDER BY 3 LIMIT %s").format(
        sql.SQL(", ").join(picked), _name(store.schema_name, store.table), condition
    )
    return statement, [text, *values, asked.top_k]


def _tests(store: Pgvector, asked: Search) -> tuple[list[sql.Composed], list[Any]]:
    try:
        found = conditions(asked.filters)
        tests = [_test(store, one) for one in found]
    except UnknownFilter as error:
        raise ProviderError(str(error), code="bad_request", retryable=False) from error
    return [test for test, _ in tests], [value for _, values in tests for value in values]


def _test(store: Pgvector, one: Condition) -> tuple[sql.Composed, list[Any]]:
    """A column is compared as what it is, a field of the metadata as JSON."""
    if one.field in store.columns or one.field in {store.id, store.content}:
        return _compared(one, sql.SQL("{}").format(_name(one.field)), sql.SQL("%s"), lambda value: value)
    if store.metadata is None:
        known = ", ".join(sorted({store.id, store.content, *store.columns}))
        raise UnknownFilter(f"{one.field!r} is no column to filter by: there is {known}")
    at = sql.SQL("{} -> %s::text").format(_name(store.metadata))
    test, values = _compared(one, sql.SQL("({})").format(at), sql.SQL("%s::jsonb"), json.dumps)
    if one.operator in {"$gt", "$gte", "$lt", "$lte"}:  # JSON of other kinds would be ordered by its kind
        return sql.SQL("(jsonb_typeof({}) = 'number' AND {})").format(at, test), [one.field, one.field, *values]
    return test, [one.field, *values]


def _name(*parts: str) -> sql.Identifier:
    """A quoted name; a percent sign in it is no place for a value."""
    return sql.Identifier(*(part.replace("%", "%%") for part in parts))


def _compared(one: Condition, left: sql.Composed, place: sql.SQL, given: Any) -> tuple[sql.Composed, list[Any]]:
    if one.operator in {"$in", "$nin"} and isinstance(one.value, list):
        places = sql.SQL(", ").join([place] * len(one.value)) if one.value else sql.SQL("NULL")
        test = sql.SQL("COALESCE({} IN ({}), FALSE)").format(left, places)
        return (test if one.operator == "$in" else sql.SQL("NOT {}").format(test)), [
            given(value) for value in one.value
        ]
    return sql.SQL("{} {} {}").format(left, sql.SQL(_COMPARISONS[one.operator]), place), [given(one.value)]


def _document(store: Pgvector, row: tuple[Any, ...]) -> JSONObject:
    id, content, distance, metadata, *columns = row
    document: JSONObject = {"id": str(id), "content": "" if content is None else str(content)}
    if distance is not None:
        document |= {"score": _score(store, distance), "distance": distance}
    said = {**(metadata if isinstance(metadata, dict) else {}), **dict(zip(store.columns, columns, strict=True))}
    return {**document, "metadata": said} if said else document


def _score(store: Pgvector, distance: float) -> float:
    if store.distance == "cosine":
        return 1 - distance
    return -distance if store.distance == "inner_product" else 1 / (1 + distance)


def _failure(retriever: Retriever, error: psycopg.Error) -> ProviderError:
    """By SQLSTATE: time limits, lost connections and overload pass, mistakes in the statement do not."""
    said = (error.diag.message_primary or type(error).__name__)[:300]
    if isinstance(error, psycopg.errors.QueryCanceled):
        detail = f"{retriever.name} did not answer in {retriever.entry.timeout_s:g} s"
        return ProviderError(detail, code="timeout", retryable=True)
    if isinstance(error, psycopg.errors.InvalidPassword | psycopg.errors.InvalidAuthorizationSpecification):
        return ProviderError(f"{retriever.name} refused the credentials", code="auth", retryable=False)
    kind = (error.sqlstate or "")[:2]
    if kind in {"08", "40", "53", "57"} or (not kind and isinstance(error, psycopg.OperationalError)):
        detail = f"the connection to {retriever.name} failed: {said}"
        return ProviderError(detail, code="network", retryable=True)
    return ProviderError(f"{retriever.name} answered: {said}", code="bad_request", retryable=False)
