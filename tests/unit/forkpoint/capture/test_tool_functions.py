"""Functions that frameworks call as tools: each call is a step, and in a rerun it asks before it runs."""

import asyncio
import inspect
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from forkpoint import recorder
from forkpoint.answers import Answer
from forkpoint.capture.steps import record_calls, record_function
from forkpoint.kinds import ToolStep
from tests.unit.forkpoint.test_session import Session, never


@pytest.fixture
def session(monkeypatch: pytest.MonkeyPatch) -> Session:
    session = Session(Answer(output=["recorded"]))
    monkeypatch.setattr(recorder, "session", session)
    return session


def step(*, is_pure: bool = False) -> ToolStep:
    step = recorder.tool("search", {"query": "refunds"})
    step.is_pure = is_pure
    return step


def search(query: str, context: object) -> Any:
    never()


async def search_async(query: str, context: object) -> Any:
    never()


def search_items(query: str, context: object) -> Iterator[str]:
    yield never()


async def search_items_async(query: str, context: object) -> AsyncIterator[str]:
    yield never()


async def outcome(function: Any) -> Any:
    """Call a function as a framework does, which knows its kind and adds a context."""
    call = function(query="refunds", context=object())
    if inspect.isasyncgenfunction(function):
        return [item async for item in call]
    if inspect.isgeneratorfunction(function):
        return [*call]
    return await call if inspect.iscoroutinefunction(function) else call


@pytest.mark.parametrize("function", [search, search_async, search_items, search_items_async])
def test_function_of_any_kind_is_answered(session: Session, function: Any) -> None:
    wrapper = record_function(function, step)
    assert inspect.signature(wrapper) == inspect.signature(function)
    assert asyncio.run(outcome(wrapper)) == ["recorded"]
    assert session.questions == [("tool", "search", {"query": "refunds"})]


def test_own_generator_of_a_framework_runs(session: Session) -> None:
    def delegate() -> Iterator[int]:
        yield 1

    assert [*record_function(delegate, lambda: step(is_pure=True))()] == [1]
    assert session.questions == []


def test_call_that_cannot_be_read_does_not_run_in_a_rerun(session: Session) -> None:
    call = record_calls(never, lambda args, kwargs: recorder.tool(kwargs["name"]))
    with pytest.raises(SystemExit, match="a call cannot be read, and may not run unread: KeyError: 'name'"):
        call()
