"""Sessions of opencode."""

import sqlite3
from datetime import UTC, datetime
from typing import Any

import orjson

from tests.support import importing_fixtures as fixtures
from traces.core.vocabulary import RunStatus, StepStatus, StepType
from traces.importers import registry
from traces.importers.files.source import Source

_TIME = datetime(2026, 3, 1, 10, tzinfo=UTC)


def test_subagent_runs_inside_its_call() -> None:
    run = fixtures.run("opencode.json")
    parents = {step.key: step.parent for step in run.steps}
    (task,) = [step for step in fixtures.steps(run, StepType.TOOL) if step.tool_name == "task"]
    assert parents["ses_2/agent"] == task.key
    assert parents["ses_2/msg-2"] == "ses_2/msg-1"
    assert (run.external_id, run.name, run.status) == ("ses_1", "Stock of Dune", RunStatus.FAILED)


def test_sessions_apart_are_runs() -> None:
    sessions: Any = fixtures.source("opencode.json").value
    parent, child = sessions
    assert [run.external_id for run in fixtures.read("opencode", [child], [parent])] == ["ses_1"]
    assert [run.external_id for run in fixtures.read("opencode", [child])] == ["ses_2"]


def test_stored_files_are_like_an_export() -> None:
    sessions: Any = fixtures.source("opencode.json").value
    files: list[Any] = [session["info"] for session in sessions]
    for message in (message for session in sessions for message in session["messages"]):
        ids = {"sessionID": message["info"]["sessionID"], "messageID": message["info"]["id"]}
        files.append({"time": {}, **message["info"]})
        files += [{**part, **ids, "id": f"prt_{number}"} for number, part in enumerate(message["parts"])]
    sources = [Source(name=f"{number}.json", data=orjson.dumps(file)) for number, file in enumerate(files)]
    assert {registry.detect(fixtures.sample(file.name, file.data)).name for file in sources} == {"opencode"}
    (run,) = registry.get_importer("opencode").runs(sources)
    assert run == fixtures.run("opencode.json")
    lonely = Source(name="session.json", data=sources[0].data)
    assert list(registry.get_importer("opencode").runs([lonely])) == []
    assert "without messages" in str(lonely.problems[0])


def chain(length: int, *, last: str = "") -> list[Any]:
    """Return sessions each of which starts the next one."""
    sessions = []
    for number in range(length):
        child = last if number == length - 1 else f"s{number + 1}"
        state = {"status": "completed", "input": {}, "output": "x", "metadata": {"sessionId": child}}
        info = {"id": f"m{number}", "sessionID": f"s{number}", "role": "assistant"}
        call = {"type": "tool", "tool": "task", "callID": "c", "state": state}
        sessions.append({"info": {"id": f"s{number}", "projectID": "p"}, "messages": [{"info": info, "parts": [call]}]})
    return sessions


def test_sessions_that_start_each_other_are_one_run() -> None:
    ((run,), problems) = fixtures.detect_and_read("opencode", orjson.dumps(chain(3, last="s0")))
    assert (run.external_id, len(fixtures.steps(run, StepType.TOOL)), problems) == ("s0", 3, [])
    # A session that is continued by a second call.
    (first, second), extra = chain(2), chain(2)[0]["messages"][0]
    first["messages"].append({**extra, "info": {**extra["info"], "id": "m9"}})
    ((run,), _) = fixtures.detect_and_read("opencode", orjson.dumps([first, second]))
    assert len({step.key for step in run.steps}) == len(run.steps)


def test_deep_nesting_is_reported() -> None:
    runs, problems = fixtures.detect_and_read("opencode", orjson.dumps(chain(300)))
    assert "nested deeper than 20 levels" in problems[0]
    assert len(problems) + len(runs) < 30


