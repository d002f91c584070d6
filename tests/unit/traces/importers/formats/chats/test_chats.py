"""Chats of end-user programs: Gemini CLI, the Vercel AI SDK, ChatGPT."""

import io
import zipfile
from typing import Any

import orjson
import pytest

from tests.support import importing_fixtures as fixtures
from traces.core.recorded_run import RecordedRun, RecordedStep
from traces.core.vocabulary import JudgementKind, RunStatus, StepStatus, StepType
from traces.importers import registry
from traces.importers.files.source import Source


def read(format: str, content: Any) -> list[RecordedRun]:
    source = Source(name="renamed", data=content if isinstance(content, bytes) else orjson.dumps(content))
    assert registry.detect(fixtures.sample(source.name, source.data)).name == format
    return list(registry.get_importer(format).runs([source]))


def answer_message(step: RecordedStep) -> Any:
    assert isinstance(step.output, dict)
    return step.output["message"]


def models(run: RecordedRun) -> list[RecordedStep]:
    return fixtures.steps(run, StepType.MODEL)


def tools(run: RecordedRun) -> list[RecordedStep]:
    return fixtures.steps(run, StepType.TOOL)


# Gemini CLI


def test_gemini_results_are_in_their_calls() -> None:
    run = fixtures.run("gemini_cli.json")
    first, second = models(run)
    assert (first.tokens_in, first.tokens_out, first.tokens_cached) == (100, 15, 40), "thoughts are output"
    assert answer_message(first)["content"][0] == {"type": "thinking", "thinking": "Finding: The shelf list knows."}
    assert [(step.status, step.error) for step in tools(run)] == [
        (StepStatus.OK, ""),
        (StepStatus.ERROR, "no such file"),
        (StepStatus.DENIED, "[Operation Cancelled] Reason: User denied execution."),
    ]
    assert second.model == "gemini-2.5-flash"
    assert isinstance(run.metadata["notices"], list)


def test_gemini_session_ends_with_its_last_error() -> None:
    value: Any = fixtures.source("gemini_cli.json").value
    notices = [{"id": type, "type": type, "timestamp": None, "content": "Stopped."} for type in ("error", "info")]
    ((run,), _) = fixtures.detect_and_read(
        "gemini-cli", orjson.dumps({**value, "messages": [*value["messages"], *notices]})
    )
    assert run.status == "failed", "the hint after the error is none"


def test_gemini_lines_update_earlier_ones() -> None:
    run = fixtures.run("gemini_cli.jsonl")
    assert [answer_message(step)["content"] for step in models(run)] == [None, "Yes, three copies."]
    assert (tools(run)[0].output, models(run)[0].tokens_in, run.metadata["summary"]) == ("3 copies", 50, "Stock check")


def test_gemini_set_replaces_all_messages() -> None:
    fields = {"timestamp": "2026-03-01T10:00:01.000Z", "content": "x"}
    lines = [
        {"sessionId": "s", "projectHash": "h"},
        {"id": "a", "type": "user", **fields},
        {"$set": {"messages": [{"id": "b", "type": "user", **fields}, {"id": "c", "type": "error", **fields}]}},
    ]
    (run,) = read("gemini-cli", fixtures.json_lines(lines))
    assert (len(fixtures.steps(run, StepType.TURN)), run.status) == (1, RunStatus.FAILED)


def test_gemini_prompt_log_has_run_per_session() -> None:
    prompt = {"messageId": 0, "timestamp": "2026-03-01T10:00:01.000Z", "type": "user"}
    runs = read(
        "gemini-cli", [{**prompt, "sessionId": session, "message": f"ask {session}"} for session in ("s1", "s2", "s1")]
    )
    assert [(run.external_id, len(run.steps)) for run in runs] == [("s1/prompts", 3), ("s2/prompts", 2)]


@pytest.mark.parametrize("has_envelope", [True, False])
def test_gemini_checkpoint_calls_need_no_ids(has_envelope: bool) -> None:
    contents = [
        {"role": "user", "parts": [{"text": "Is Dune in stock?"}]},
        {
            "role": "model",
            "parts": [
                {"text": "hm", "thought": True},
                {"functionCall": {"name": "find_book", "args": {"title": "Dune"}}},
            ],
        },
        {"role": "user", "parts": [{"functionResponse": {"name": "find_book", "response": {"error": "closed"}}}]},
        {"role": "model", "parts": [{"text": "I cannot say."}]},
    ]
    (run,) = read("gemini-cli", {"history": contents, "authType": "oauth"} if has_envelope else contents)
    (tool,) = tools(run)
    assert (tool.tool_name, tool.input, tool.error) == ("find_book", {"title": "Dune"}, "closed")
    assert answer_message(models(run)[0])["content"] == [{"type": "thinking", "thinking": "hm"}]


