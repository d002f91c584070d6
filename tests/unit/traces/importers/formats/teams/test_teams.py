"""Conversations among several agents: Who&When, AG2 and AutoGen, MetaGPT."""

from decimal import Decimal
from typing import Any

import orjson
import pytest

from tests.support import importing_fixtures as fixtures
from traces.core.recorded_run import RecordedRun, RecordedStep
from traces.core.vocabulary import JudgementKind, StepStatus, StepType
from traces.importers import registry
from traces.importers.files.source import Source
from traces.importers.formats.teams.speakers import Team, Utterance, Voice, build_steps, classify_speaker
from traces.payloads.conversation import Messages
from traces.payloads.messages import ModelRequest


def read(format: str, content: Any) -> list[RecordedRun]:
    source = Source(name="renamed", data=content if isinstance(content, bytes) else orjson.dumps(content))
    assert registry.detect(fixtures.sample(source.name, source.data)).name == format
    return list(registry.get_importer(format).runs([source]))


def request_messages(step: RecordedStep) -> list[Any]:
    return list(ModelRequest(step.input).messages)


def speakers(run: RecordedRun) -> list[str]:
    return [step.name for step in fixtures.steps(run, StepType.AGENT)[1:]]


def test_other_members_are_kept() -> None:
    message = {"role": "A", "content": "x", "rating": 4}
    prompts = {"A": "You are A.", "B": "You are B."}
    (run,) = read("who-and-when", {"history": [message], "mistake_agent": "A", "system_prompt": prompts})
    assert run.metadata["other_prompts"] == {"B": "You are B."}
    assert fixtures.steps(run, StepType.MODEL)[0].attributes["rating"] == 4
    role = {"name": "Alice", "goal": "g", "rc": {"memory": {"storage": []}, "watch": ["x"]}}
    history = {"storage": [{"id": "1", "content": "Hi", "role": "user", "cause_by": "UserRequirement"}]}
    (team,) = read("metagpt", {"env": {"roles": {"PM": role}, "history": history, "desc": "office"}, "idea": "shop"})
    assert team.metadata == {
        "idea": "shop",
        "environment": {"desc": "office"},
        "roles": {"PM": {"name": "Alice", "goal": "g", "rc": {"watch": ["x"]}}},
    }


@pytest.mark.parametrize(
    ("speaker", "content", "voice"),
    [
        ("human", "Hi", Voice.USER),
        ("user_proxy", "Hi", Voice.USER),
        ("UserProxyAgent", "Hi", Voice.USER),
        ("mathproxyagent", "Continue.", Voice.USER),
        ("User Researcher", "Hi", Voice.AGENT),
        ("assistant", "Hi", Voice.AGENT),
        ("user_proxy", "exitcode: 0 (execution succeeded)\nCode output: 3", Voice.MACHINE),
        ("Computer_terminal", "There is no code to execute.", Voice.MACHINE),
        ("ComputerTerminal", "", Voice.MACHINE),
    ],
)
def test_speaker_name_decides_voice(speaker: str, content: str, voice: Voice) -> None:
    assert classify_speaker(speaker, content) is voice


# Who&When


def test_mistake_is_judgement_of_its_step() -> None:
    run = fixtures.run("who_and_when.json")
    verdict, mistake = run.judgements
    assert (verdict.name, verdict.kind) == ("is_correct", JudgementKind.FAIL)
    assert (mistake.step, mistake.text) == ("msg-4", "Python_Expert: It made the number up.")
    (mistake_step,) = [step for step in run.steps if step.key == mistake.step]
    assert mistake_step.attributes["agent"] == "Python_Expert"
    assert run.external_id.startswith("q-7-")


