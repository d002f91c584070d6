"""ATIF trajectories: usage, continuations, and bad files."""

from decimal import Decimal
from typing import Any

import orjson

from tests.support import importing_fixtures as fixtures
from traces.core.json_types import JSONValue
from traces.core.vocabulary import RunStatus, StepType
from traces.importers import registry
from traces.importers.files.source import Source
from traces.payloads.messages import ModelAnswer, ModelRequest


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


def trial(name: str, reward: float | None, *, tokens: int = 0, exception: str = "") -> dict[str, Any]:
    """The result of a trial as Harbor writes it."""
    return {
        "id": f"id-of-{name}",
        "task_name": "count-books",
        "trial_name": name,
        "agent_info": {"name": "t2", "version": "2.0", "model_info": {"name": "gpt-5", "provider": None}},
        "agent_result": {"n_input_tokens": tokens, "n_output_tokens": 7},
        "verifier_result": None if reward is None else {"rewards": {"reward": reward}},
        "exception_info": {"exception_type": exception, "exception_message": "late"} if exception else None,
    }


def read_trials(files: dict[str, dict[str, Any]]) -> tuple[dict[str, list[tuple[str, Any]]], list[str]]:
    """Return the judgements of each run, with its status first, and the problems."""
    sources = [Source(name=name, data=orjson.dumps(value)) for name, value in files.items()]
    runs = registry.get_importer("atif").runs(sources)
    facts = {
        run.external_id: [("status", run.status.value), *((item.name, item.value) for item in run.judgements)]
        for run in runs
    }
    return facts, [f"{source.name}: {problem}" for source in sources for problem in source.problems]


def test_rewards_reach_trajectories_by_folder() -> None:
    times = {"started_at": "2026-01-26T02:24:45.626283", "finished_at": "2026-01-26T02:27:43.844233"}
    steps = (("user", "Count the books.", False), ("agent", "Three.", False))
    facts, problems = read_trials(
        {
            "all.zip/a/agent/trajectory.json": trajectory("s-a", *steps),
            "all.zip/a/agent/trajectory.summary.json": trajectory("s-a-summary", *steps),
            "all.zip/a/result.json": trial("a", 0.0),
            "all.zip/b/agent/trajectory.json": trajectory("s-b", *steps),
            "all.zip/b/result.json": trial("b", None, exception="AgentTimeoutError"),
            "all.zip/c/result.json": {**trial("c", 1.0, tokens=90), "agent_execution": times},
        }
    )
    assert facts == {
        "s-a": [("status", "completed"), ("reward", 0.0)],
        "s-a-summary": [("status", "completed")],
        "s-b": [("status", "failed"), ("termination_reason", None)],
        "id-of-c": [("status", "completed"), ("reward", 1.0)],
    }
    assert problems == []


def test_trial_without_a_trajectory_has_its_totals_and_its_exception() -> None:
    late = trial("late", None, tokens=90, exception="AgentTimeoutError")
    source = Source(name="jobs/late/result.json", data=orjson.dumps(late))
    (run,) = registry.get_importer("atif").runs([source])
    (agent,) = run.steps[:1]
    assert (agent.model, agent.tokens_in, agent.tokens_out, agent.error) == ("gpt-5", 90, 7, "late")
    assert (run.name, run.app, run.status, run.tags) == ("count-books", "t2", RunStatus.FAILED, ("task:count-books",))


def test_rewards_without_folders_need_equal_tokens() -> None:
    first, second = (trajectory(name, ("user", "Count.", False), ("agent", "Three.", False)) for name in "ab")
    first["final_metrics"] = {"total_prompt_tokens": 90, "total_completion_tokens": 7}
    files = {"trajectory.json": first, "result.json": trial("a", 0.0, tokens=90)}
    assert read_trials(files) == ({"a": [("status", "completed"), ("reward", 0.0)]}, [])
    second["final_metrics"] = first["final_metrics"]
    facts, problems = read_trials({**files, "trajectory (1).json": second})
    assert [len(items) for items in facts.values()] == [1, 1]
    assert len(problems) == 1


def test_lone_result_of_trial_is_refused() -> None:
    runs, (problem,) = fixtures.detect_and_read("atif", orjson.dumps(trial("a", 1.0)))
    assert not runs
    assert "without their steps" in problem


def test_totals_and_efforts_of_a_trajectory() -> None:
    steps = [
        {"step_id": 1, "source": "user", "message": "Count the books."},
        {"step_id": 2, "source": "agent", "message": "Five.", "reasoning_effort": "high"},
    ]
    totals = {"total_prompt_tokens": 300, "total_completion_tokens": 30, "total_cost_usd": 0.5}
    body = {"schema_version": "ATIF-v1.6", "session_id": "s", "agent": {"name": "a"}, "final_metrics": totals}
    (run,) = fixtures.read("atif", [{**body, "steps": steps}])
    (model,) = fixtures.steps(run, StepType.MODEL)
    agent = run.steps[0]
    assert (agent.tokens_in, agent.tokens_out, agent.cost_usd) == (300, 30, Decimal("0.5"))
    assert ModelRequest(model.input).parameters == {"reasoning_effort": "high"}
    measured = [steps[0], {**steps[1], "metrics": {"prompt_tokens": 300, "completion_tokens": 30}}]
    (counted,) = fixtures.read("atif", [{**body, "steps": measured}])
    assert (counted.steps[0].tokens_in, fixtures.steps(counted, StepType.MODEL)[0].tokens_in) == (None, 300)


def test_trajectories_have_the_task_of_their_trial() -> None:
    files = {
        "a/agent/trajectory.json": trajectory("s-a", ("user", "Count.", False), ("agent", "Three.", False)),
        "a/result.json": trial("a", 0.0),
    }
    sources = [Source(name=name, data=orjson.dumps(value)) for name, value in files.items()]
    (run,) = registry.get_importer("atif").runs(sources)
    assert (run.tags, run.metadata["trial"]) == (("task:count-books",), trial("a", 0.0))