# Vercel AI SDK


def test_ui_message_spans_several_model_calls() -> None:
    run = fixtures.run("vercel_ui.json")
    first, last = models(run)
    assert [call["name"] for call in answer_message(first)["tool_calls"]] == [
        "findBook",
        "order",
        "deleteBook",
        "waiting",
    ]
    assert [(step.status, step.output) for step in tools(run)] == [
        (StepStatus.OK, '{"copies":3}'),
        (StepStatus.ERROR, "the shop is closed"),
        (StepStatus.DENIED, "not this one"),
        (StepStatus.PARTIAL, None),
    ]
    assert answer_message(last)["content"] == "Yes, three copies."
    assert (first.tokens_in, last.tokens_in) == (None, None), "the usage is the sum of both calls"


def test_version_4_lists_tools_separately() -> None:
    run = fixtures.run("vercel_ui_v4.json")
    assert [step.type.value for step in run.steps[2:]] == ["model", "tool", "model", "tool", "model", "output"]
    assert [step.call_id for step in tools(run)] == ["c1", "c2"]


def test_text_after_result_is_another_call() -> None:
    part = {
        "type": "tool-invocation",
        "toolInvocation": {
            "state": "result",
            "toolCallId": "c1",
            "toolName": "findBook",
            "args": {"title": "Dune"},
            "result": "3",
        },
    }
    usage = {"inputTokens": 5, "outputTokens": 2}
    (run,) = read(
        "vercel-ui",
        {
            "id": "x",
            "messages": [
                {"role": "user", "content": "Is Dune in stock?"},
                {"role": "assistant", "content": "", "parts": [part, {"type": "text", "text": "Yes."}]},
                {
                    "role": "assistant",
                    "parts": [{"type": "text", "text": "Bye."}],
                    "metadata": {"usage": usage, "model": "m"},
                },
            ],
        },
    )
    assert [answer_message(step)["content"] for step in models(run)] == [None, "Yes.", "Bye."]
    assert (models(run)[2].tokens_in, models(run)[2].model) == (5, "m")


def test_stored_rows_are_grouped_by_chat() -> None:
    text_part = {"type": "text", "text": "Hi"}
    rows = [
        {
            "id": f"{chat}{number}",
            "chatId": chat,
            "role": role,
            "parts": [{"type": "step-start"}, text_part],
            "createdAt": "2026-03-01T10:00:00.000Z",
        }
        for chat in ("c1", "c2")
        for number, role in enumerate(("user", "assistant"))
    ]
    assert [run.external_id for run in read("vercel-ui", rows)] == ["c1", "c2"]


# ChatGPT


def test_export_has_run_per_branch() -> None:
    run, branch = fixtures.runs("chatgpt.json")
    assert [answer_message(step)["content"] for step in models(branch)] == ["No idea."]
    assert (branch.external_id, branch.metadata["left_branch_of"], branch.metadata["shared_messages"]) == (
        "cg-1/b1",
        "cg-1",
        3,
    )
    call, answer = models(run)
    assert answer_message(call)["content"] == [{"type": "thinking", "thinking": "Look: The table knows."}]
    assert (call.model, tools(run)[0].tool_name, tools(run)[0].output) == ("gpt-5-thinking", "python", "3")
    assert answer_message(answer)["content"] == "Yes, three copies."
    assert run.metadata["other_branches"] == 1


def test_zipped_export_is_read() -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("export/user.json", "{}")
        archive.writestr("export/conversations-000.json", fixtures.source("chatgpt.json").data)
        archive.writestr("export/conversations-001.json", "[1]")
    source = Source(name="export.zip", data=packed.getvalue())
    assert registry.detect(fixtures.sample(source.name, source.data)).name == "chatgpt"
    assert list(registry.get_importer("chatgpt").runs([source])) == fixtures.runs("chatgpt.json")
    assert [problem.where for problem in source.problems] == ["export/conversations-001.json, /0"]


def test_feedback_in_an_export_is_a_judgement() -> None:
    conversations = fixtures.source("chatgpt.json").data
    plain = list(registry.get_importer("chatgpt").runs([Source(name="c.json", data=conversations)]))
    main = next(run for run in plain if "/" not in run.external_id)
    answer = next(step for step in main.steps if "message_id" in step.attributes)
    feedback: list[dict[str, Any]] = [
        {"message_id": answer.attributes["message_id"], "rating": "thumbsDown", "content": '{"text": "wrong shelf"}'},
        {"id": "unknown", "rating": "thumbs_up", "content": "{}", "create_time": "2026-03-01T10:00:00Z"},
    ]
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("conversations.json", conversations)
        rows = [{**item, "conversation_id": main.external_id} for item in feedback]
        archive.writestr("message_feedback.json", orjson.dumps(rows))
    runs = registry.get_importer("chatgpt").runs([Source(name="export.zip", data=packed.getvalue())])
    (run,) = (run for run in runs if run.external_id == main.external_id)
    judgements = [(item.kind, item.text, item.step) for item in run.judgements if item.name == "feedback"]
    assert judgements == [(JudgementKind.FAIL, "wrong shelf", answer.key), (JudgementKind.PASS, "thumbs_up", None)]


