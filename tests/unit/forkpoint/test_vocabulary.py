"""The SDK's terms are those of the server, which it does not import."""

from forkpoint import vocabulary as sdk
from traces.core import vocabulary as server
from traces.importers.formats.tracing import forkpoint_events


def test_terms_match_server() -> None:
    assert {term.name: term.value for term in sdk.StepType} == {term.name: term.value for term in server.StepType}
    assert {term.name: term.value for term in sdk.HookEvent} == {term.name: term.value for term in server.HookEvent}
    assert set(sdk.RunStatus) <= set(server.RunStatus)
    assert set(sdk.TOOL_EVENTS) == set[str](server.TOOL_EVENTS)


def test_importer_knows_statuses() -> None:
    assert set(sdk.StepStatus) <= set(forkpoint_events._STATUS)
