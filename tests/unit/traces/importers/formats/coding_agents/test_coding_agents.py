"""Logs of coding agents: sessions that branch, that are compacted, that go on in another file."""

from collections import Counter
from decimal import Decimal
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support import importing_fixtures as fixtures
from traces.core.json_types import JSONValue
from traces.core.recorded_run import RecordedRun, RecordedStep
from traces.core.vocabulary import StepStatus, StepType
from traces.importers import registry
from traces.importers.files.source import Source
from traces.importers.formats.coding_agents import claude_branches
from traces.importers.formats.coding_agents.claude_branches import Line, branches

AT = "2026-03-01T10:{:02}:{:02}.000Z"
USES = [{"type": "tool_use", "id": f"t{at}", "name": "Bash", "input": {"command": f"ls {at}"}} for at in (1, 2)]
GIVES = [{"type": "tool_result", "tool_use_id": f"t{at}", "content": f"book {at}"} for at in (1, 2)]


def body(value: JSONValue) -> dict[str, Any]:
    assert isinstance(value, dict), value
    return value


def contents(step: RecordedStep) -> list[Any]:
    """What the model was shown."""
    return [message["content"] for message in body(step.input)["messages"]]


def answers(run: RecordedRun) -> list[str]:
    return [body(step.output)["message"]["content"] for step in fixtures.steps(run, StepType.MODEL)]


def read(format: str, *files: Any) -> list[RecordedRun]:
    sources = [
        Source(name=f"{at}", data=b"\n".join(orjson.dumps(line) for line in each)) for at, each in enumerate(files)
    ]
    return list(registry.get_importer(format).runs(sources))


def line(uuid: str, parent: str | None, type: str = "user", said: Any = None, **more: Any) -> dict[str, Any]:
    """A line of a Claude Code session; what an assistant says names its answer by the beginning of its own id."""
    message = {
        "role": type,
        "content": said,
        **({"id": uuid.split(".")[0], "model": "claude-x"} if type == "assistant" else {}),
    }
    return {
        "uuid": uuid,
        "parentUuid": parent,
        "type": type,
        "sessionId": "cc",
        "isSidechain": False,
        "timestamp": AT.format(0, len(uuid)),
        **({"message": message} if said is not None else {}),
        **more,
    }


def says(words: str) -> list[dict[str, str]]:
    return [{"type": "text", "text": words}]


def test_a_branch_that_was_left_is_a_run_of_its_own() -> None:
    run, left = fixtures.runs("claude_code.jsonl")
    assert "an abandoned answer" not in str(run.steps)
    assert (run.external_id, run.metadata["other_branches"], run.metadata["summaries"]) == ("cc-1", 1, ["Stock check"])
    models = fixtures.steps(run, StepType.MODEL)
    assert models[0].tokens_in == 112, "the lines of one answer count once"
    assert body(models[0].output)["message"]["tool_calls"][0]["name"] == "Bash"
    assert fixtures.steps(run, StepType.TOOL)[0].status is StepStatus.ERROR
    assert [step.parent for step in run.steps if step.name == "sub-agent"] == ["agent"]
    assert (left.external_id, answers(left)) == ("cc-1/b1", ["an abandoned answer"])
    assert (left.metadata["left_branch_of"], left.metadata["shared_messages"]) == ("cc-1", 1)


def test_calls_made_at_once_hang_their_results_at_their_own_lines() -> None:
    lines = [
        line("u", None, said="Count them."),
        line("a.1", "u", "assistant", [USES[0]]),
        line("a.2", "a.1", "assistant", [USES[1]]),
        line("r1", "a.1", said=[GIVES[0]]),
        line("r2", "a.2", said=[GIVES[1]]),
        line("r3", "a.1", said=[{**GIVES[0], "content": "said again"}]),
        line("b", "r1", "assistant", says("Two books.")),
    ]
    (run,) = read("claude-code", lines)
    assert [(step.call_id, step.output) for step in fixtures.steps(run, StepType.TOOL)] == [
        ("t1", "book 1"),
        ("t2", "book 2"),
    ]
    assert contents(fixtures.steps(run, StepType.MODEL)[-1]) == ["Count them.", None, "book 1", "book 2"]


