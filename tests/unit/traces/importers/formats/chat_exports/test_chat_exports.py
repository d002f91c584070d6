"""Exports and files of chat clients."""

from typing import Any

import orjson

from tests.support import importing_fixtures as fixtures
from traces.core.recorded_run import RecordedRun
from traces.core.vocabulary import StepStatus, StepType

FORMAT = "chat-export"
THOUGHT = {"type": "thinking", "thinking": "I look."}


def read(*values: Any) -> list[RecordedRun]:
    data = fixtures.json_lines(values) if len(values) > 1 else orjson.dumps(values[0])
    runs, problems = fixtures.detect_and_read(FORMAT, data)
    assert problems == []
    return runs


def calls(run: RecordedRun) -> list[Any]:
    return [(step.name, step.input, step.output, step.status) for step in fixtures.steps(run, StepType.TOOL)]


def text(words: str) -> dict[str, str]:
    return {"type": "text", "text": words}


def test_lobe_chat_topics_are_runs() -> None:
    def message(id: int, role: str, content: str, **members: Any) -> dict[str, Any]:
        time = 1_700_000_000_000 + id
        return {"id": f"m{id}", "sessionId": "s1", "createdAt": time, "role": role, "content": content, **members}

    call = {"id": "c1", "identifier": "web", "apiName": "search", "arguments": '{"q": "Dune"}', "type": "default"}
    counts = {"totalInputTokens": 9, "totalOutputTokens": 4}
    messages = [
        message(4, "tool", "no access", topicId="t1", tool_call_id="c1", pluginError={"message": "x"}),
        message(1, "user", "Good morning."),
        message(2, "user", "How many copies?", topicId="t1"),
        message(3, "assistant", "...", topicId="t1", tools=[call], reasoning={"content": "I look."}, metadata=counts),
        message(5, "assistant", "Unknown.", topicId="t1", fromModel="gpt-5-mini"),
    ]
    session = {"id": "s1", "meta": {"title": "Shop"}, "config": {"model": "gpt-5", "systemRole": "You keep a shop."}}
    state = {"sessions": [session], "messages": messages, "topics": [{"id": "t1", "title": "Dune"}]}
    default, topic = read({"exportType": "all", "state": state, "version": 7})
    first, last = fixtures.steps(topic, StepType.MODEL)
    assert [(run.external_id, run.name) for run in (default, topic)] == [("s1", "Shop"), ("s1/t1", "Dune")]
    assert fixtures.request_contents(first) == ["You keep a shop.", "How many copies?"]
    assert fixtures.answer_contents(topic) == [[THOUGHT], "Unknown."]
    assert (first.model, first.tokens_in, first.tokens_out, last.model) == ("gpt-5", 9, 4, "gpt-5-mini")
    assert calls(topic) == [("web.search", {"q": "Dune"}, "no access", StepStatus.ERROR)]


def test_chatbox_message_has_several_answers() -> None:
    parts: list[Any] = [
        {"type": "reasoning", "text": "I look."},
        {"type": "tool-call", "state": "result", "toolCallId": "c1", "toolName": "find", "args": {}, "result": "3"},
        text("Three."),
    ]
    messages = [
        {"role": "system", "contentParts": [text("You keep a shop.")]},
        {"role": "user", "contentParts": [text("How many copies?")], "timestamp": 1_700_000_000_000},
        {"role": "assistant", "contentParts": parts, "model": "gpt-5", "usage": {"inputTokens": 9}},
    ]
    thread = {"id": "t1", "name": "Before", "messages": [{"role": "user", "content": "Good morning."}]}
    session = {"id": "s1", "name": "Shop", "messages": messages, "threads": [thread]}
    run, earlier = read({"session:s1": session, "chat-sessions-list": []})
    assert [(item.external_id, item.name) for item in (run, earlier)] == [("s1", "Shop"), ("s1/t1", "Before")]
    assert fixtures.answer_contents(run) == [[THOUGHT], "Three."]
    assert calls(run) == [("find", {}, "3", StepStatus.OK)]
    assert fixtures.steps(run, StepType.MODEL)[1].attributes["usage_of_all_calls"] == {"inputTokens": 9}


