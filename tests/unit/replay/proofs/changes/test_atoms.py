"""Which changes between two recordings are testable: tools, parameters, messages, arguments, unpaired steps."""

from dataclasses import replace
from typing import Any

from replay.proofs.changes.atoms import Changes
from replay.proofs.changes.overrides import RunPair
from replay.proofs.changes.roots import roots
from tests.support.comparing import (
    PROMPT,
    Spec,
    agent,
    model,
    output,
    reply,
    system,
    tool,
    tool_call,
    tool_message,
    user,
)
from tests.unit.replay.proofs.changes.test_roots import changes_of, dump_profile, examine_runs, profile
from traces.core.json_types import JSONObject
from traces.core.vocabulary import StepType

SCHEMA: JSONObject = {"name": "get_order", "description": "Looks up an order."}
PAY: JSONObject = {"name": "issue_refund", "description": "Pays money back."}
MODELS = {"match": {"type": "model"}}


def separate(base: list[Spec], candidate: list[Spec]) -> Changes:
    examination = examine_runs(base, candidate)
    by_id = {change.atom.id: change for change in roots(examination)}
    return Changes(
        changes=by_id,
        lattice=False,
        previous_steps=RunPair(examination=examination, load=lambda refs: {}).previous_steps,
    )


def run(answer: str, *, prompt: str | None = PROMPT, **request: Any) -> list[Spec]:
    """One answer of a model to a request with these fields."""
    input: JSONObject = {"messages": [*([system(prompt)] if prompt else []), user("Hello?")], **request}
    call = Spec(type=StepType.MODEL, name="chat", parent=1, model="m1", input=input, output={"message": reply(answer)})
    return [agent(), call, output(answer)]