def test_after_a_summary_the_model_is_shown_the_summary() -> None:
    lines = [
        line("m", None, said="Caveat: the user ran commands.", isMeta=True),
        line("u", "m", said="Count the red books."),
        line("s", "u", "system", subtype="informational"),
        line("a", "s", "assistant", says("Three.")),
        line("c", None, "system", subtype="compact_boundary", logicalParentUuid="a"),
        line("d", "c", said="In short: three red books.", isCompactSummary=True),
        line("e", "d", said="And the blue ones?"),
        line("f", "e", "assistant", says("Five.")),
    ]
    (run,) = read("claude-code", lines)
    before, after = fixtures.steps(run, StepType.MODEL)
    assert contents(before) == ["Caveat: the user ran commands.", "Count the red books."]
    assert contents(after) == ["In short: three red books.", "And the blue ones?"]
    turns = [step.name for step in fixtures.steps(run, StepType.TURN)]
    assert (run.name, turns) == ("Count the red books.", ["Count the red books.", "And the blue ones?"])


def test_sub_agent_file_belongs_to_its_session() -> None:
    session = [line("u", None, said="Count them."), line("a", "u", "assistant", says("Done."))]
    agent = [
        line("s1", None, said="count the books", isSidechain=True, agentId="ab12"),
        line("s2", "s1", "assistant", says("three"), isSidechain=True, agentId="ab12"),
    ]
    (run,) = read("claude-code", session, agent)
    assert (run.external_id, answers(run)) == ("cc", ["Done.", "three"])
    (alone,) = read("claude-code", agent)
    assert (alone.external_id, alone.metadata["sub_agent_of"]) == ("cc/ab12", "cc")
    assert (alone.name, answers(alone)) == ("count the books", ["three"])


def test_session_over_several_files_is_one_run() -> None:
    whole = [
        line("u", None, said="Count them."),
        line("aa", "u", "assistant", says("Two.")),
        line("uuu", "aa", said="And now?"),
        line("aaaa", "uuu", "assistant", says("Three.")),
    ]
    (run,) = read("claude-code", whole)
    for later, earlier in ((whole[2:], whole[:2]), (whole[1:], whole[:3])):  # the second one repeats lines
        (split,) = read("claude-code", later, earlier)
        assert (split.external_id, split.metadata) == (run.external_id, run.metadata)
        assert [(step.key, step.input, step.output) for step in split.steps] == [
            (step.key, step.input, step.output) for step in run.steps
        ]


def test_sessions_of_other_files_stay_apart() -> None:
    one = [line("u", None, said="One."), line("a", "u", "assistant", says("1"))]
    two = [{**each, "sessionId": "other"} for each in one]
    assert [run.external_id for run in read("claude-code", one, two)] == ["cc", "other"]


def test_resumed_rollout_is_one_run() -> None:
    def said(at: int, role: str, words: str) -> dict[str, Any]:
        content = [{"type": "output_text" if role == "assistant" else "input_text", "text": words}]
        payload = {"type": "message", "role": role, "content": content}
        return {"timestamp": AT.format(0, at), "type": "response_item", "payload": payload}

    meta = {"timestamp": AT.format(0, 0), "type": "session_meta", "payload": {"id": "cx"}}
    again = {**meta, "timestamp": AT.format(0, 30)}
    first = [meta, said(1, "user", "Count."), said(2, "assistant", "Two.")]
    rest = [said(31, "user", "And now?"), said(32, "assistant", "Three.")]
    (run,) = read("codex", [*first, *rest])
    for files in (([again, *rest], first), (first, [again, *first[1:], *rest])):
        (split,) = read("codex", *files)
        assert (split.external_id, answers(split)) == ("cx", ["Two.", "Three."])
        assert [step.input for step in split.steps] == [step.input for step in run.steps]
    other = [{**meta, "payload": {"id": "other"}}, *first[1:]]
    assert [each.external_id for each in read("codex", first, other)] == ["cx", "other"]