def test_agents_see_each_other_as_users() -> None:
    run = fixtures.run("who_and_when.json")
    assert speakers(run) == ["Inventory_Expert", "Python_Expert", "Python_Expert", "Inventory_Expert"]
    coder = fixtures.steps(run, StepType.MODEL)[2]
    assert [(message["role"], message.get("name")) for message in request_messages(coder)] == [
        ("system", None),
        ("user", None),
        ("user", "Inventory_Expert"),
        ("assistant", None),
        ("user", "Computer_terminal"),
    ]
    (terminal,) = fixtures.steps(run, StepType.TOOL)
    assert (terminal.input, terminal.status, terminal.links) == (
        {"code": ["print(len(shelf))\n"]},
        StepStatus.ERROR,
        ("msg-2",),
    )


def test_roles_with_remarks_are_one_speaker() -> None:
    run = fixtures.run("who_and_when_roles.json")
    assert speakers(run) == ["Orchestrator", "WebSurfer", "Orchestrator"]
    assert [step.attributes.get("remark") for step in fixtures.steps(run, StepType.MODEL)] == [
        "thought",
        "-> WebSurfer",
        None,
        "termination condition",
    ]
    assert fixtures.steps(run, StepType.TURN)[0].name == "How many copies of Dune are there?"
    assert run.judgements[1].step == "msg-4"


def test_mistake_outside_history_is_note() -> None:
    (run,) = read(
        "who-and-when", {"history": [{"role": "A", "content": "x"}], "mistake_agent": "A", "mistake_step": "9"}
    )
    assert [(judgement.kind, judgement.step) for judgement in run.judgements] == [(JudgementKind.NOTE, None)]


# AG2 and AutoGen


def test_dump_roles_name_no_speaker() -> None:
    run = fixtures.run("autogen_chat.json")
    assert [step.type.value for step in run.steps] == [
        "agent",
        "turn",
        "agent",
        "model",
        "tool",
        "model",
        "agent",
        "model",
        "output",
    ]
    (tool,) = fixtures.steps(run, StepType.TOOL)
    assert (tool.input, tool.output, tool.call_id) == ({"title": "Dune"}, "3 copies", "call_1")
    shopkeeper, critic = fixtures.steps(run, StepType.MODEL)[1:]
    assert [message["role"] for message in request_messages(shopkeeper)] == ["user", "assistant", "tool"]
    assert [message["role"] for message in request_messages(critic)] == ["user", "user", "user"], (
        "the call was the shopkeeper's"
    )
    assert (critic.model, run.steps[0].cost_usd, run.steps[0].tokens_in) == ("gpt-4o", Decimal("0.01"), 100)


def test_peers_of_one_dump_are_runs() -> None:
    message = {"role": "user", "content": "Hi", "name": "critic"}
    runs = read("autogen", {"critic": [message, {**message, "name": "coder"}], "coder": [message]})
    assert [run.steps[0].name for run in runs] == ["critic", "coder"]
    assert len({run.external_id for run in runs}) == 2


def test_trajectory_of_lines_has_a_task() -> None:
    trace = {
        "problem_statement": ["Count the books."],
        "other_data": {"correct": False},
        "reward": 0.5,
        "instance_id": 5,
        "trajectory": [
            {"content": ["Two lines", "of text"], "role": "user", "name": "solver"},
            {"content": ["exitcode: 0", "3"], "role": "assistant", "name": "executor"},
        ],
    }
    (run,) = read("autogen", trace)
    assert run.name == "Count the books."
    assert [(verdict.name, verdict.kind) for verdict in run.judgements] == [("reward", "score"), ("correct", "fail")]
    assert fixtures.steps(run, StepType.TOOL)[0].output == "exitcode: 0\n3"


def test_agents_have_separate_models() -> None:
    agents = [
        {"name": "coder", "llm_config": {"config_list": [{"model": "gpt-4o"}]}, "system_message": "You code."},
        {"name": "critic", "llm_config": {"model": "claude-sonnet-4"}},
    ]
    messages = [{"role": "user", "content": "x", "name": name} for name in ("coder", "critic")]
    (run,) = read("autogen", {"agents": agents, "messages": messages})
    coder, critic = fixtures.steps(run, StepType.MODEL)
    assert (coder.model, critic.model, critic.provider) == ("gpt-4o", "claude-sonnet-4", "anthropic")
    assert request_messages(coder) == [{"role": "system", "content": "You code."}]