def ways(changes: Changes) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The overrides that apply all changes to the base, and those that revert all from the candidate."""
    names = [name for name, change in changes.changes.items() if change.atom.testable]
    assert dump_profile(changes) == dump_profile(changes, *names, side="candidate") == []
    return dump_profile(changes, *names), dump_profile(changes, side="candidate")


def test_tool_schemas_divide_into_sentences() -> None:
    new_schema: JSONObject = {**SCHEMA, "description": "Looks up an order. Never call it twice."}
    changes = separate(run("No.", tools=[SCHEMA, PAY]), run("Yes.", tools=[new_schema]))
    applied_entries, reverted_entries = ways(changes)
    assert applied_entries == [{**MODELS, "model": {"tools": [new_schema]}}]
    assert reverted_entries == [{**MODELS, "model": {"tools": [SCHEMA, PAY]}}]
    [change] = changes.changes.values()
    parts = changes.parts(change.atom)
    assert [part.title.split(" ")[0] for part in parts] == ["“get_order”", "Omitting"]
    assert dump_profile(changes, parts[1].id) == [{**MODELS, "model": {"tools": [SCHEMA]}}]
    assert len(changes.parts(parts[0])) == 0  # one sentence is one thing


def test_tools_of_one_run_are_removable() -> None:
    applied_entries, reverted_entries = ways(separate(run("No."), run("Yes.", tools=[PAY])))
    assert applied_entries == [{**MODELS, "model": {"tools": [PAY]}}]
    assert reverted_entries == [{**MODELS, "model": {"unset": ["tools"]}}]


def test_each_parameter_is_a_separate_change() -> None:
    base = run("No.", parameters={"temperature": 0.0, "tool_choice": "auto", "n": 1})
    candidate = run("Yes.", parameters={"tool_choice": "none", "seed": 7}, response_format={"type": "json_object"})
    changes = separate(base, candidate)
    assert len(changes.changes) == 5
    [applied_entries], [reverted_entries] = ways(changes)
    assert applied_entries["model"].pop("unset") == ["n", "temperature"]
    assert applied_entries["model"] == {
        "parameters": {"tool_choice": "none"},
        "response_format": {"type": "json_object"},
        "seed": 7,
    }
    assert sorted(reverted_entries["model"].pop("unset")) == ["response_format", "seed"]
    assert reverted_entries["model"] == {"parameters": {"tool_choice": "auto", "n": 1}, "temperature": 0.0}


def test_parameters_of_one_run_only_may_not_be_recorded() -> None:
    changes = separate(run("No.", parameters={"temperature": 0.0, "top_p": 1}), run("Yes.", tools=[PAY]))
    reasons = {change.atom.title: change.atom.why_not for change in changes.changes.values()}
    assert [bool(reason) for reason in reasons.values()].count(True) == 2
    assert "records no parameters" in reasons["temperature: 0 → nothing"]
    [change] = separate(run("No."), run("Yes.", parameters={"temperature": 0.5})).changes.values()
    assert change.atom.testable


def test_result_that_one_run_does_not_record_is_untestable() -> None:
    def lookup(result: JSONObject | None) -> list[Spec]:
        return [*run("No.")[:2], replace(tool("get_order", "", {"id": 7}, None), output=result), output("No.")]

    [change] = separate(lookup({"price": 5}), lookup(None)).changes.values()
    assert "does not record this output" in change.atom.why_not


def test_message_of_one_run_only_has_no_parts() -> None:
    """A part of its insertion would be combined with a part of its deletion, which no override accepts."""

    def asked(*messages: JSONObject) -> list[Spec]:
        return [agent(), model([system(PROMPT), user("Hello?"), *messages], reply("No.")), output("No.")]

    for message in (user("Hurry up, please. It rains."), tool_message("c1", {"price": 5, "stock": 2})):
        changes = separate(asked(), asked(message))
        [change] = changes.changes.values()
        assert changes.parts(change.atom) == []


def test_setting_outside_the_request_is_untestable() -> None:
    changes = separate(run("No.", tier="a", place="x"), run("Yes.", tier="b", place="x"))
    [change] = changes.changes.values()
    assert change.atom.title == "tier of the request"
    assert "not part of the recorded request" in change.atom.why_not


def test_value_no_override_accepts_is_untestable() -> None:
    changes = separate(run("No.", parameters={"temperature": 0.0}), run("Yes.", parameters={"temperature": "warm"}))
    [change] = changes.changes.values()
    assert change.atom.why_not == "an override does not accept such a value"


def test_system_prompt_of_one_run_is_removable() -> None:
    applied_entries, reverted_entries = ways(separate(run("No.", prompt=None), run("Yes.")))
    assert applied_entries == [{**MODELS, "prompt": {"system": PROMPT}}]
    assert reverted_entries == [{**MODELS, "prompt": {"system": ""}}]


def test_system_messages_are_edited_separately() -> None:
    def two(second: str, answer: str) -> list[Spec]:
        return [agent(), model([system(PROMPT), system(second), user("Hello?")], reply(answer)), output(answer)]

    applied_entries, _ = ways(separate(two("Be kind.", "No."), two("Be brief.", "Yes.")))
    edit = {"op": "replace", "index": 1, "role": "system", "content": "Be brief."}
    assert applied_entries == [{"match": {"step": 2}, "messages": [edit]}]


def examples(*messages: JSONObject, answer: str) -> list[Spec]:
    return [agent(), model([system(PROMPT), *messages, user("Hello?")], reply(answer)), output(answer)]


def test_call_and_result_are_one_change() -> None:
    messages = [tool_call("c1", "get_order", id="A-1"), tool_message("c1", "lost")]
    changes = separate(examples(answer="No."), examples(*messages, answer="Yes."))
    [change] = changes.changes.values()
    applied_entries, reverted_entries = ways(changes)
    assert applied_entries == [
        {
            "match": {"step": 2},
            "messages": [
                {"op": "insert", "index": 1, "message": messages[0]},
                {"op": "insert", "index": 1, "message": messages[1]},
            ],
        }
    ]
    assert reverted_entries == [
        {"match": {"step": 2}, "messages": [{"op": "delete", "index": 1}, {"op": "delete", "index": 2}]}
    ]
    assert change.atom.testable


def test_earlier_edits_are_repeated_at_later_steps() -> None:
    def talk(first: str, second: str, answer: str) -> list[Spec]:
        opening = [system(PROMPT), user(first)]
        continuation = [*opening, reply("Yes?"), user("Where is it?"), system(second)]
        return [agent(), model(opening, reply("Yes?")), model(continuation, reply(answer)), output(answer)]

    changes = separate(talk("Hello?", "Be kind.", "No."), talk("Hi!", "Be brief.", "Yes."))
    applied_entries, _ = ways(changes)
    edits = {entry["match"]["step"]: [edit["content"] for edit in entry["messages"]] for entry in applied_entries}
    assert edits == {2: ["Hi!"], 3: ["Hi!", "Be brief."]}


def code_calls_tool(arguments: JSONObject, result: str, answer: str) -> list[Spec]:
    """The agent's code calls a tool and passes the result to the model."""
    return [
        agent(),
        tool("lookup", "", arguments, result),
        model([system(PROMPT), user(f"It says: {result}")], reply(answer)),
        output(answer),
    ]


