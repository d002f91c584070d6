"""Folders and full-duplex simulations of tau2-bench."""

from typing import Any

import orjson

from tests.support import importing_fixtures as fixtures
from traces.core.recorded_run import RecordedRun
from traces.core.vocabulary import JudgementKind, StepType
from traces.importers.files.source import Source
from traces.importers.formats.evaluations import tau

AGENT: Any = {"agent_info": {"llm": "openai/gpt-realtime"}, "environment_info": {"policy": "Be kind."}}
SETTINGS: Any = {"info": AGENT, "tasks": [{"id": "7", "purpose": "a lost card"}], "simulation_index": [{"id": "s1"}]}
SIMULATION: Any = {"id": "s1", "task_id": "7", "trial": 0, "start_time": "2026-02-01T10:00:00"}


def tick(second: int, **parts: Any) -> Any:
    return {"timestamp": f"2026-02-01T10:00:0{second}", **parts}


def chunk(content: str | None, utterance: str, **details: Any) -> Any:
    return {"content": content, "utterance_ids": [utterance], "chunk_id": 1, **details}


def read(files: dict[str, Any]) -> tuple[list[RecordedRun], list[str]]:
    sources = [Source(name=name, data=orjson.dumps(value)) for name, value in files.items()]
    assert all(fixtures.sample(source.name, source.data) and tau.is_result(source.value) for source in sources)
    runs = list(tau.parse(sources))
    return runs, [str(problem) for source in sources for problem in source.problems]


def test_chunks_of_both_sides_are_messages() -> None:
    call = {"id": "c1", "name": "find_reader", "arguments": {"zip": "10115"}}
    ticks = [
        tick(0, agent_chunk=chunk("How can", "a1"), user_chunk=chunk(None, "u0")),
        tick(1, agent_chunk=chunk(" I help?", "a1")),
        tick(2, user_chunk=chunk("I lost my ", "u1", cost=0.25)),
        # The agent interrupts the user.
        tick(3, agent_chunk=chunk("One moment.", "a2"), agent_tool_calls=[call], user_chunk=chunk("card.", "u1")),
        tick(4, agent_tool_results=[{"id": "c1", "role": "tool", "content": "r-7"}]),
        tick(5, agent_chunk=chunk("A new card ", "a3")),
        tick(6, agent_chunk=chunk("is coming.", "a3")),
    ]
    simulation = {**SIMULATION, "termination_reason": "user_stop", "messages": None, "ticks": ticks}
    ((run,), problems) = read({"results.json": {"info": AGENT, "tasks": [], "simulations": [simulation]}})
    assert (fixtures.answer_contents(run), problems) == (["One moment.", "A new card is coming."], [])
    (turn,) = fixtures.steps(run, StepType.TURN)
    assert (turn.name, turn.attributes) == ("I lost my card.", {"cost": 0.25})
    first, second = fixtures.steps(run, StepType.MODEL)
    assert fixtures.request_contents(first) == ["How can I help?", "I lost my card."]
    assert (str(second.started_at)[17:19], str(second.ended_at)[17:19], second.model) == ("05", "06", "gpt-realtime")
    (tool,) = fixtures.steps(run, StepType.TOOL)
    assert (tool.input, tool.output, tool.parent) == ({"zip": "10115"}, "r-7", turn.key)
    assert "ticks" not in run.metadata


def test_files_of_a_folder_share_settings() -> None:
    messages = [{"role": "user", "content": "My card is lost."}, {"role": "assistant", "content": "A new one comes."}]
    error = {"turn_idx": 1, "source": "agent", "reasoning": "no name asked", "severity": "minor"}
    reason = "context_window_exceeded"
    simulation = {**SIMULATION, "termination_reason": reason, "messages": messages, "review": {"errors": [error]}}
    files = {"voice/results.json": SETTINGS, "voice/simulations/s1.json": simulation}
    ((run,), problems) = read(files)
    (model,) = fixtures.steps(run, StepType.MODEL)
    assert (run.external_id, model.model, run.metadata["policy"], problems) == ("s1", "gpt-realtime", "Be kind.", [])
    assert run.metadata["task"] == SETTINGS["tasks"][0]
    assert [(item.name, item.kind, item.text, item.step) for item in run.judgements] == [
        ("termination_reason", JudgementKind.FAIL, reason, None),
        ("review", JudgementKind.NOTE, "no name asked", "msg-2"),
    ]
    # A policy of its own, as in the domain with a retrieved one.
    ((run,), _) = read({**files, "voice/simulations/s1.json": {**simulation, "policy": "Be quick."}})
    assert run.metadata["policy"] == "Be quick."


def test_settings_without_simulations_are_refused() -> None:
    runs, problems = read({"voice/results.json": SETTINGS})
    assert (runs, len(problems), "import the folder" in problems[0]) == ([], 1, True)


def test_errors_in_results_of_tau_bench_fail_their_calls() -> None:
    call = {"id": "c1", "function": {"name": "find_reader", "arguments": "{}"}}
    traj = [
        {"role": "user", "content": "My card is lost."},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "Error: reader not found"},
    ]
    ((run,), _) = read({"results.json": [{"task_id": 1, "trial": 0, "reward": 0.0, "info": {}, "traj": traj}]})
    (tool,) = fixtures.steps(run, StepType.TOOL)
    assert (tool.error, tool.output) == ("Error: reader not found", "Error: reader not found")


def test_calls_in_texts_of_tau_bench_are_steps() -> None:
    texts = [
        'Thought:\nI look.\nAction:\n{"name": "find", "arguments": {"title": "Dune"}}',
        "API output: Error: no shelf",
    ]
    reply = 'Action: {"name": "respond", "arguments": {"content": "Sorry."}}'
    turns = [("system", "Be kind."), ("user", "Any Dune?"), ("assistant", texts[0]), ("user", texts[1])]
    traj = [{"role": role, "content": text} for role, text in [*turns, ("assistant", reply), ("user", "Bye.")]]
    (run,), _ = read({"r.json": [{"task_id": 1, "trial": 0, "reward": 0.0, "info": {}, "traj": traj}]})
    (tool,) = fixtures.steps(run, StepType.TOOL)
    assert (tool.tool_name, tool.input, tool.error) == ("find", {"title": "Dune"}, "Error: no shelf")
    assert [step.name for step in fixtures.steps(run, StepType.TURN)] == ["Any Dune?", "Bye."]
