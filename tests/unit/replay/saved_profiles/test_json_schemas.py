"""The published JSON Schemas accept exactly what the server accepts."""

from typing import Any

import jsonschema_rs
import pydantic
from hypothesis import given
from hypothesis import strategies as st

from replay.overrides.policy import Policy
from replay.overrides.profile import OverrideProfile
from replay.saved_profiles import json_schemas

PROFILE = jsonschema_rs.Draft202012Validator(json_schemas.document("override-profile"))
POLICY = jsonschema_rs.Draft202012Validator(json_schemas.document("policy"))
words = st.sampled_from(["", "model", "tool", "retrieval", "gpt-*", "x"])
numbers = st.sampled_from([-1, 0, 1, 25, 0.5, 2.5])
names = st.sampled_from(["temperature", "tools", "messages", "tool_choice", "max_completion_tokens", "model"])
values: Any = st.one_of(st.none(), words, numbers, st.lists(words, max_size=2))


def sparse(**fields: Any) -> Any:
    """Strategy for objects with some of these fields."""
    return st.fixed_dictionaries({}, optional=fields)


matches = sparse(
    step=st.one_of(st.none(), st.integers(0, 9), words),
    type=values,
    name=st.one_of(st.none(), words),
    model=values,
    since=numbers,
    before=st.one_of(st.none(), numbers),
)
entries = st.fixed_dictionaries(
    {"match": matches},
    optional={
        "prompt": sparse(
            system=values, template=values, variables=st.one_of(st.none(), st.dictionaries(words, values))
        ),
        "messages": st.lists(
            sparse(
                op=st.sampled_from(["replace", "insert", "delete", "move"]),
                index=numbers,
                content=values,
                role=values,
                message=st.one_of(st.none(), sparse(role=values, content=values, tool_calls=values)),
            )
        ),
        "model": sparse(
            provider=values,
            temperature=numbers,
            max_tokens=numbers,
            stop=values,
            response_format=values,
            tools=st.one_of(values, st.lists(sparse(name=values), max_size=2)),
            unset=st.one_of(values, st.lists(names)),
            parameters=st.one_of(st.none(), st.dictionaries(names, values, max_size=2)),
        ),
        "retrieval": sparse(
            top_k=numbers, query=values, documents=st.lists(st.dictionaries(words, values), max_size=2)
        ),
        "tool": sparse(output=values, status=words),
        "arguments": values,
        "output": values,
    },
)
policies = sparse(
    allow=values,
    order=st.sampled_from(["reuse", "reexecute", "never"]),
    strict=st.booleans(),
    max_turns=numbers,
    semantic_threshold=numbers,
    tools=sparse(allow=values, block=values),
    budget=sparse(max_live_calls=numbers),
    retries=sparse(max=numbers, base=numbers),
    unknown=values,
)


def is_valid(model: type[pydantic.BaseModel], document: Any) -> bool:
    try:
        model.model_validate(document, strict=False)
    except pydantic.ValidationError:
        return False
    return True


@given(st.lists(entries, max_size=2))
def test_profile_schema_matches_server(entries: list[Any]) -> None:
    document = {"overrides": entries}
    assert PROFILE.is_valid(document) is is_valid(OverrideProfile, document)


@given(policies)
def test_policy_schema_matches_server(policy: Any) -> None:
    assert POLICY.is_valid(policy) is is_valid(Policy, policy)
