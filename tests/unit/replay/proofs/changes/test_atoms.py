"""Which changes between two recordings can be tried: tools, parameters, messages, arguments, steps of one run alone."""

from typing import Any

from replay.proofs.changes.atoms import Changes
from replay.proofs.changes.overrides import RunPair
from replay.proofs.changes.roots import roots
from tests.support.comparing import PROMPT, Given, agent, answered, asked, model, output, said, system, tool, user
from tests.unit.replay.proofs.changes.test_roots import changes_of, dumped, examined, profile
from traces.core.json_types import JSONObject
from traces.core.vocabulary import StepType

SCHEMA: JSONObject = {"name": "get_order", "description": "Looks up an order."}
PAY: JSONObject = {"name": "issue_refund", "description": "Pays money back."}
MODELS = {"match": {"type": "model"}}


def separate(base: list[Given], candidate: list[Given]) -> Changes:
    seen = examined(base, candidate)
    found = {one.atom.id: one for one in roots(seen)}
    return Changes(
        changes=found, lattice=False, previous_steps=RunPair(examination=seen, load=lambda refs: {}).previous_steps
    )


def run(answer: str, *, prompt: str | None = PROMPT, **request: Any) -> list[Given]:
    """One answer of a model that was asked with this."""
    given: JSONObject = {"messages": [*([system(prompt)] if prompt else []), user("Hello?")], **request}
    call = Given(type=StepType.MODEL, name="chat", parent=1, model="m1", input=given, output={"message": said(answer)})
    return [agent(), call, output(answer)]


def ways(changes: Changes) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """What makes all changes on the base, and what takes all back from the candidate."""
    names = [name for name, change in changes.changes.items() if change.atom.testable]
    assert dumped(changes) == dumped(changes, *names, side="candidate") == []
    return dumped(changes, *names), dumped(changes, side="candidate")


def test_tool_schemas_are_a_change_down_to_the_sentence_of_one() -> None:
    told: JSONObject = {**SCHEMA, "description": "Looks up an order. Never call it twice."}
    changes = separate(run("No.", tools=[SCHEMA, PAY]), run("Yes.", tools=[told]))
    made, back = ways(changes)
    assert made == [{**MODELS, "model": {"tools": [told]}}]
    assert back == [{**MODELS, "model": {"tools": [SCHEMA, PAY]}}]
    [change] = changes.changes.values()
    parts = changes.parts(change.atom)
    assert [part.title.split(" ")[0] for part in parts] == ["“get_order”", "Leaving"]
    assert dumped(changes, parts[1].id) == [{**MODELS, "model": {"tools": [SCHEMA]}}]
    assert len(changes.parts(parts[0])) == 0  # one sentence is one thing


def test_tools_that_only_one_run_offers_are_left_out_in_the_other() -> None:
    made, back = ways(separate(run("No."), run("Yes.", tools=[PAY])))
    assert made == [{**MODELS, "model": {"tools": [PAY]}}]
    assert back == [{**MODELS, "model": {"unset": ["tools"]}}]


def test_every_parameter_of_a_request_is_a_change_of_its_own_also_where_one_run_does_not_say_it() -> None:
    base = run("No.", parameters={"temperature": 0.0, "tool_choice": "auto", "n": 1})
    candidate = run("Yes.", parameters={"tool_choice": "none", "seed": 7}, response_format={"type": "json_object"})
    changes = separate(base, candidate)
    assert len(changes.changes) == 5
    [made], [back] = ways(changes)
    assert made["model"].pop("unset") == ["n", "temperature"]
    assert made["model"] == {
        "parameters": {"tool_choice": "none"},
        "response_format": {"type": "json_object"},
        "seed": 7,
    }
    assert sorted(back["model"].pop("unset")) == ["response_format", "seed"]
    assert back["model"] == {"parameters": {"tool_choice": "auto", "n": 1}, "temperature": 0.0}


def test_what_is_recorded_beside_a_request_and_is_no_part_of_it_is_listed_where_it_differs() -> None:
    changes = separate(run("No.", tier="a", place="x"), run("Yes.", tier="b", place="x"))
    [change] = changes.changes.values()
    assert change.atom.title == "tier of the request"
    assert "not part of the recorded request" in change.atom.why_not


def test_a_value_that_no_override_takes_is_listed_with_the_reason() -> None:
    changes = separate(run("No.", parameters={"temperature": 0.0}), run("Yes.", parameters={"temperature": "warm"}))
    [change] = changes.changes.values()
    assert change.atom.why_not == "an override does not accept such a value"


