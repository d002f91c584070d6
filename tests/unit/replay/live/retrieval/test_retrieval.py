"""Lookup of retrievers, and conversion of filters for every store."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest_django import Settings

from replay.core.calls import RetrieverMatch
from replay.live import retrieval
from replay.live.retrieval import chroma, pgvector, qdrant
from replay.live.retrieval.filters import UnknownFilter, conditions
from replay.live.retrieval.types import Embedding, Pgvector
from replay.overrides.policy import Policy
from tests.support.memory_replays import Replay, labels, resolved_step
from tests.unit.replay.inputs.test_documents import library
from traces.core.json_types import JSONValue

HTTP = {"http": {"url": "http://127.0.0.1:9/"}}
PLAIN = st.one_of(st.text(max_size=5), st.integers(-9, 9), st.booleans())
LETTERS = st.characters(exclude_characters="\x00", exclude_categories=["Cs"])
FIELDS = st.text(LETTERS, min_size=1, max_size=6).filter(lambda name: not name.startswith("$"))
FILTERS = st.dictionaries(
    FIELDS,
    st.one_of(
        PLAIN,
        st.lists(PLAIN, max_size=3),
        st.dictionaries(st.sampled_from(["$eq", "$ne"]), PLAIN, min_size=1),
        st.dictionaries(st.sampled_from(["$gt", "$gte", "$lt", "$lte"]), st.integers(-9, 9), min_size=1),
    ),
    max_size=4,
)


def find(step: str, input: JSONValue = None, profile: str | None = None, store: str = "") -> RetrieverMatch:
    return retrieval.find_retriever(step, {"query": "q"} if input is None else input, profile, lambda: store)


@pytest.mark.parametrize(
    ("entry", "step", "store", "is_match"),
    [
        ({}, "kb", "", True),
        ({}, "other", "", False),
        ({"serves": ["kb_*", "docs"]}, "kb_en", "", True),
        ({"serves": ["kb_*", "docs"]}, "kb", "", False),
        ({"serves": []}, "anything", "", True),
        ({"stores": ["chroma*"]}, "anything", "ChromaDB", True),
        ({"stores": ["chroma*"]}, "kb", "", False),
        ({"stores": ["chroma*"], "serves": ["kb"]}, "kb", "qdrant", False),
    ],
)
def test_retriever_matches_name_and_store(
    settings: Settings, entry: dict[str, Any], step: str, store: str, is_match: bool
) -> None:
    settings.RETRIEVERS = {"kb": {**HTTP, **entry}}
    assert (find(step, store=store).name == "kb") is is_match


def test_first_matching_retriever_answers(settings: Settings) -> None:
    small = {"small": {"local": "all-MiniLM-L6-v2"}}
    first = {"chroma": {"url": "http://127.0.0.1:9/", "collection": "c"}, "embeddings": small, "serves": ["k*"]}
    settings.RETRIEVERS = {"first": first, "second": {**HTTP, "serves": ["k*"]}}
    assert find("kb").name == "first"
    assert find("kb", profile="small").name == "first"
    assert find("kb", profile="other").name == "second"  # which embeds itself, and is told the name
    assert "no query text" in find("kb", {"vector": [1, 2]}).reason


def test_match_contains_embedding_model_for_pricing(settings: Settings) -> None:
    settings.PROVIDERS = {"openai": {"protocol": "openai", "base_url": "http://127.0.0.1:9/v1"}}
    embedding = {"provider": "openai", "model": "m"}
    settings.RETRIEVERS = {
        "kb": {"chroma": {"url": "http://a/", "collection": "c"}, "embeddings": {"small": embedding}}
    }
    assert (find("kb").provider, find("kb").model) == ("openai", "m")


@given(FILTERS)
def test_conversion_preserves_every_condition(filters: dict[str, Any]) -> None:
    parsed_conditions = conditions(filters)
    assert {condition.field for condition in parsed_conditions} <= set(filters)
    assert conditions({"$and": [filters]}) == parsed_conditions
    assert len(parsed_conditions) == sum(len(value) if isinstance(value, dict) else 1 for value in filters.values())
    own: Any = chroma.chroma_filter(filters)
    parts = own.get("where", {}).get("$and", [own["where"]]) if own else []
    assert parts == [{condition.field: {condition.operator: condition.value}} for condition in parsed_conditions]
    qdrant_conditions: Any = qdrant.qdrant_filter(filters) if filters else {}
    assert len(qdrant_conditions.get("must", [])) + len(qdrant_conditions.get("must_not", [])) == len(parsed_conditions)


@given(FILTERS, st.dictionaries(FIELDS, PLAIN, max_size=3))
def test_sql_statement_is_parameterized_and_quoted(filters: dict[str, Any], names: dict[str, Any]) -> None:
    entry: Any = {"url_env": "U", "table": 't" x', "schema": 's"; --', "metadata": "meta", "columns": [*names]}
    store = Pgvector.model_validate(entry)
    search = retrieval.Search(query="q", top_k=3, filters=filters, embedding=None, replay="r")
    statement, values = pgvector.search_statement(store, search, Embedding(local="all-MiniLM-L6-v2"), [0.5, 1.0])
    text = statement.as_string(None).replace("%%", "")
    assert (text.count("%"), text.count("%s")) == (len(values), len(values))
    assert '"s""; --"."t"" x"' in text
    assert (values[0], values[-1]) == ("[0.5,1.0]", 3)


@pytest.mark.parametrize(
    "filters",
    [
        {"$or": [{"a": 1}]},
        {"a": {"$like": "b"}},
        {"a": None},
        {"a": {"$gt": "b"}},
        {"a": {"$in": "b"}},
        {"a": {"b": {"c": 1}}},
        {"$and": {"a": 1}},
        {"a": [[1]]},
    ],
)
def test_unsupported_filter_is_refused_by_name(filters: dict[str, Any]) -> None:
    with pytest.raises(UnknownFilter, match=r"“\$|“a”"):
        conditions(filters)


def test_new_search_reaches_the_prompt() -> None:
    policy = Policy(allow=["model", "retrieval"])
    replay = Replay(
        run=library(), fork=1, entries=[{"match": {"step": 1}, "retrieval": {"query": "new"}}], policy=policy
    )
    events = replay.execute(
        lambda call: {"content": "yes"}, lambda call: [{"id": "n", "content": "Everything is refunded at once."}]
    )
    assert labels(events)[1] == "simulated live_retrieval"
    assert "refunded at once" in str(resolved_step(events, 3).call.input)


def test_policy_decides_about_new_searches() -> None:
    entry: JSONValue = {"match": {"step": 3}, "output": "done"}
    for order, label in (("reuse", "exact source_output_reused"), ("reexecute", "simulated live_retrieval")):
        policy = Policy.model_validate({"allow": ["retrieval"], "order": order})
        events = Replay(run=library(), fork=1, entries=[entry], policy=policy).execute(None, lambda call: [])
        assert labels(events)[1] == label
