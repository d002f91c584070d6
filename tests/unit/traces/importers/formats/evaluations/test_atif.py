"""ATIF trajectories: usage, continuations, and bad files."""

from decimal import Decimal
from typing import Any

import orjson

from tests.support import importing_fixtures as fixtures
from traces.core.json_types import JSONValue
from traces.core.vocabulary import StepType
from traces.importers import registry
from traces.importers.files.source import Source
from traces.payloads.messages import ModelAnswer


def trajectory(session: str, *steps: tuple[str, str, bool]) -> dict[str, Any]:
    """A trajectory; each step has a source, a text, and whether it is a copy from the previous part."""
    return {
        "schema_version": "ATIF-v1.6",
        "session_id": session,
        "agent": {"name": "t2", "model_name": "gpt-5"},
        "steps": [{"source": source, "message": text, "is_copied_context": is_copy} for source, text, is_copy in steps],
    }


def test_trajectory_has_usage_and_results() -> None:
    run = fixtures.run("atif.json")
    model = fixtures.steps(run, StepType.MODEL)[0]
    assert (model.tokens_in, model.tokens_cached, model.cost_usd) == (42, 16, Decimal("0.001"))
    assert ModelAnswer(model.output).message["content"] == [{"type": "thinking", "thinking": "look"}]
    assert fixtures.steps(run, StepType.TOOL)[0].output == "3 copies"


def test_continuations_join_their_trajectory() -> None:
    first = [trajectory("s", ("user", "Count the books.", False), ("agent", "Three so far.", False))]
    second = [
        trajectory("s-cont-1", ("user", "Count the books; three so far.", True), ("agent", "Ten.", False)),
    ]
    third = [trajectory("s-cont-2", ("user", "Go on.", False), ("agent", "Twelve.", False))]
    (run,) = fixtures.read("atif", third, first, second, first)
    assert (run.external_id, fixtures.answer_contents(run)) == ("s", ["Three so far.", "Ten.", "Twelve."])
    requests = [fixtures.request_contents(step) for step in fixtures.steps(run, StepType.MODEL)]
    assert requests == [["Count the books."], ["Count the books; three so far."], ["Go on."]]
    assert len(fixtures.steps(run, StepType.TURN)) == 2
    continuations: JSONValue = run.metadata["continuations"]
    assert isinstance(continuations, list)
    versions = [part["schema_version"] for part in continuations if isinstance(part, dict)]
    assert versions == ["ATIF-v1.6"] * 2
    (lone_part,) = fixtures.read("atif", second)
    assert lone_part.external_id == "s-cont-1"


def test_bad_trajectory_leaves_others_intact() -> None:
    bad = trajectory("bad", ("agent", "Three.", False))
    bad["steps"] = [{"source": "user", "message": "go"}, {"source": "agent", "metrics": {"prompt_tokens": "many"}}]
    good = trajectory("good", ("user", "go", False))
    sources = [Source(name="x", data=orjson.dumps(value)) for value in (bad, good)]
    assert [run.external_id for run in registry.get_importer("atif").runs(sources)] == ["good"]
    assert [[str(problem) for problem in source.problems] for source in sources] == [
        ["“many” is not a token count (/steps/1/usage)"],
        [],
    ]


def test_contained_subagents_are_nested() -> None:
    child = trajectory("s", ("user", "Count the shelves.", False), ("agent", "Seven.", False))
    parent = trajectory("s", ("user", "Count.", False))
    parent["steps"].append(
        {
            "source": "agent",
            "message": "",
            "tool_calls": [
                {"tool_call_id": "c1", "function_name": "ask", "arguments": {"to": "clerk"}, "extra": {"mode": "sync"}}
            ],
            "observation": {
                "results": [
                    {"source_call_id": "c1", "content": "Seven.", "subagent_trajectory_ref": [{"trajectory_id": "t-1"}]}
                ]
            },
        }
    )
    parent["subagent_trajectories"] = [child | {"trajectory_id": name} for name in ("t-1", "t-2")]
    (run,) = fixtures.read("atif", [parent])
    (call,) = fixtures.steps(run, StepType.TOOL)
    assert call.attributes["call"] == {"mode": "sync"}
    agents = {step.key: step.parent for step in fixtures.steps(run, StepType.AGENT)}
    assert agents == {"agent": None, "t-1/agent": call.key, "t-2/agent": "agent"}
    assert fixtures.answer_contents(run) == [None, "Seven.", "Seven."]


def test_trajectory_needs_no_ids() -> None:
    lone = trajectory("s", ("user", "Count.", False))
    calls = [{"tool_call_id": id, "function_name": "keys", "arguments": {"text": id}} for id in ("a", "b")]
    screen = {"observation": {"results": [{"content": "7 shelves"}]}, "tool_calls": calls}
    lone["steps"] += [{"source": "agent", "message": "", "tool_calls": calls}, {"source": "agent", **screen}]
    del lone["session_id"]
    (run,) = fixtures.read("atif", [lone])
    assert run.external_id.startswith("atif-")
    results = [(step.call_id, step.output) for step in fixtures.steps(run, StepType.TOOL)]
    assert results == [("a", "7 shelves"), ("b", "7 shelves")], "a repeated call is the same call"
