"""Claude Code sessions: branches, compaction, sub-agents, several files, and damaged lines."""

from collections import Counter
from typing import Any, cast

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support import importing_fixtures as fixtures
from traces.core.json_access import as_object
from traces.core.vocabulary import RunStatus, StepStatus, StepType
from traces.importers import registry
from traces.importers.files.source import Source
from traces.importers.formats.coding_agents import claude_branches
from traces.importers.formats.coding_agents.claude_branches import Line, branches
from traces.payloads.messages import ModelAnswer

FORMAT = "claude-code"
TIME = "2026-03-01T10:00:{:02}.000Z"
CALLS = [{"type": "tool_use", "id": f"t{n}", "name": "Bash", "input": {"command": f"ls {n}"}} for n in (1, 2)]
RESULTS = [{"type": "tool_result", "tool_use_id": f"t{n}", "content": f"book {n}"} for n in (1, 2)]


def line(uuid: str, parent: str | None, type: str = "user", content: Any = None, **fields: Any) -> dict[str, Any]:
    """A line of a session; lines of one answer have ids with the same part before the dot."""
    message = {
        "role": type,
        "content": content,
        **({"id": uuid.split(".")[0], "model": "claude-x"} if type == "assistant" else {}),
    }
    return {
        "uuid": uuid,
        "parentUuid": parent,
        "type": type,
        "sessionId": "cc",
        "isSidechain": False,
        "timestamp": TIME.format(len(uuid)),
        **({"message": message} if content is not None else {}),
        **fields,
    }


def text_blocks(text: str) -> list[dict[str, str]]:
    return [{"type": "text", "text": text}]


def session(count: int) -> list[dict[str, Any]]:
    """A conversation without branches: each line is the child of the line before it."""
    contents = [("assistant", text_blocks(f"text {n}")) if n % 2 else ("user", f"text {n}") for n in range(count)]
    return [line(f"u{n}", f"u{n - 1}" if n else None, *content) for n, content in enumerate(contents)]


def session_lines(count: int) -> list[bytes]:
    return [orjson.dumps(record) for record in session(count)]


# Branches


def test_abandoned_branch_is_separate_run() -> None:
    run, branch = fixtures.runs("claude_code.jsonl")
    assert "an abandoned answer" not in str(run.steps)
    assert (run.external_id, run.metadata["other_branches"], run.metadata["summaries"]) == ("cc-1", 1, ["Stock check"])
    models = fixtures.steps(run, StepType.MODEL)
    assert models[0].tokens_in == 112, "the lines of one answer count once"
    assert ModelAnswer(models[0].output).calls[0]["name"] == "Bash"
    assert fixtures.steps(run, StepType.TOOL)[0].status is StepStatus.ERROR
    assert [step.parent for step in run.steps if step.name == "sub-agent"] == ["agent"]
    assert (branch.external_id, fixtures.answer_contents(branch)) == ("cc-1/b1", ["an abandoned answer"])
    assert (branch.metadata["left_branch_of"], branch.metadata["shared_messages"]) == ("cc-1", 1)


def test_parallel_calls_form_no_branches() -> None:
    lines = [
        line("u", None, content="Count them."),
        line("a.1", "u", "assistant", [CALLS[0]]),
        line("a.2", "a.1", "assistant", [CALLS[1]]),
        line("r1", "a.1", content=[RESULTS[0]]),
        line("r2", "a.2", content=[RESULTS[1]]),
        line("r3", "a.1", content=[{**RESULTS[0], "content": "repeated"}]),
        line("b", "r1", "assistant", text_blocks("Two books.")),
    ]
    (run,) = fixtures.read(FORMAT, lines)
    assert [(step.call_id, step.output) for step in fixtures.steps(run, StepType.TOOL)] == [
        ("t1", "book 1"),
        ("t2", "book 2"),
    ]
    last_model = fixtures.steps(run, StepType.MODEL)[-1]
    assert fixtures.request_contents(last_model) == ["Count them.", None, "book 1", "book 2"]