def test_a_system_prompt_that_only_one_run_has_is_left_out() -> None:
    made, back = ways(separate(run("No.", prompt=None), run("Yes.")))
    assert made == [{**MODELS, "prompt": {"system": PROMPT}}]
    assert back == [{**MODELS, "prompt": {"system": ""}}]


def test_several_system_messages_are_edited_each_on_its_own() -> None:
    def two(second: str, answer: str) -> list[Given]:
        return [agent(), model([system(PROMPT), system(second), user("Hello?")], said(answer)), output(answer)]

    made, _ = ways(separate(two("Be kind.", "No."), two("Be brief.", "Yes.")))
    edit = {"op": "replace", "index": 1, "role": "system", "content": "Be brief."}
    assert made == [{"match": {"step": 2}, "messages": [edit]}]


def examples(*messages: JSONObject, answer: str) -> list[Given]:
    return [agent(), model([system(PROMPT), *messages, user("Hello?")], said(answer)), output(answer)]


def test_a_call_in_the_history_and_its_result_are_added_and_removed_together() -> None:
    shown = [asked("c1", "get_order", id="A-1"), answered("c1", "lost")]
    changes = separate(examples(answer="No."), examples(*shown, answer="Yes."))
    [change] = changes.changes.values()
    made, back = ways(changes)
    assert made == [
        {
            "match": {"step": 2},
            "messages": [
                {"op": "insert", "index": 1, "message": shown[0]},
                {"op": "insert", "index": 1, "message": shown[1]},
            ],
        }
    ]
    assert back == [{"match": {"step": 2}, "messages": [{"op": "delete", "index": 1}, {"op": "delete", "index": 2}]}]
    assert change.atom.testable


def test_edits_at_one_step_are_repeated_where_a_later_one_has_edits_of_its_own() -> None:
    def talk(first: str, second: str, answer: str) -> list[Given]:
        begun = [system(PROMPT), user(first)]
        going_on = [*begun, said("Yes?"), user("Where is it?"), system(second)]
        return [agent(), model(begun, said("Yes?")), model(going_on, said(answer)), output(answer)]

    changes = separate(talk("Hello?", "Be kind.", "No."), talk("Hi!", "Be brief.", "Yes."))
    made, _ = ways(changes)
    edits = {entry["match"]["step"]: [edit["content"] for edit in entry["messages"]] for entry in made}
    assert edits == {2: ["Hi!"], 3: ["Hi!", "Be brief."]}


def checked(arguments: JSONObject, result: str, answer: str) -> list[Given]:
    """Code calls a tool, and tells the model."""
    return [
        agent(),
        tool("lookup", "", arguments, result),
        model([system(PROMPT), user(f"It says: {result}")], said(answer)),
        output(answer),
    ]


def test_a_tool_that_code_called_otherwise_is_called_so() -> None:
    changes = separate(
        checked({"id": 1, "deep": False}, RULES, "No."), checked({"id": 2, "deep": True}, OTHERS, "Yes.")
    )
    made, back = ways(changes)
    assert made == [{"match": {"step": 2}, "arguments": {"id": 2, "deep": True}}]
    assert back == [{"match": {"step": 2}, "arguments": {"id": 1, "deep": False}}]
    [change] = changes.changes.values()
    first = changes.parts(change.atom)[0]
    assert dumped(changes, first.id) == [{"match": {"step": 2}, "arguments": {"id": 2, "deep": False}}]


def searched(*found: str, answer: str) -> list[Given]:
    """What the searches found is put into one message each."""
    steps = [
        Given(
            type=StepType.RETRIEVAL,
            name=f"library {at}",
            parent=1,
            input={"query": f"what {at}", "top_k": 1},
            output={"documents": [{"id": f"d{at}", "content": text}]},
        )
        for at, text in enumerate(found)
    ]
    told = [user(f"Context: {text}") for text in found]
    return [agent(), *steps, model([system(PROMPT), *told, user("How long?")], said(answer)), output(answer)]


RULES = "Refunds take fourteen days after the parcel was lost."
OTHERS = "Lamps are never refunded once they were switched on."


def test_a_step_that_only_one_run_has_is_tried_by_what_it_gave() -> None:
    changes = separate(searched(RULES, answer="No."), searched(RULES, OTHERS, answer="Yes."))
    [change] = [one for one in changes.changes.values() if one.atom.category == "structure"]
    assert change.atom.testable
    assert "the step itself is neither added" in change.atom.description
    made, back = ways(changes)
    told = {"op": "insert", "index": 2, "role": "user", "content": f"Context: {OTHERS}"}
    assert made == [{"match": {"step": 3}, "messages": [told]}]
    assert back == [{"match": {"step": 4}, "messages": [{"op": "delete", "index": 2}]}]