def test_team_events_have_times_and_usage() -> None:
    run = fixtures.run("autogen_team.json")
    call, critic = fixtures.steps(run, StepType.MODEL)
    (tool,) = fixtures.steps(run, StepType.TOOL)
    assert (call.tokens_in, tool.status, tool.error) == (50, StepStatus.ERROR, "the shelf is locked")
    assert critic.ended_at is not None
    assert run.metadata["stop_reason"] == "Text 'TERMINATE' mentioned"


def test_saved_team_has_its_thread() -> None:
    thread = [
        {"source": "user", "content": "Hi", "type": "TextMessage"},
        {"source": "coder", "content": "Hello", "type": "TextMessage"},
    ]
    manager = {"type": "RoundRobinManagerState", "message_thread": thread}
    context = [
        {"type": "UserMessage", "source": "user", "content": "Hi"},
        {"type": "AssistantMessage", "source": "coder", "content": "Hello", "thought": "A greeting."},
    ]
    coder = {"agent_state": {"type": "AssistantAgentState", "llm_context": {"messages": context}}}
    (team_run,) = read("autogen", {"type": "TeamState", "agent_states": {"manager": manager, "coder": coder}})
    (agent_run,) = read("autogen", {"type": "TeamState", "agent_states": {"coder": coder}})
    assert len(fixtures.steps(team_run, StepType.MODEL)) == len(fixtures.steps(agent_run, StepType.MODEL)) == 1
    assert "A greeting." in str(fixtures.steps(agent_run, StepType.MODEL)[0].output)


def test_one_named_speaker_is_chat() -> None:
    messages = [{"role": "user", "content": "Hi", "name": "ann"}, {"role": "assistant", "content": "Hello"}]
    assert read("chat", {"messages": messages})


# MetaGPT


def test_memories_of_roles_are_one_conversation() -> None:
    run = fixtures.run("metagpt_team.json")
    assert speakers(run) == ["Product Manager", "Engineer"]
    manager, engineer = fixtures.steps(run, StepType.MODEL)
    assert (manager.attributes["action"], engineer.attributes["action"]) == ("WritePRD", "WriteCode")
    assert len(request_messages(engineer)) == 2
    assert (run.steps[0].tokens_in, run.steps[0].cost_usd) == (400, Decimal("0.02"))


def test_messages_reach_only_their_audience() -> None:
    storage = [
        {
            "id": "1",
            "content": "Plan",
            "role": "Planner",
            "cause_by": "a.Plan",
            "sent_from": "r.Planner",
            "send_to": ["Coder"],
        },
        {
            "id": "2",
            "content": "Test",
            "role": "Tester",
            "cause_by": "a.Test",
            "sent_from": "r.Tester",
            "send_to": ["<all>"],
        },
        {
            "id": "3",
            "content": "Code",
            "role": "Coder",
            "cause_by": "a.Code",
            "sent_from": "r.Coder",
            "send_to": ["<all>"],
        },
    ]
    (run,) = read("metagpt", {"storage": storage, "index": {}})
    _, tester, coder = fixtures.steps(run, StepType.MODEL)
    assert (len(request_messages(tester)), len(request_messages(coder))) == (0, 2)


def test_requests_share_their_history() -> None:
    utterances = [Utterance(speaker="Ann", content=str(number), location=f"/{number}") for number in range(3)]
    steps = build_steps(utterances, Team(name="team"))
    requests = [ModelRequest(step.input).messages for step in steps if step.type is StepType.MODEL]
    assert len({id(messages.conversation) for messages in requests if isinstance(messages, Messages)}) == 1
    assert [len(messages) for messages in requests] == [0, 1, 2]