@given(
    st.lists(st.tuples(st.integers(0, 30), st.sampled_from(["user", "assistant", "system"])), min_size=1, max_size=30)
)
def test_branches_cover_all_answers(parents_and_types: list[tuple[int, str]]) -> None:
    lines = []
    for number, (parent_number, type) in enumerate(parents_and_types):
        # As in damaged files, parents may form cycles or be missing.
        parent = None if parent_number > 25 else str(parent_number)
        content = None if type == "system" else text_blocks("x")
        lines.append(Line(record=line(str(number), parent, type, content), location=""))
    lines.append(Line(record=line("", "0", content="a line without an id"), location=""))
    all_branches = list(branches(lines))
    message_ids = [entry.id for entry in lines if entry.is_message and entry.id]
    for branch in all_branches:
        ids = [entry.id for entry in branch.lines]
        assert ids == sorted(set(ids), key=message_ids.index), "in file order, without duplicates"
    branch_counts = Counter(entry.id for branch in all_branches for entry in branch.lines)
    assert all(branch_counts[entry.id] for entry in lines if entry.record["type"] == "assistant")
    starts = [branch.lines[branch.shared_length].id for branch in all_branches]
    assert len(set(starts)) == len(starts), "each branch starts with a line of no other branch"
    assert not message_ids or message_ids[-1] in [entry.id for entry in all_branches[0].lines]


def test_refusal_of_api_is_failed_call() -> None:
    refusal = line("a", "u", "assistant", text_blocks("API Error: overloaded"), isApiErrorMessage=True)
    answer = line("b", "a", "assistant", text_blocks("5"))
    answer["message"] = {**answer["message"], "stop_reason": "end_turn"}
    (run,) = fixtures.read(FORMAT, [line("u", None, content="Count them."), refusal, answer])
    failed, step = fixtures.steps(run, StepType.MODEL)
    assert (failed.status, failed.error) == (StepStatus.ERROR, "API Error: overloaded")
    assert (run.status, as_object(step.output)["finish_reason"]) == (RunStatus.COMPLETED, "stop")
    (refused_run,) = fixtures.read(FORMAT, [line("u", None, content="Count them."), refusal])
    assert refused_run.status is RunStatus.FAILED


def test_steps_have_the_other_members_of_their_lines() -> None:
    lines = [
        line("u1", None, content="Is Dune in stock?", cwd="/shop", promptId="p1"),
        line("a.1", "u1", "assistant", text_blocks("I look."), slug="quiet-shelf"),
        line("a.2", "a.1", "assistant", CALLS[:1], effort=0),
    ]
    lines[2]["message"]["container"] = {"id": "box"}
    (run,) = fixtures.read("claude-code", lines)
    (turn,), (model,) = fixtures.steps(run, StepType.TURN), fixtures.steps(run, StepType.MODEL)
    assert turn.attributes["line"] == {"promptId": "p1"}
    assert model.attributes["line"] == {"slug": "quiet-shelf", "effort": 0}
    assert model.attributes["message"] == {"container": {"id": "box"}}


def test_number_of_branches_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claude_branches, "_MOST_BRANCHES", 3)
    answers = [line(f"a{n}", "u", "assistant", text_blocks(f"{n}")) for n in range(9)]
    runs = fixtures.read(FORMAT, [line("u", None, content="Count."), *answers])
    assert [run.external_id for run in runs] == ["cc", "cc/a7", "cc/a6"]


def test_withdrawn_request_is_in_metadata() -> None:
    lines = [
        line("u", None, content="Count the red."),
        line("v", None, content="Count the blue."),
        line("a", "v", "assistant", text_blocks("5")),
    ]
    (run,) = fixtures.read(FORMAT, lines)
    assert run.metadata["unanswered_messages"] == [lines[0]["message"]]


# Compaction, sub-agents and several files