def test_answers_have_tokens_times_and_errors() -> None:
    run = fixtures.run("opencode.json")
    first, *_, failed = fixtures.steps(run, StepType.MODEL)
    assert (first.tokens_in, first.tokens_out, first.tokens_cached, first.provider) == (125, 12, 20, "anthropic")
    assert first.ended_at == _TIME.replace(second=23)
    assert (failed.status, failed.error) == (StepStatus.ERROR, "overloaded")
    missing = fixtures.steps(run, StepType.TOOL)[1]
    assert (missing.status, missing.error, missing.call_id) == (StepStatus.ERROR, "no such shelf", "call_2")


def test_output_of_the_program_has_no_request() -> None:
    part = {"id": "p1", "sessionID": "ses_1", "messageID": "m1"}
    state = {"status": "completed", "input": {"command": "ls"}, "output": "a", "time": {"start": 1, "end": 2}}
    events: list[Any] = [
        {"type": "tool_use", "part": {**part, "type": "tool", "tool": "bash", "callID": "c1", "state": state}},
        {"type": "text", "part": {**part, "messageID": "m2", "type": "text", "text": "One file."}},
        {"type": "error", "error": {"name": "APIError", "data": {"message": "overloaded"}}},
    ]
    lines = [{"timestamp": number, "sessionID": "ses_1", **event} for number, event in enumerate(events)]
    ((run,), problems) = fixtures.detect_and_read("opencode", b"\n".join(map(orjson.dumps, lines)))
    assert problems == []
    assert [(step.type.value, step.error) for step in run.steps] == [
        ("agent", ""),
        ("model", ""),
        ("tool", ""),
        ("model", ""),
        ("model", "overloaded"),
        ("output", ""),
    ]
    assert fixtures.request_contents(run.steps[1]) == []


def test_summary_replaces_earlier_messages() -> None:
    def message(number: int, role: str, text: str, **facts: Any) -> Any:
        info = {"id": f"m{number}", "sessionID": "s", "role": role, "time": {"created": number}, **facts}
        return {"info": info, "parts": [{"type": "text", "text": text}]}

    messages = [
        message(1, "user", "Is Dune in stock?"),
        message(2, "assistant", "Yes."),
        message(3, "assistant", "The user asked for Dune.", summary=True),
        message(4, "user", "And Emma?"),
        message(5, "assistant", "No."),
    ]
    ((run,), _) = fixtures.detect_and_read("opencode", orjson.dumps(messages))
    assert fixtures.request_contents(fixtures.steps(run, StepType.MODEL)[-1]) == [
        "The user asked for Dune.",
        "And Emma?",
    ]


def test_database_has_sessions_like_exports(connection: sqlite3.Connection) -> None:
    connection.executescript(
        "CREATE TABLE `session` (`id` text, `parent_id` text, `title` text, `time_created` integer);"
        "CREATE TABLE `message` (`id` text, `session_id` text, `data` text);"
        "CREATE TABLE `part` (`id` text, `message_id` text, `data` text);"
    )
    exports: Any = fixtures.source("opencode.json").value
    for export in exports if isinstance(exports, list) else [exports]:
        info = export["info"]
        connection.execute("INSERT INTO session VALUES (?, ?, ?, 1)", (info["id"], info.get("parentID"), info["title"]))
        for message in export["messages"]:
            id, *_ = ids = (message["info"]["id"], info["id"])
            connection.execute("INSERT INTO message VALUES (?, ?, ?)", (*ids, orjson.dumps(message["info"]).decode()))
            for number, part in enumerate(message["parts"]):
                row = (part.get("id") or f"{id}.{number:03}", id, orjson.dumps(part).decode())
                connection.execute("INSERT INTO part VALUES (?, ?, ?)", row)
    connection.execute("INSERT INTO session VALUES ('empty', NULL, 'Empty', 1)")
    runs, (problem,) = fixtures.detect_and_read("opencode", connection.serialize(), "opencode.db")
    expected = fixtures.runs("opencode.json")
    assert [(run.external_id, run.name, len(run.steps)) for run in runs] == [
        (run.external_id, run.name, len(run.steps)) for run in expected
    ]
    assert [fixtures.answer_contents(run) for run in runs] == [fixtures.answer_contents(run) for run in expected]
    assert "session empty" in problem