def test_structured_content_is_the_message_of_an_action_without_a_text() -> None:
    facts: Any = {"instruct_content": None, "send_to": ["<all>"]}
    document = {"class": "PRD", "mapping": {"Goals": "(list, ...)"}, "value": {"Goals": ["sell books"]}}
    storage = [
        {**facts, "id": "m1", "role": "Human", "content": "Plan a bookshop", "cause_by": "a.UserRequirement"},
        {
            **facts,
            "id": "m2",
            "role": "Product Manager",
            "content": "",
            "instruct_content": document,
            "cause_by": "a.WritePRD",
        },
        {**facts, "id": "m3", "role": "Architect", "content": "One shelf.", "cause_by": "a.WriteDesign"},
        {**facts, "id": "m4", "role": "Engineer", "content": "", "cause_by": "a.WriteCode"},
    ]
    (run,) = read("metagpt", {"storage": storage, "index": {}})
    plan, design = fixtures.steps(run, StepType.MODEL)
    assert plan.output == {"message": {"role": "assistant", "content": '{"Goals":["sell books"]}'}}
    assert request_messages(design)[1] == {
        "role": "user",
        "content": '{"Goals":["sell books"]}',
        "name": "Product Manager",
    }
    # A message without any content is still listed.
    notes: Any = run.steps[0].attributes
    assert [(message["name"], message["action"]) for message in notes["empty_messages"]] == [("Engineer", "WriteCode")]


def test_messages_that_no_agent_read_are_listed() -> None:
    utterances = [
        Utterance(speaker="Ann", content="One.", location=""),
        Utterance(speaker="host", content="Be brief.", location="", voice=Voice.CONTEXT),
        Utterance(speaker="Bob", content="Two.", location=""),
        Utterance(speaker="host", content="We close.", location="", voice=Voice.CONTEXT),
    ]
    root = build_steps(utterances, Team(name="team"))[0]
    assert root.attributes == {"unread_messages": [{"name": "host", "content": "We close."}]}


@pytest.mark.parametrize("has_events", [False, True])
def test_saved_team_has_calls_of_its_agents(has_events: bool) -> None:
    call = {"id": "c1", "name": "find_book", "arguments": '{"title": "Dune"}'}
    result = {"call_id": "c1", "name": "find_book", "content": "3 copies", "is_error": False}
    events: list[Any] = [
        {"type": "ToolCallRequestEvent", "source": "clerk", "content": [call]},
        {"type": "ToolCallExecutionEvent", "source": "clerk", "content": [result]},
    ]
    thread = [
        {"type": "TextMessage", "source": "user", "content": "Is Dune in stock?"},
        *(events if has_events else []),
        {"type": "TextMessage", "source": "clerk", "content": "Yes."},
    ]
    context = [
        {"type": "UserMessage", "source": "user", "content": "Is Dune in stock?"},
        {"type": "AssistantMessage", "source": "clerk", "content": [call]},
        {"type": "FunctionExecutionResultMessage", "content": [result]},
        {"type": "AssistantMessage", "source": "clerk", "content": "Yes.", "thought": "three are left"},
    ]
    states = {
        "clerk/1": {"agent_state": {"llm_context": {"messages": context}}},
        "Manager/1": {"message_thread": thread},
    }
    (run,) = read("autogen", {"type": "TeamState", "agent_states": states})
    (tool,) = fixtures.steps(run, StepType.TOOL)
    ask, answer = fixtures.steps(run, StepType.MODEL)
    assert (tool.call_id, tool.input, tool.output) == ("c1", {"title": "Dune"}, "3 copies")
    assert "three are left" in str(answer.output)
    assert "three are left" not in str(ask.output)