def test_changed_tool_arguments_are_overridden() -> None:
    changes = separate(
        code_calls_tool({"id": 1, "deep": False}, RULES, "No."),
        code_calls_tool({"id": 2, "deep": True}, LAMP_RULES, "Yes."),
    )
    applied_entries, reverted_entries = ways(changes)
    assert applied_entries == [{"match": {"step": 2}, "arguments": {"id": 2, "deep": True}}]
    assert reverted_entries == [{"match": {"step": 2}, "arguments": {"id": 1, "deep": False}}]
    [change] = changes.changes.values()
    first = changes.parts(change.atom)[0]
    assert dump_profile(changes, first.id) == [{"match": {"step": 2}, "arguments": {"id": 2, "deep": False}}]


def search_runs(*texts: str, answer: str) -> list[Spec]:
    """Puts the results of each search into a separate message."""
    steps = [
        Spec(
            type=StepType.RETRIEVAL,
            name=f"library {at}",
            parent=1,
            input={"query": f"what {at}", "top_k": 1},
            output={"documents": [{"id": f"d{at}", "content": text}]},
        )
        for at, text in enumerate(texts)
    ]
    messages = [user(f"Context: {text}") for text in texts]
    return [agent(), *steps, model([system(PROMPT), *messages, user("How long?")], reply(answer)), output(answer)]


RULES = "Refunds take fourteen days after the parcel was lost."
LAMP_RULES = "Lamps are never refunded once they were switched on."


def test_unpaired_step_is_tested_by_its_output() -> None:
    changes = separate(search_runs(RULES, answer="No."), search_runs(RULES, LAMP_RULES, answer="Yes."))
    [change] = [change for change in changes.changes.values() if change.atom.category == "structure"]
    assert change.atom.testable
    assert "the step itself is neither added" in change.atom.description
    applied_entries, reverted_entries = ways(changes)
    edit = {"op": "insert", "index": 2, "role": "user", "content": f"Context: {LAMP_RULES}"}
    assert applied_entries == [{"match": {"step": 3}, "messages": [edit]}]
    assert reverted_entries == [{"match": {"step": 4}, "messages": [{"op": "delete", "index": 2}]}]


def test_unpaired_steps_with_one_target_are_joined() -> None:
    def joined_message(*atoms: str, answer: str) -> list[Spec]:
        steps = search_runs(*atoms, answer=answer)
        content = "Context: " + "\n".join(atoms)
        return [
            *steps[:-2],
            model([system(PROMPT), user(content), user("How long?")], reply(answer)),
            output(answer),
        ]

    third = "Parcels that weigh more than thirty kilos are sent by freight."
    changes = separate(joined_message(RULES, answer="No."), joined_message(RULES, LAMP_RULES, third, answer="Yes."))
    atoms = [change.atom for change in changes.changes.values() if change.atom.category == "structure"]
    assert [(change.testable, "1 more step" in change.title) for change in atoms] == [(True, True)]


