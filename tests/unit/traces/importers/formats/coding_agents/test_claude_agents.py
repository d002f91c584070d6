"""Files beside those of Claude Code's sub-agents: their facts, and the journal of a workflow."""

from itertools import permutations
from typing import Any

from tests.support import importing_fixtures as fixtures
from traces.core.vocabulary import StepType
from traces.importers.files.source import Source
from traces.importers.formats.coding_agents import claude_code

FACTS = {"agentType": "Explore", "description": "Count", "toolUseId": "t2", "spawnDepth": 1}
JOURNAL = [
    {"type": "started", "key": "v2:a", "agentId": "a1"},
    {"type": "result", "key": "v2:a", "agentId": "a1", "result": "Five."},
]


def line(uuid: str, type: str, content: Any, **fields: Any) -> dict[str, Any]:
    return {"uuid": uuid, "type": type, "sessionId": "s1", "message": {"role": type, "content": content}, **fields}


def call(id: str) -> dict[str, Any]:
    return {"type": "tool_use", "id": id, "name": "Agent", "input": {"prompt": "Count."}}


def sources(**files: list[dict[str, Any]]) -> list[Source]:
    folder = "s1/subagents/"
    names = {"session": "s1.jsonl", "agent": f"{folder}agent-a1.jsonl", "facts": f"{folder}agent-a1.meta.json"}
    names["journal"] = f"{folder}workflows/wf_1/journal.jsonl"
    return [Source(name=names[name], data=fixtures.json_lines(lines)) for name, lines in files.items()]


def test_facts_about_a_sub_agent_name_it_and_its_call() -> None:
    request = line("u1", "user", "Count both.", parentUuid=None)
    session = [request, line("u2", "assistant", [call("t1"), call("t2")], parentUuid="u1")]
    agent = [
        line("g1", "user", "Count.", parentUuid=None, isSidechain=True, agentId="a1"),
        line("g2", "assistant", "Five.", parentUuid="g1", isSidechain=True, agentId="a1"),
    ]
    files = sources(facts=[FACTS], journal=JOURNAL, agent=agent, session=session)
    (run,) = claude_code.parse(files)
    (sub_agent,) = [step for step in run.steps if step.type is StepType.AGENT and step.parent]
    (second_call,) = [step for step in run.steps if step.call_id == "t2"]
    assert (sub_agent.name, sub_agent.parent) == ("Explore", second_call.key)
    assert sub_agent.attributes == {"agent_id": "a1", "description": "Count", "spawnDepth": 1}
    assert [problem for file in files for problem in file.problems] == []
    assert [claude_code.keys(file) for file in files] == [{"s1"}] * 4


def test_facts_without_a_session_are_named() -> None:
    for lines in ([FACTS], JOURNAL):
        runs, (problem,) = fixtures.detect_and_read("claude-code", fixtures.json_lines(lines), "agent-a1.meta.json")
        assert (runs, "import the files of its session too" in problem) == ([], True)


def test_output_of_other_programs_names_them() -> None:
    def output(session: str, **beginning: Any) -> list[dict[str, Any]]:
        answer = {"role": "assistant", "model": "qwen3-coder", "content": [{"type": "text", "text": "Five."}]}
        init = {"type": "system", "subtype": "init", "session_id": session, "cwd": "/shelf", **beginning}
        return [init, {"type": "assistant", "session_id": session, "message": answer}]

    for session, beginning, program, provider in (
        ("s1", {}, "claude-code", "anthropic"),
        ("q1", {"qwen_code_version": "0.5.0", "model": "gpt-5"}, "qwen-code", "openai"),
        ("T-1", {}, "amp", ""),
    ):
        ((run,), _) = fixtures.detect_and_read("claude-code", fixtures.json_lines(output(session, **beginning)))
        (model,) = fixtures.steps(run, StepType.MODEL)
        assert (run.app, run.steps[0].name) == (program, program)
        assert model.provider == (provider or model.provider)
        assert provider or model.provider != "anthropic"


def test_call_names_the_type_of_its_sub_agent() -> None:
    start = {**call("t1"), "input": {"prompt": "Count.", "subagent_type": "Explore"}}
    lines = [line("u1", "user", "Count both."), line("u2", "assistant", [start], parentUuid="u1")]
    lines += [line("g1", "user", "Count.", isSidechain=True)]
    lines += [line("g2", "assistant", "Five.", isSidechain=True, parentUuid="g1")]
    (run,) = claude_code.parse(sources(session=lines))
    assert [step.name for step in run.steps if step.type is StepType.AGENT] == ["claude-code", "Explore"]


def test_lines_in_any_order_are_the_same_session() -> None:
    result = [{"type": "tool_result", "tool_use_id": "t1", "content": "Five."}]
    lines = [
        line("u1", "user", "Count.", timestamp="2026-05-01T10:00:01Z"),
        line("u2", "assistant", [call("t1")], parentUuid="u1", timestamp="2026-05-01T10:00:02Z"),
        line("u3", "user", result, parentUuid="u2", timestamp="2026-05-01T10:00:02Z"),
        line("u4", "assistant", "Five.", parentUuid="u3", timestamp="2026-05-01T10:00:03Z"),
    ]
    (expected,) = claude_code.parse(sources(session=lines))
    for order in permutations(lines):
        (run,) = claude_code.parse(sources(session=[*order]))
        assert run.steps == expected.steps


def test_lines_that_are_their_own_ancestors_are_read() -> None:
    lines = [line("u2", "assistant", "Five.", parentUuid="u1"), line("u1", "user", "Count.", parentUuid="u2")]
    (run,) = claude_code.parse(sources(session=lines))
    assert [step.output for step in run.steps if step.type is StepType.MODEL]