def test_event_log_has_calls_of_agents() -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "find_book", "arguments": '{"title": "Dune"}'}}
    choice = {"finish_reason": "tool_calls", "message": {"role": "assistant", "content": None, "tool_calls": [call]}}
    response = {"model": "gpt-4o", "choices": [choice], "usage": {"prompt_tokens": 20, "completion_tokens": 5}}
    messages = [{"role": "user", "content": "Is Dune in stock?"}]
    agent = {"agent_id": "clerk/1"}
    events = [
        {"type": "Message", "payload": "{}", "sender": "a", "receiver": "b", "delivery_stage": "DeliveryStage.SEND"},
        {"type": "LLMCall", "messages": messages, "response": response, **agent},
        {"type": "ToolCall", "tool_name": "find_book", "arguments": {"title": "Dune"}, "result": "3 copies", **agent},
        {"type": "LLMStreamStart", "messages": messages, **agent},
        {"type": "LLMStreamEnd", "response": {"content": "Yes."}, "prompt_tokens": 9, "completion_tokens": 2, **agent},
        {"type": "MessageHandlerException", "payload": "{}", "handling_agent": "clerk/1", "exception": "no shop"},
    ]
    (run,) = read("autogen-events", b"\n".join(map(orjson.dumps, events)))
    speaker, first, tool, last, failure = run.steps
    assert (first.model, first.tokens_in, last.tokens_in, run.status) == ("gpt-4o", 20, 9, "failed")
    assert (tool.call_id, tool.output, tool.parent, failure.error) == ("c1", "3 copies", speaker.key, "no shop")
    assert request_messages(last) == messages


def test_streams_of_events_have_code_answers_and_an_end() -> None:
    code = {"code_blocks": [{"code": "print(1)", "language": "python"}], "retry_attempt": 0}
    lines = [
        {"source": "user", "type": "TextMessage", "content": "Print 1."},
        {"source": "coder", "type": "CodeGenerationEvent", "content": "```python\nprint(1)\n```", **code},
        {"source": "coder", "type": "CodeExecutionEvent", "result": {"exit_code": 1, "output": "no print"}},
        {"source": "coder", "type": "ThoughtEvent", "content": "It failed."},
        {"source": "coder", "type": "StructuredMessage", "content": {"answer": 3}},
        {"messages": [], "stop_reason": "Maximum number of messages 4 reached"},
    ]
    ((run,), problems) = fixtures.detect_and_read("autogen", fixtures.json_lines(lines))
    (tool,) = fixtures.steps(run, StepType.TOOL)
    assert (tool.input, tool.error) == ({"code": ["print(1)\n"]}, "exit code 1")
    assert fixtures.answer_contents(run)[1] == [
        {"type": "thinking", "thinking": "It failed."},
        {"type": "json", "json": {"answer": 3}},
    ]
    assert [(item.name, item.text) for item in run.judgements] == [
        ("termination_reason", "Maximum number of messages 4 reached")
    ]
    assert (run.steps[0].attributes, problems) == ({}, [])


def test_state_of_one_agent_is_its_conversation() -> None:
    call = {"id": "c1", "name": "find", "arguments": '{"title": "Dune"}'}
    result = {"call_id": "c1", "name": "find", "content": "3", "is_error": False}
    messages = [
        {"type": "UserMessage", "source": "user", "content": "Is Dune in stock?"},
        {"type": "AssistantMessage", "source": "shopkeeper", "content": [call], "thought": "I look."},
        {"type": "FunctionExecutionResultMessage", "content": [result]},
        {"type": "AssistantMessage", "source": "shopkeeper", "content": "Yes."},
    ]
    state = {"type": "AssistantAgentState", "version": "1.0.0", "llm_context": {"messages": messages}}
    (run,) = read("autogen", state)
    (tool,) = fixtures.steps(run, StepType.TOOL)
    assert (tool.input, tool.output, run.steps[-1].output) == ({"title": "Dune"}, "3", {"text": "Yes."})