def test_damaged_conversation_leaves_others_intact() -> None:
    value: Any = fixtures.source("chatgpt.json").value
    damaged = {
        **value[0],
        "mapping": {
            "a": {
                "parent": "b",
                "children": ["b"],
                "message": {"author": {"role": "user"}, "create_time": "soon", "content": {"parts": ["x"]}},
            }
        },
    }
    source = Source(name="x", data=orjson.dumps([damaged, value[0]]))
    assert len(list(registry.get_importer("chatgpt").runs([source]))) == 2
    assert [problem.where for problem in source.problems] == ["/0/mapping/a/message"]


def test_deep_conversation_is_read_in_linear_time() -> None:
    count = 8_000
    mapping = {
        str(number): {
            "parent": str(number - 1) if number else None,
            "children": [str(number + 1)],
            "message": {"author": {"role": "assistant" if number % 2 else "user"}, "content": {"parts": [f"{number}"]}},
        }
        for number in range(count)
    }
    (run,) = read("chatgpt", {"id": "deep", "mapping": mapping, "current_node": str(count - 1)})
    assert len(models(run)) == count // 2


def test_answers_keep_their_citations() -> None:
    citations = [{"metadata": {"title": "Dune", "url": "https://shop.example/dune"}}]
    user = {"id": "m1", "author": {"role": "user"}, "content": {"content_type": "text", "parts": ["Is it there?"]}}
    answer = {"id": "m2", "author": {"role": "assistant"}, "content": {"content_type": "text", "parts": ["Yes."]}}
    mapping = {
        "a": {"id": "a", "parent": None, "children": ["b"], "message": {**user, "metadata": {}}},
        "b": {"id": "b", "parent": "a", "children": [], "message": {**answer, "metadata": {"citations": citations}}},
    }
    (run,) = read("chatgpt", {"id": "cited", "mapping": mapping, "current_node": "b"})
    assert models(run)[0].attributes["citations"] == citations


def test_chatgpt_without_parents_is_ordered_by_its_children() -> None:
    def node(role: str, text: str, *children: str) -> dict[str, Any]:
        return {"message": {"author": {"role": role}, "content": {"parts": [text]}}, "children": [*children]}

    mapping = {"b": node("assistant", "Yes."), "a": node("user", "Is Dune in stock?", "b")}
    ((run,), problems) = fixtures.detect_and_read("chatgpt", orjson.dumps([{"title": "Dune", "mapping": mapping}]))
    (model,) = fixtures.steps(run, StepType.MODEL)
    assert (fixtures.request_contents(model), fixtures.answer_contents(run)) == (["Is Dune in stock?"], ["Yes."])
    assert problems == []


def test_chatgpt_empty_and_failed_results_answer_their_calls() -> None:
    def node(id: str, parent: str, role: str, text: str, **message: Any) -> dict[str, Any]:
        content = {"content_type": "text", "parts": [text]}
        return {"id": id, "parent": parent, "message": {"author": {"role": role}, "content": content, **message}}

    found = [{"domain": "books.example", "entries": [{"title": "Dune"}]}]
    failure = {"status": "failed_with_in_kernel_exception"}
    nodes = [
        node("a", "", "user", "Is Dune in?"),
        node("b", "a", "assistant", '{"q": "Dune"}', recipient="web.run"),
        node("c", "b", "tool", "", metadata={"search_result_groups": found}),
        node("d", "c", "assistant", "1 / 0", recipient="python"),
        node("e", "d", "tool", "ZeroDivisionError", metadata={"aggregate_result": failure}),
        node("f", "e", "assistant", "Yes."),
    ]
    mapping = {item["id"]: {**item, "parent": item["parent"] or None, "children": []} for item in nodes}
    (run,) = read("chatgpt", {"id": "web", "mapping": mapping, "current_node": "f", "is_starred": True})
    search, code = tools(run)
    assert (search.output, search.attributes["search_result_groups"], search.status) == ("", found, StepStatus.OK)
    assert (code.input, code.output, code.status) == ({"input": "1 / 0"}, "ZeroDivisionError", StepStatus.ERROR)
    assert run.metadata == {"is_starred": True}