@given(
    st.lists(st.tuples(st.integers(0, 30), st.sampled_from(["user", "assistant", "system"])), min_size=1, max_size=30)
)
def test_every_answer_is_on_a_branch_and_on_each_once(drawn: list[tuple[int, str]]) -> None:
    lines = []
    for at, (above, type) in enumerate(drawn):
        parent = None if above > 25 else str(above)  # damaged files have circles, and parents that are not there
        lines.append(Line(record=line(str(at), parent, type, None if type == "system" else says("x")), location=""))
    lines.append(Line(record=line("", "0", said="a line without an id"), location=""))
    found = list(branches(lines))
    told = [each.id for each in lines if each.is_message and each.id]
    for branch in found:
        ids = [each.id for each in branch.lines]
        assert ids == sorted(set(ids), key=told.index), "in the order of the file, none twice"
    on_any = Counter(each.id for branch in found for each in branch.lines)
    assert all(on_any[each.id] for each in lines if each.record["type"] == "assistant")
    starts = [branch.lines[branch.shared_length].id for branch in found]
    assert len(set(starts)) == len(starts), "each begins something that no other one does"
    assert not told or told[-1] in [each.id for each in found[0].lines]


def test_so_many_branches_are_read_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claude_branches, "_MOST_BRANCHES", 3)
    lines = [line("u", None, said="Count."), *(line(f"a{at}", "u", "assistant", says(f"{at}")) for at in range(9))]
    assert [run.external_id for run in read("claude-code", lines)] == ["cc", "cc/a7", "cc/a6"]


def test_a_codex_rollout_counts_each_answer_by_the_difference() -> None:
    run = fixtures.run("codex.jsonl")
    first, second = fixtures.steps(run, StepType.MODEL)
    assert (first.tokens_in, second.tokens_in, first.model) == (100, 150, "gpt-5.5")
    assert body(first.input)["messages"] == [fixtures.SYSTEM, fixtures.REQUEST]
    assert body(second.output)["message"] == fixtures.ANSWER
    assert fixtures.steps(run, StepType.TOOL)[0].input == {"title": "Dune"}


def session(count: int) -> list[bytes]:
    """A conversation of which every line hangs at the one before."""
    said = [("assistant", says(f"text {at}")) if at % 2 else ("user", f"text {at}") for at in range(count)]
    lines = [line(f"u{at}", f"u{at - 1}" if at else None, *each) for at, each in enumerate(said)]
    return [orjson.dumps(each) for each in lines]


def parsed(format: str, lines: list[bytes], name: str = "log.jsonl") -> tuple[list[RecordedRun], list[str]]:
    data = b"\n".join(lines)
    importer = registry.detect(fixtures.sample(name, data))
    assert importer.name == format
    source = Source(name=name, data=data)
    return list(importer.runs([source])), [str(problem) for problem in source.problems]


def test_a_broken_chain_loses_no_message() -> None:
    lines = session(14)
    lines[5] = b'{"type":"user","mess'
    (run,), (problem,) = parsed("claude-code", lines)
    assert "line 6" in problem
    last = fixtures.steps(run, StepType.MODEL)[-1]
    shown = [content if isinstance(content, str) else content[0]["text"] for content in contents(last)]
    assert shown == [f"text {at}" for at in range(13) if at != 5]


@pytest.mark.parametrize("broken", [0, 7, 13])
def test_a_damaged_session_is_recognised(broken: int) -> None:
    lines = session(14)
    lines[broken] = lines[broken][:40]
    runs, problems = parsed("claude-code", lines)
    assert len(runs) == 1
    assert [f"line {broken + 1}" in problem for problem in problems] == [True]


def test_a_line_without_an_id_keeps_its_place() -> None:
    lines = [orjson.loads(each) for each in session(6)]
    del lines[2]["uuid"]
    lines[3]["parentUuid"] = "u1"
    (run,), _ = parsed("claude-code", [orjson.dumps(each) for each in lines])
    assert len(contents(fixtures.steps(run, StepType.MODEL)[-1])) == 5