def test_compaction_replaces_earlier_messages() -> None:
    lines = [
        line("m", None, content="Caveat: the user ran commands.", isMeta=True),
        line("u", "m", content="Count the red books."),
        line("s", "u", "system", subtype="informational"),
        line("b", "s", "assistant", CALLS[:1]),
        line("r", "b", content=RESULTS[:1], isMeta=True),
        line("a", "r", "assistant", text_blocks("Three.")),
        line("c", None, "system", subtype="compact_boundary", logicalParentUuid="a"),
        line("d", "c", content="In short: three red books.", isCompactSummary=True),
        line("e", "d", content="And the blue ones?"),
        line("f", "e", "assistant", text_blocks("Five.")),
    ]
    (run,) = fixtures.read(FORMAT, lines)
    first, _, second = fixtures.steps(run, StepType.MODEL)
    assert fixtures.steps(run, StepType.TOOL)[0].output == "book 1", "a result is no remark of the program"
    assert fixtures.request_contents(first) == ["Caveat: the user ran commands.", "Count the red books."]
    assert fixtures.request_contents(second) == ["In short: three red books.", "And the blue ones?"]
    turns = [step.name for step in fixtures.steps(run, StepType.TURN)]
    assert (run.name, turns) == ("Count the red books.", ["Count the red books.", "And the blue ones?"])


def test_sub_agent_file_joins_its_session() -> None:
    main = [line("u", None, content="Count them."), line("a", "u", "assistant", text_blocks("Done."))]
    agent = [
        line("s1", None, content="count the books", isSidechain=True, agentId="ab12"),
        line("s2", "s1", "assistant", text_blocks("three"), isSidechain=True, agentId="ab12"),
    ]
    (run,) = fixtures.read(FORMAT, main, agent)
    assert (run.external_id, fixtures.answer_contents(run)) == ("cc", ["Done.", "three"])
    (agent_run,) = fixtures.read(FORMAT, agent)
    assert (agent_run.external_id, agent_run.metadata["sub_agent_of"]) == ("cc/ab12", "cc")
    assert (agent_run.name, fixtures.answer_contents(agent_run)) == ("count the books", ["three"])


def test_sub_agent_continues_after_lost_line() -> None:
    fields: dict[str, Any] = {"isSidechain": True, "agentId": "ab12"}
    lines = [
        line("s1", None, content="count", **fields),
        line("s3", "lost", content="go on", **fields),
        line("s4", "s3", "assistant", text_blocks("three"), **fields),
    ]
    (run,) = fixtures.read(FORMAT, lines)
    assert fixtures.request_contents(fixtures.steps(run, StepType.MODEL)[0]) == ["count", "go on"]


def test_session_over_several_files_is_one_run() -> None:
    lines = [
        line("u", None, content="Count them."),
        line("aa", "u", "assistant", text_blocks("Two.")),
        line("uuu", "aa", content="And now?"),
        line("aaaa", "uuu", "assistant", text_blocks("Three.")),
    ]
    (run,) = fixtures.read(FORMAT, lines)
    overlapping_files = (lines[1:], lines[:3])
    for later, earlier in ((lines[2:], lines[:2]), overlapping_files):
        (joined_run,) = fixtures.read(FORMAT, later, earlier)
        assert (joined_run.external_id, joined_run.metadata) == (run.external_id, run.metadata)
        assert [(step.key, step.input, step.output) for step in joined_run.steps] == [
            (step.key, step.input, step.output) for step in run.steps
        ]


def test_different_sessions_are_separate_runs() -> None:
    lines = [line("u", None, content="One."), line("a", "u", "assistant", text_blocks("1"))]
    other_lines = [{**record, "sessionId": "other"} for record in lines]
    assert [run.external_id for run in fixtures.read(FORMAT, lines, other_lines)] == ["cc", "other"]


# Damaged files


def test_broken_chain_loses_no_message() -> None:
    lines = session_lines(14)
    lines[5] = b'{"type":"user","mess'
    (run,), (problem,) = fixtures.detect_and_read(FORMAT, b"\n".join(lines))
    assert "line 6" in problem
    contents = fixtures.request_contents(fixtures.steps(run, StepType.MODEL)[-1])
    texts = [content if isinstance(content, str) else content[0]["text"] for content in contents]
    assert texts == [f"text {n}" for n in range(13) if n != 5]


@pytest.mark.parametrize("damaged", [0, 7, 13])
def test_damaged_session_is_detected(damaged: int) -> None:
    lines = session_lines(14)
    lines[damaged] = lines[damaged][:40]
    runs, problems = fixtures.detect_and_read(FORMAT, b"\n".join(lines))
    assert len(runs) == 1
    assert [f"line {damaged + 1}" in problem for problem in problems] == [True]


