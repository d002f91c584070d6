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
from traces.core.json_access import as_object
from traces.core.json_types import JSONObject

_CONNECT_S: Final = 10
_OPERATORS: Final = {"cosine": "<=>", "l2": "<->", "inner_product": "<#>", "l1": "<+>"}
_COMPARISONS: Final = {"$eq": "=", "$ne": "IS DISTINCT FROM", "$gt": ">", "$gte": ">=", "$lt": "<", "$lte": "<="}


def search(
    retriever: Retriever, store: Pgvector, query: Search, embedding: Embedding, vector: list[float]
) -> list[JSONObject]:
    """Return the rows nearest to the vector."""
    statement, values = search_statement(store, query, embedding, vector)
    try:
        with psycopg.connect(**_connection(retriever, store, query)) as connection:
            connection.read_only = True
            rows = connection.execute(statement, values).fetchall()
    except psycopg.Error as error:
        raise _failure(retriever, error) from error
    return [_document(store, row) for row in rows]


def _connection(retriever: Retriever, store: Pgvector, query: Search) -> dict[str, Any]:
    """Connection parameters with the checked addresses, so that a later name resolution has no effect."""
    url = os.environ.get(store.url_env, "")
    if not url:
        detail = f"the environment variable {store.url_env} is not set"
        raise ProviderError(detail, code="auth", retryable=False)
    try:
        parameters: dict[str, Any] = conninfo_to_dict(url)
    except psycopg.Error as error:
        # Its message contains the URL, and so the password.
        raise ProviderError(f"{store.url_env} is not a PostgreSQL URL", code="auth", retryable=False) from error
    milliseconds = int(retriever.entry.timeout_s * 1000)
    return {
        **parameters,
        **_checked_addresses(retriever, str(parameters.get("host") or ""), int(parameters.get("port") or 5432)),
        "connect_timeout": _CONNECT_S,
        "application_name": f"forkpoint-replay {query.replay}"[:63],
        "options": f"-c statement_timeout={milliseconds} -c idle_in_transaction_session_timeout={milliseconds}",
    }


def _checked_addresses(retriever: Retriever, host: str, port: int) -> dict[str, str]:
    """Resolve and check the host's addresses; empty for a Unix socket."""
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


def search_statement(
    store: Pgvector, query: Search, embedding: Embedding, vector: list[float]
) -> tuple[sql.Composed, list[Any]]:
    """Build the query: names are quoted, values are parameters."""
    text = "[" + ",".join(repr(float(value)) for value in vector) + "]"
    distance = sql.SQL("{} {} %s::vector").format(
        _name(embedding.vector or store.vector), sql.SQL(_OPERATORS[store.distance])
    )
    metadata = _name(store.metadata) if store.metadata else sql.SQL("NULL")
    columns = [_name(store.id), _name(store.content), distance, metadata]
    columns += [sql.SQL("to_jsonb({})").format(_name(column)) for column in store.columns]
    tests, values = _tests(store, query)
    condition = sql.SQL(" AND ").join(tests) if tests else sql.SQL("TRUE")
    statement = sql.SQL("SELECT {} FROM {} WHERE {} ORDER BY 3 LIMIT %s").format(
        sql.SQL(", ").join(columns), _name(store.schema_name, store.table), condition
    )
    return statement, [text, *values, query.top_k]


def _tests(store: Pgvector, query: Search) -> tuple[list[sql.Composed], list[Any]]:
    try:
        parsed_conditions = conditions(query.filters)
        tests = [_test(store, condition) for condition in parsed_conditions]
    except UnknownFilter as error:
        raise ProviderError(str(error), code="bad_request", retryable=False) from error
    return [test for test, _ in tests], [value for _, values in tests for value in values]


def _test(store: Pgvector, condition: Condition) -> tuple[sql.Composed, list[Any]]:
    """Build the SQL of one condition: columns are compared in their type, metadata fields as JSON."""
    if condition.field in store.columns or condition.field in {store.id, store.content}:
        return _comparison(condition, sql.SQL("{}").format(_name(condition.field)), sql.SQL("%s"), lambda value: value)
    if store.metadata is None:
        columns = ", ".join(sorted({store.id, store.content, *store.columns}))
        raise UnknownFilter(f"“{condition.field}” is not a column to filter by: use one of {columns}")
    field = sql.SQL("{} -> %s::text").format(_name(store.metadata))
    test, values = _comparison(condition, sql.SQL("({})").format(field), sql.SQL("%s::jsonb"), json.dumps)
    if condition.operator in {"$gt", "$gte", "$lt", "$lte"}:  # JSON orders values of different types by type
        return sql.SQL("(jsonb_typeof({}) = 'number' AND {})").format(field, test), [
            condition.field,
            condition.field,
            *values,
        ]
    return test, [condition.field, *values]


def _name(*parts: str) -> sql.Identifier:
    """Quote a name; a percent sign in it is escaped, since it would mark a parameter."""
    return sql.Identifier(*(part.replace("%", "%%") for part in parts))


def _comparison(
    condition: Condition, left: sql.Composed, place: sql.SQL, convert: Any
) -> tuple[sql.Composed, list[Any]]:
    if condition.operator in {"$in", "$nin"} and isinstance(condition.value, list):
        places = sql.SQL(", ").join([place] * len(condition.value)) if condition.value else sql.SQL("NULL")
        test = sql.SQL("COALESCE({} IN ({}), FALSE)").format(left, places)
        return (test if condition.operator == "$in" else sql.SQL("NOT {}").format(test)), [
            convert(value) for value in condition.value
        ]
    return sql.SQL("{} {} {}").format(left, sql.SQL(_COMPARISONS[condition.operator]), place), [
        convert(condition.value)
    ]


def _document(store: Pgvector, row: tuple[Any, ...]) -> JSONObject:
    id, content, distance, metadata, *columns = row
    document: JSONObject = {"id": str(id), "content": "" if content is None else str(content)}
    if distance is not None:
        document |= {"score": _score(store, distance), "distance": distance}
    fields = {**as_object(metadata), **dict(zip(store.columns, columns, strict=True))}
    return {**document, "metadata": fields} if fields else document


def _score(store: Pgvector, distance: float) -> float:
    if store.distance == "cosine":
        return 1 - distance
    return -distance if store.distance == "inner_product" else 1 / (1 + distance)


def _failure(retriever: Retriever, error: psycopg.Error) -> ProviderError:
    """Convert an error by SQLSTATE: timeouts, lost connections and overload may be retried."""
    message = (error.diag.message_primary or type(error).__name__)[:300]
    if isinstance(error, psycopg.errors.QueryCanceled):
        detail = f"{retriever.name} did not answer in {retriever.entry.timeout_s:g} s"
        return ProviderError(detail, code="timeout", retryable=True)
    if isinstance(error, psycopg.errors.InvalidPassword | psycopg.errors.InvalidAuthorizationSpecification):
        return ProviderError(f"{retriever.name} rejected the credentials", code="auth", retryable=False)
    kind = (error.sqlstate or "")[:2]
    if kind in {"08", "40", "53", "57"} or (not kind and isinstance(error, psycopg.OperationalError)):
        detail = f"the connection to {retriever.name} failed: {message}"
        return ProviderError(detail, code="network", retryable=True)
    return ProviderError(f"{retriever.name} answered: {message}", code="bad_request", retryable=False)