def test_two_steps_of_one_run_alone_that_feed_one_message_are_one_change() -> None:
    def joined(*found: str, answer: str) -> list[Given]:
        steps = searched(*found, answer=answer)
        content = "Context: " + "\n".join(found)
        return [*steps[:-2], model([system(PROMPT), user(content), user("How long?")], said(answer)), output(answer)]

    third = "Parcels that weigh more than thirty kilos are sent by freight."
    changes = separate(joined(RULES, answer="No."), joined(RULES, OTHERS, third, answer="Yes."))
    found = [one.atom for one in changes.changes.values() if one.atom.category == "structure"]
    assert [(one.testable, "1 more step" in one.title) for one in found] == [(True, True)]


def test_a_step_whose_use_nobody_recorded_says_what_it_would_take() -> None:
    extra = tool("notify", "", {"who": "me"}, "done")
    base, candidate = searched(RULES, answer="No."), searched(RULES, answer="Yes.")
    changes = separate(base, [*candidate[:2], extra, *candidate[2:]])
    [why] = [one.atom.why_not for one in changes.changes.values() if one.atom.category == "structure"]
    assert "no recorded data flow shows where its output was used" in why
    assert "run the agent itself with and without it" in why


def test_a_step_that_is_used_by_code_is_not_tried() -> None:
    def guarded(*found: str, answer: str) -> list[Given]:
        check = Given(type=StepType.VALIDATOR, name="guard", parent=1, input={"texts": [*found]}, output={"ok": True})
        steps = searched(*found, answer=answer)
        return [*steps[:-1], check, steps[-1]]

    changes = separate(guarded(RULES, answer="No."), guarded(RULES, OTHERS, answer="Yes."))
    [why] = [one.atom.why_not for one in changes.changes.values() if one.atom.category == "structure"]
    assert "which only the agent's own code computes" in why


def test_a_turn_that_only_one_run_has_is_not_tried_without_what_was_said_in_it() -> None:
    def talk(*turns: str, answer: str) -> list[Given]:
        history = [system(PROMPT), user("Hello?")]
        steps = [agent(), model(list(history), said("Good morning to you, what can I do for you today?"))]
        history.append(said("Good morning to you, what can I do for you today?"))
        for turn in turns:
            history.append(user(turn))
            steps.append(model(list(history), said(f"I have heard that you say this to me: {turn}")))
            history.append(said(f"I have heard that you say this to me: {turn}"))
        history.append(user("Where is it?"))
        return [*steps, model(list(history), said(answer)), output(answer)]

    changes = separate(talk(answer="No."), talk("It is blue and broken.", answer="Yes."))
    [why] = [one.atom.why_not for one in changes.changes.values() if one.atom.category == "structure"]
    assert "continues its conversation" in why


def test_a_prompt_that_tells_of_a_tool_needs_it_to_be_offered() -> None:
    base = run("No.", prompt="You are the desk.", tools=[SCHEMA])
    candidate = run("Yes.", prompt="You are the desk. Use issue_refund.", tools=[SCHEMA, PAY])
    atoms = {
        change.atom.category + change.on_base[0].field: change.atom
        for change in separate(base, candidate).changes.values()
    }
    assert atoms["promptsystem"].requires == {atoms["prompttools"].id}
    back = {
        change.atom.category + change.on_base[0].field: change.atom
        for change in separate(candidate, base).changes.values()
    }
    assert back["prompttools"].requires == {back["promptsystem"].id}


def test_what_a_fork_asks_with_is_one_change_for_each_name() -> None:
    model_ = {"temperature": 0.5, "parameters": {"n": 2, "tool_choice": "none"}, "unset": ["seed"], "tools": [PAY]}
    given = profile({**MODELS, "model": model_}, {"match": {"step": 4}, "arguments": {"id": 2}})
    changes = changes_of(profile(), given)
    titles = {change.on_base[0].field: change.atom.title for change in changes.changes.values()}
    assert set(titles) == {"temperature", "n", "tool_choice", "seed", "tools", ""}
    assert (titles["seed"], titles["tools"]) == ("Leaving out seed of model steps", "Offering the tools issue_refund")
    whole = dumped(changes, *changes.changes)
    assert [entry for entry in whole if "arguments" in entry] == [{"match": {"step": 4}, "arguments": {"id": 2}}]
    assert [entry["model"] for entry in whole if "model" in entry] == [model_]