def test_lm_studio_selected_versions_have_facts_of_generations() -> None:
    def generation(tokens: int, *content: dict[str, Any], **members: Any) -> dict[str, Any]:
        stats = {"promptTokensCount": tokens, "predictedTokensCount": 5}
        return {
            "type": "contentBlock",
            "content": [*content],
            "genInfo": {"identifier": "qwen", "stats": stats},
            **members,
        }

    request = {"type": "toolCallRequest", "toolCallRequestId": "7", "name": "find", "parameters": {"title": "Dune"}}
    result = {"type": "toolCallResult", "toolCallRequestId": "7", "content": '[{"type": "text", "text": "3"}]'}
    steps = [
        {"type": "contentBlock", "content": [text("I look.")], "style": {"type": "thinking"}},
        generation(50, request),
        {"type": "contentBlock", "content": [result], "roleOverride": "tool"},
        generation(60, text("Three.")),
    ]
    user = {"versions": [{"role": "user", "content": [text("How many copies?")]}], "currentlySelected": 0}
    old_version = {"role": "assistant", "steps": [generation(1, text("Two."))]}
    answer = {"versions": [old_version, {"role": "assistant", "steps": steps}], "currentlySelected": 1}
    body = {"name": "Shop", "createdAt": 1_700_000_000_000, "systemPrompt": "You keep a shop."}
    (run,) = read({**body, "messages": [user, answer]})
    models = fixtures.steps(run, StepType.MODEL)
    assert (run.name, run.metadata["other_versions"]) == ("Shop", [old_version])
    assert fixtures.answer_contents(run) == [[THOUGHT], "Three."]
    assert [(step.model, step.tokens_in, step.tokens_out) for step in models] == [("qwen", 50, 5), ("qwen", 60, 5)]
    assert calls(run) == [("find", {"title": "Dune"}, "3", StepStatus.OK)]


def test_big_agi_fragments_are_texts_calls_and_results() -> None:
    def fragment(kind: str, **members: Any) -> dict[str, Any]:
        return {"ft": "content", "part": {"pt": kind, **members}}

    invocation = {"type": "function_call", "name": "find", "args": '{"title": "Dune"}'}
    fragments = [
        fragment("ma", aType="reasoning", aText="I look."),
        fragment("tool_invocation", id="c1", invocation=invocation),
        fragment("tool_response", id="c1", error=False, response={"type": "function_call", "result": "3"}),
        fragment("text", text="Three."),
    ]
    generator = {"mgt": "aix", "name": "openai-gpt-5", "aix": {"mId": "gpt-5"}, "metrics": {"TIn": 10, "TOut": 2}}
    messages = [
        {"role": "user", "fragments": [fragment("text", text="How many copies?")], "created": 1_700_000_000_000},
        {"role": "assistant", "fragments": fragments, "generator": generator, "created": 1_700_000_001_000},
    ]
    (run,) = read({"conversations": [{"id": "b1", "userTitle": "Shop", "messages": messages}]})
    assert (run.external_id, run.name) == ("b1", "Shop")
    assert fixtures.answer_contents(run) == [[THOUGHT], "Three."]
    assert calls(run) == [("find", {"title": "Dune"}, "3", StepStatus.OK)]
    assert fixtures.steps(run, StepType.MODEL)[1].tokens_in == 10


def test_typing_mind_and_silly_tavern() -> None:
    answer = {"role": "assistant", "content": "Three.", "model": "gpt-5", "usage": {"prompt_tokens": 9}}
    chat = {"chatID": "c1", "chatTitle": "Shop", "model": "gpt-5", "chatParams": {"temperature": 0.5}}
    (run,) = read({"data": {"chats": [{**chat, "messages": [{"role": "user", "content": "How many?"}, answer]}]}})
    (model,) = fixtures.steps(run, StepType.MODEL)
    assert (run.external_id, run.name, model.tokens_in) == ("c1", "Shop", 9)
    assert isinstance(model.input, dict)
    assert model.input["parameters"] == {"temperature": 0.5}
    (tavern,) = read(
        {"user_name": "Ann", "character_name": "Shopkeeper", "create_date": "2024-1-1", "chat_metadata": {}},
        {"name": "Shopkeeper", "is_user": False, "mes": "Welcome!"},
        {"name": "Ann", "is_user": True, "mes": "How many copies?"},
        {
            "name": "Shopkeeper",
            "is_user": False,
            "mes": "Three.",
            "swipes": ["Two.", "Three."],
            "gen_started": "2026-03-01T10:00:00Z",
            "gen_finished": "2026-03-01T10:00:02Z",
            "extra": {"model": "gpt-5", "token_count": 3, "reasoning": "I look."},
        },
    )
    (model,) = fixtures.steps(tavern, StepType.MODEL)
    assert (tavern.name, model.model, model.tokens_out) == ("Shopkeeper", "gpt-5", 3)
    assert fixtures.request_contents(model) == ["Welcome!", "How many copies?"]
    assert fixtures.answer_contents(tavern) == [[THOUGHT, text("Three.")]]
    assert model.attributes["swipes"] == ["Two.", "Three."]