def test_a_time_that_is_none_costs_no_message() -> None:
    lines = [orjson.loads(each) for each in session(4)]
    lines[1]["timestamp"] = "soon"
    lines[3]["message"]["usage"] = {"input_tokens": "many"}
    (run,), problems = parsed("claude-code", [orjson.dumps(each) for each in lines])
    assert answers(run) == ["text 1", "text 3"]
    assert ["line 2" in problems[0], "line 4" in problems[1]] == [True, True]


def test_a_question_that_was_taken_back_is_kept() -> None:
    lines = [
        line("u", None, said="Count the red."),
        line("v", None, said="Count the blue."),
        line("a", "v", "assistant", says("5")),
    ]
    (run,) = read("claude-code", lines)
    assert run.metadata["unanswered_messages"] == [lines[0]["message"]]


@given(st.data())
def test_no_surviving_line_is_lost(data: st.DataObject) -> None:
    lines = session(12)
    gone = data.draw(st.sets(st.integers(0, 11), max_size=8))
    cut = data.draw(st.sets(st.integers(0, 11), max_size=3)) - gone
    damaged = [each[: len(each) // 2] if at in cut else each for at, each in enumerate(lines) if at not in gone]
    source = Source(name="log.jsonl", data=b"\n".join(damaged))
    told = str([(run.steps, run.metadata) for run in registry.get_importer("claude-code").runs([source])])
    assert all(f"text {at}'" in told for at in range(12) if at not in gone | cut)
    assert len(source.problems) == len(cut)


def test_a_sub_agent_goes_on_after_a_lost_line() -> None:
    more: dict[str, Any] = {"isSidechain": True, "agentId": "ab12"}
    lines = [
        line("s1", None, said="count", **more),
        line("s3", "lost", said="go on", **more),
        line("s4", "s3", "assistant", says("three"), **more),
    ]
    (run,) = read("claude-code", lines)
    assert contents(fixtures.steps(run, StepType.MODEL)[0]) == ["count", "go on"]


@pytest.mark.parametrize("broken", [0, 1, 9])
def test_a_damaged_rollout_is_read(broken: int) -> None:
    lines = [orjson.dumps(each) for each in _rollout({"message": "three red books"})]
    lines[broken] = lines[broken][:-9]
    name = "rollout-2026-03-01T10-00-00-0198c1de-0000-7000-8000-0123456789ab.jsonl"
    (run,), (problem,) = parsed("codex", lines, name)
    assert f"line {broken + 1}" in problem
    assert answers(run) == ["Three.", "Five."]
    assert run.external_id == ("cx" if broken else "0198c1de-0000-7000-8000-0123456789ab")


def test_a_time_that_is_none_costs_no_rollout() -> None:
    lines = _rollout({"message": "three red books"})
    lines[1]["timestamp"] = "soon"
    (run,), (problem,) = parsed("codex", [orjson.dumps(each) for each in lines])
    assert (answers(run), "line 2" in problem) == (["Three.", "Five."], True)


def test_a_damaged_line_costs_no_conversation() -> None:
    talk: list[Any] = [fixtures.REQUEST, fixtures.ANSWER, {**fixtures.REQUEST, "ts": "soon"}, {"kind": "header"}]
    (run,), problems = parsed("chat", [*map(orjson.dumps, talk), b'{"role": "assi'])
    assert len(fixtures.steps(run, StepType.TURN)) == 2
    assert [place in " ".join(problems) for place in ("line 3", "line 4", "line 5")] == [True] * 3


def _rollout(compacted: dict[str, Any]) -> list[dict[str, Any]]:
    def said(role: str, words: str) -> dict[str, Any]:
        return {"type": "response_item", "payload": {"type": "message", "role": role, "content": words}}

    def spent(count: int) -> dict[str, Any]:
        usage = {"input_tokens": count, "output_tokens": 1}
        return {"type": "event_msg", "payload": {"type": "token_count", "info": {"total_token_usage": usage}}}

    return [
        {"type": "session_meta", "payload": {"id": "cx", "base_instructions": {"text": "You keep books."}}},
        said("user", "Count the red books."),
        said("assistant", "Three."),
        spent(10),
        spent(10),
        {"type": "compacted", "payload": compacted},
        spent(25),
        said("user", "And the blue ones?"),
        said("assistant", "Five."),
        spent(31),
    ]


@pytest.mark.parametrize(
    ("compacted", "shown"),
    [
        ({"message": "three red books"}, ["Count the red books.", "three red books"]),
        (
            {
                "message": "",
                "replacement_history": [
                    {"type": "message", "role": "user", "content": "red: three"},
                    {"type": "compaction", "encrypted_content": "gAAAA"},
                    {"type": "function_call", "call_id": "c", "name": "ls", "arguments": "{}"},
                ],
            },
            ["red: three", None],
        ),
    ],
)
def test_a_codex_model_is_shown_what_took_the_place_of_the_conversation(
    compacted: dict[str, Any], shown: list[str | None]
) -> None:
    (run,) = read("codex", _rollout(compacted))
    before, after = fixtures.steps(run, StepType.MODEL)
    assert contents(before) == ["You keep books.", "Count the red books."]
    assert contents(after) == ["You keep books.", *shown, "And the blue ones?"]
    assert [step.tokens_in for step in (before, after)] == [25, 6], "what the summary took is in the total"
    assert len(fixtures.steps(run, StepType.TURN)) == 2
    assert run.metadata["compactions"] == 1


def test_an_atif_trajectory() -> None:
    run = fixtures.run("atif.json")
    model = fixtures.steps(run, StepType.MODEL)[0]
    assert (model.tokens_in, model.tokens_cached, model.cost_usd) == (42, 16, Decimal("0.001"))
    assert body(model.output)["message"]["content"] == [{"type": "thinking", "thinking": "look"}]
    assert fixtures.steps(run, StepType.TOOL)[0].output == "3 copies"


def _atif(session: str, *said: tuple[str, str, bool]) -> list[dict[str, Any]]:
    steps = [{"source": source, "message": words, "is_copied_context": copied} for source, words, copied in said]
    agent = {"name": "t2", "model_name": "gpt-5"}
    return [{"schema_version": "ATIF-v1.6", "session_id": session, "agent": agent, "steps": steps}]


def test_an_atif_trajectory_goes_on_in_its_continuations() -> None:
    begun = _atif("s", ("user", "Count the books.", False), ("agent", "Three so far.", False))
    second = _atif("s-cont-1", ("user", "Count the books; three so far.", True), ("agent", "Ten.", False))
    third = _atif("s-cont-2", ("user", "Go on.", False), ("agent", "Twelve.", False))
    (run,) = read("atif", third, begun, second, begun)
    assert (run.external_id, answers(run)) == ("s", ["Three so far.", "Ten.", "Twelve."])
    shown = [contents(step) for step in fixtures.steps(run, StepType.MODEL)]
    assert shown == [["Count the books."], ["Count the books; three so far."], ["Go on."]]
    assert len(fixtures.steps(run, StepType.TURN)) == 2
    assert [part["schema_version"] for part in run.metadata["continuations"]] == ["ATIF-v1.6"] * 2  # type: ignore[index,union-attr,call-overload]
    (alone,) = read("atif", second)
    assert alone.external_id == "s-cont-1"


def test_a_bad_atif_trajectory_keeps_only_itself_out() -> None:
    (bad,) = _atif("bad", ("agent", "Three.", False))
    bad["steps"] = [{"source": "user", "message": "go"}, {"source": "agent", "metrics": {"prompt_tokens": "many"}}]
    sources = [Source(name="x", data=orjson.dumps(each)) for each in (bad, *_atif("good", ("user", "go", False)))]
    assert [run.external_id for run in registry.get_importer("atif").runs(sources)] == ["good"]
    assert [[str(each) for each in source.problems] for source in sources] == [
        ["'many' is not a token count (/steps/1/usage)"],
        [],
    ]
