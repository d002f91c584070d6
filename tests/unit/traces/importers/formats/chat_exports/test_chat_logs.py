"""Logs of chats: Gemini in Google's Takeout, AnythingLLM, Rasa."""

import orjson

from tests.support import importing_fixtures as fixtures
from traces.core.vocabulary import RunStatus, StepType
from traces.payloads.messages import ModelRequest


def test_prompts_of_a_gemini_chat_are_one_run() -> None:
    chats = {run.external_id: run for run in fixtures.runs("gemini_takeout.json")}
    chat = chats.pop("a1b2c3")
    (single,) = chats.values()
    assert fixtures.answer_contents(chat) == ["<p>Three <b>copies</b>.</p>", "<p>Two copies.</p>"]
    first, second = fixtures.steps(chat, StepType.TURN)
    assert (first.name, first.attributes["attachedFiles"], second.name) == (
        "Is Dune in stock?",
        ["shelf.png"],
        "And Emma?",
    )
    assert (single.name, single.status) == ("Hello", RunStatus.PARTIAL)


def test_actions_of_rasa_are_tools_with_their_slots() -> None:
    run = fixtures.run("rasa_tracker.json")
    count, reserve = fixtures.steps(run, StepType.TOOL)
    assert (run.external_id, run.app, run.metadata["slots"]) == ("u-7", "rasa", {"title": "Dune", "copies": 3})
    assert (count.name, count.input, count.output) == (
        "action_count_copies",
        {"policy": "RulePolicy", "confidence": 1.0},
        '{"copies":3}',
    )
    # A reply may come before a slot of the same action.
    assert (reserve.name, reserve.output) == ("action_reserve", '{"copies":2}')
    turn = fixtures.steps(run, StepType.TURN)[0]
    reply = fixtures.steps(run, StepType.MODEL)[1]
    assert "ask_stock" in str(turn.attributes["parse_data"])
    assert (reply.attributes["action"], "Reserve" in str(reply.output)) == ("utter_copies", True)
    assert "Three copies." in str(reply.output)
    assert run.steps[-1].output == {"text": "Reserved."}


def test_chats_of_anything_llm_are_runs_with_ratings() -> None:
    row = {
        "id": 3,
        "workspace": "shop",
        "prompt": "In stock?",
        "response": "Yes.",
        "sent_at": "2026-05-01T10:00:00.000Z",
    }
    rows = [{**row, "username": "ann", "rating": "BAD"}, {**row, "id": 4, "username": "ann", "rating": "--"}]
    (rated, plain), problems = fixtures.detect_and_read("chat-export", orjson.dumps(rows), "chats.json")
    (model,) = fixtures.steps(rated, StepType.MODEL)
    assert (rated.external_id, rated.metadata["username"], problems) == ("anything-llm/shop/3", "ann", [])
    assert [(item.name, item.value, item.text) for item in rated.judgements] == [("rating", 0.0, "bad")]
    assert len([*ModelRequest(model.input).messages]) == 1
    assert not plain.judgements


def test_table_of_anything_llm_is_read() -> None:
    rows = [
        "id,workspace,prompt,response,sent_at,username,rating",
        '"3","shop","In stock?","Yes.","2026-05-01","ann","GOOD"',
    ]
    table = "\n".join(rows).encode()
    (run,), problems = fixtures.detect_and_read("chat-export", table, "chats.csv")
    assert (run.name, [item.value for item in run.judgements], problems) == ("In stock?", [1.0], [])