def test_line_without_id_keeps_its_place() -> None:
    lines = session(6)
    del lines[2]["uuid"]
    lines[3]["parentUuid"] = "u1"
    (run,), _ = fixtures.detect_and_read(FORMAT, fixtures.json_lines(lines))
    assert len(fixtures.request_contents(fixtures.steps(run, StepType.MODEL)[-1])) == 5


def test_invalid_time_and_usage_lose_no_message() -> None:
    lines = session(4)
    lines[1]["timestamp"] = "soon"
    lines[3]["message"]["usage"] = {"input_tokens": "many"}
    (run,), problems = fixtures.detect_and_read(FORMAT, fixtures.json_lines(lines))
    assert fixtures.answer_contents(run) == ["text 1", "text 3"]
    assert ["line 2" in problems[0], "line 4" in problems[1]] == [True, True]


@given(st.data())
def test_surviving_lines_are_in_the_runs(data: st.DataObject) -> None:
    lines = session_lines(12)
    missing = data.draw(st.sets(st.integers(0, 11), max_size=8))
    truncated = data.draw(st.sets(st.integers(0, 11), max_size=3)) - missing
    damaged_lines = [
        text[: len(text) // 2] if n in truncated else text for n, text in enumerate(lines) if n not in missing
    ]
    source = Source(name="log.jsonl", data=b"\n".join(damaged_lines))
    content = str([(run.steps, run.metadata) for run in registry.get_importer(FORMAT).runs([source])])
    assert all(f"text {n}'" in content for n in range(12) if n not in missing | truncated)
    assert len(source.problems) == len(truncated)


def test_queued_messages_are_turns() -> None:
    command = {"type": "queued_command", "prompt": "Also find Emma.", "commandMode": "prompt"}
    lines = [
        line("u1", None, "user", "Find Dune."),
        line("a1", "u1", "assistant", text_blocks("I look.")),
        line("q1", "a1", "attachment", attachment=command),
        line("n1", "q1", "attachment", attachment={**command, "prompt": "Task 1 ended.", "commandMode": "task"}),
        line("a2", "n1", "assistant", text_blocks("Both are there.")),
    ]
    (run,) = fixtures.read(FORMAT, lines)
    assert [step.name for step in fixtures.steps(run, StepType.TURN)] == ["Find Dune.", "Also find Emma."]
    request: Any = fixtures.steps(run, StepType.MODEL)[-1].input
    assert [message["content"] for message in request["messages"][2:]] == ["Also find Emma.", "Task 1 ended."]


def test_output_of_a_command_is_a_session() -> None:
    def message(type: str, content: Any, caller: str | None = None, id: str = "m1") -> dict[str, Any]:
        body = {"role": type, "content": content, **({"id": id, "model": "claude-x"} if type == "assistant" else {})}
        return {"type": type, "message": body, "session_id": "cs", "parent_tool_use_id": caller}

    task = {"type": "tool_use", "id": "t0", "name": "Task", "input": {"prompt": "Find Dune."}}
    result = {"type": "tool_result", "tool_use_id": "t0", "content": "book 1"}
    lines = [
        {"type": "system", "subtype": "init", "session_id": "cs", "cwd": "/shop", "uuid": "i"},
        message("assistant", text_blocks("I look.")),
        message("assistant", [task]),
        message("assistant", [CALLS[0]], "t0", "m2"),
        message("user", [RESULTS[0]], "t0"),
        message("user", [result]),
        message("assistant", text_blocks("Yes."), None, "m3"),
        {"type": "result", "subtype": "error_max_turns", "is_error": True, "session_id": "cs", "total_cost_usd": 0.02},
    ]
    for data in (fixtures.json_lines(lines), orjson.dumps(lines)):
        ((run,), problems) = fixtures.detect_and_read(FORMAT, data)
        first, inner, last = fixtures.steps(run, StepType.MODEL)
        outer_call, inner_call = fixtures.steps(run, StepType.TOOL)
        agents = {step.key: step.parent for step in fixtures.steps(run, StepType.AGENT)}
        assert (outer_call.output, inner_call.output, agents[str(inner.parent)]) == ("book 1", "book 1", outer_call.key)
        assert (ModelAnswer(first.output).text, ModelAnswer(last.output).text, problems) == ("I look.", "Yes.", [])
        assert (run.status, run.judgements[0].text) == (RunStatus.FAILED, "error_max_turns")
        assert as_object(run.metadata["init"])["cwd"] == "/shop"


@pytest.mark.parametrize("output_id", ["u2", "x2"])
def test_output_beside_its_session_adds_statements(output_id: str) -> None:
    answer: Any = {"id": "m1", "role": "assistant", "model": "claude-x", "content": text_blocks("Yes.")}
    facts = {"sessionId": "cs", "timestamp": "2026-03-01T10:00:00Z"}
    request = {"role": "user", "content": "Is Dune in stock?"}
    session: list[Any] = [
        {**facts, "uuid": "u1", "parentUuid": None, "type": "user", "message": request},
        {**facts, "uuid": "u2", "parentUuid": "u1", "type": "assistant", "message": answer},
    ]
    output: list[Any] = [
        {"type": "system", "subtype": "init", "session_id": "cs", "cwd": "/shop"},
        {"type": "assistant", "message": answer, "session_id": "cs", "uuid": output_id},
    ]
    (run,) = fixtures.read(FORMAT, output, session)
    assert [step.type.value for step in run.steps] == ["agent", "turn", "model", "output"]
    assert as_object(run.metadata["init"])["cwd"] == "/shop"


def _line(session: str, id: str, parent: str | None, role: str, content: Any, **facts: Any) -> dict[str, Any]:
    ids = {"uuid": id, "parentUuid": parent, "sessionId": session, "isSidechain": "agentId" in facts}
    return {"type": role, **ids, "message": {"role": role, "content": content}, **facts}


def _call(id: str) -> list[dict[str, Any]]:
    return [{"type": "tool_use", "id": id, "name": "Task", "input": {"prompt": f"short {id}"}}]


def _result(id: str) -> list[dict[str, Any]]:
    return [{"type": "tool_result", "tool_use_id": id, "content": "done"}]


def test_sub_agents_nest_below_named_calls() -> None:
    main = [
        _line("s", "u1", None, "user", "Count"),
        _line("s", "u2", "u1", "assistant", _call("c1")),
        _line("s", "u3", "u2", "user", _result("c1"), toolUseResult={"agentId": "a1"}),
    ]
    # The child's file comes first, and the whole prompt of neither agent is in the call.
    child = [
        _line("s", "k1", None, "user", "Whole child prompt", agentId="a2"),
        _line("s", "k2", "k1", "assistant", "child answer", agentId="a2"),
    ]
    parent = [
        _line("s", "p1", None, "user", "Whole parent prompt", agentId="a1"),
        _line("s", "p2", "p1", "assistant", _call("c2"), agentId="a1"),
        _line("s", "p3", "p2", "user", _result("c2"), agentId="a1", toolUseResult={"agentId": "a2"}),
    ]
    (run,) = fixtures.read("claude-code", main, child, parent)
    callers = {step.key: step.call_id for step in fixtures.steps(run, StepType.TOOL)}
    agents = [step for step in run.steps if step.name == "sub-agent"]
    assert [(callers[step.parent or ""], step.attributes["agent_id"]) for step in agents] == [
        ("c1", "a1"),
        ("c2", "a2"),
    ]


def test_lines_about_the_program_are_events() -> None:
    retry = {"type": "system", "subtype": "api_error", "uuid": "u2", "parentUuid": "u1", "sessionId": "s"}
    lines = [
        _line("s", "u1", None, "user", "Count"),
        {**retry, "error": {"status": 529}, "retryAttempt": 1},
        _line("s", "u3", "u2", "assistant", "3"),
        {"type": "custom-title", "sessionId": "s", "customTitle": "Stock"},
        {"type": "progress", "uuid": "u4", "parentUuid": "u3", "sessionId": "s", "data": {"text": "…"}},
    ]
    (run,) = fixtures.read("claude-code", lines)
    title, error = cast(list[dict[str, Any]], run.metadata["events"])
    assert (run.name, title["customTitle"]) == ("Stock", "Stock")
    assert (error["subtype"], error["error"], error["retryAttempt"]) == ("api_error", {"status": 529}, 1)