def test_unpaired_step_without_data_flow_is_untestable() -> None:
    extra = tool("notify", "", {"who": "me"}, "done")
    base, candidate = search_runs(RULES, answer="No."), search_runs(RULES, answer="Yes.")
    changes = separate(base, [*candidate[:2], extra, *candidate[2:]])
    [reason] = [change.atom.why_not for change in changes.changes.values() if change.atom.category == "structure"]
    assert "no recorded data flow shows where its output was used" in reason
    assert "run the agent itself with and without it" in reason


def test_unpaired_step_used_by_code_is_untestable() -> None:
    def with_validator(*texts: str, answer: str) -> list[Spec]:
        check = Spec(type=StepType.VALIDATOR, name="guard", parent=1, input={"texts": [*texts]}, output={"ok": True})
        steps = search_runs(*texts, answer=answer)
        return [*steps[:-1], check, steps[-1]]

    changes = separate(with_validator(RULES, answer="No."), with_validator(RULES, LAMP_RULES, answer="Yes."))
    [reason] = [change.atom.why_not for change in changes.changes.values() if change.atom.category == "structure"]
    assert "which only the agent's own code computes" in reason


def test_unpaired_turn_is_untestable_without_its_messages() -> None:
    def talk(*turns: str, answer: str) -> list[Spec]:
        history = [system(PROMPT), user("Hello?")]
        steps = [agent(), model(list(history), reply("Good morning to you, what can I do for you today?"))]
        history.append(reply("Good morning to you, what can I do for you today?"))
        for turn in turns:
            history.append(user(turn))
            steps.append(model(list(history), reply(f"I have heard that you say this to me: {turn}")))
            history.append(reply(f"I have heard that you say this to me: {turn}"))
        history.append(user("Where is it?"))
        return [*steps, model(list(history), reply(answer)), output(answer)]

    changes = separate(talk(answer="No."), talk("It is blue and broken.", answer="Yes."))
    [reason] = [change.atom.why_not for change in changes.changes.values() if change.atom.category == "structure"]
    assert "continues its conversation" in reason


def test_prompt_requires_the_tools_it_mentions() -> None:
    base = run("No.", prompt="You are the desk.", tools=[SCHEMA])
    candidate = run("Yes.", prompt="You are the desk. Use issue_refund.", tools=[SCHEMA, PAY])
    atoms = {
        change.atom.category + change.on_base[0].field: change.atom
        for change in separate(base, candidate).changes.values()
    }
    assert atoms["promptsystem"].requires == {atoms["prompttools"].id}
    reverted_entries = {
        change.atom.category + change.on_base[0].field: change.atom
        for change in separate(candidate, base).changes.values()
    }
    assert reverted_entries["prompttools"].requires == {reverted_entries["promptsystem"].id}


def test_fork_settings_are_changes_by_field() -> None:
    model_ = {"temperature": 0.5, "parameters": {"n": 2, "tool_choice": "none"}, "unset": ["seed"], "tools": [PAY]}
    fork_profile = profile({**MODELS, "model": model_}, {"match": {"step": 4}, "arguments": {"id": 2}})
    changes = changes_of(profile(), fork_profile)
    titles = {change.on_base[0].field: change.atom.title for change in changes.changes.values()}
    assert set(titles) == {"temperature", "n", "tool_choice", "seed", "tools", ""}
    assert (titles["seed"], titles["tools"]) == ("Omitting seed of model steps", "Offering the tools issue_refund")
    whole = dump_profile(changes, *changes.changes)
    assert [entry for entry in whole if "arguments" in entry] == [{"match": {"step": 4}, "arguments": {"id": 2}}]
    assert [entry["model"] for entry in whole if "model" in entry] == [model_]
