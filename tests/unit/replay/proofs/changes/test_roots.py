"""Changes between two runs as overrides: of forks from their profiles, of separate recordings from their roots."""

from collections.abc import Collection
from dataclasses import replace
from typing import Any

import pytest

from diffing.report.examination import Examination, examine
from replay.proofs.changes import fork_layers
from replay.proofs.changes.atoms import Changes
from replay.proofs.changes.roots import roots
from replay.proofs.counterfactual.coupling import Coupling, RecordedAnswer
from tests.support.comparing import (
    FIX,
    PROMPT,
    Spec,
    Store,
    agent,
    failing_refund,
    fixed_refund,
    model,
    output,
    reply,
    side_of,
    system,
    tool,
    tool_call,
    tool_message,
    user,
)
from traces.core.ids import new_id
from traces.core.json_types import JSONObject, JSONValue
from traces.core.vocabulary import StepStatus, StepType

SYSTEM = {"match": {"type": "model"}, "prompt": {"system": "Be brief."}}
TEMPERATURE = {"match": {"type": "model"}, "model": {"temperature": 0.5, "provider": "p", "model": "m2"}}
TOOL = {"match": {"step": 4}, "tool": {"output": {"a": 1, "b": 2}, "status": "ok"}}


def profile(*entries: Any) -> dict[str, Any]:
    return {"overrides": list(entries)}


def matching_steps(match: JSONObject) -> frozenset[int]:
    """A run of twelve steps, of which every third one asks the model."""
    step: Any = match.get("step")
    if step is not None:
        return frozenset({int(step)})
    first, end = match.get("since") or 1, match.get("before") or 13
    return frozenset(no for no in range(3, 13, 3) if match["type"] == "model" and first <= no < end)  # type: ignore[operator]  # numbers of steps


def changes_of(base: dict[str, Any], candidate: dict[str, Any]) -> Changes:
    fork_changes, common = fork_layers.changes_between(
        fork_layers.settings([base["overrides"]]), fork_layers.settings([candidate["overrides"]]), matching_steps
    )
    return Changes(changes={change.atom.id: change for change in fork_changes}, common=tuple(common))


def dump_profile(changes: Changes, *subset: str, side: str = "base") -> list[dict[str, Any]]:
    override_profile = changes.profile(frozenset(subset), side)
    return [entry.model_dump(mode="json", exclude_unset=True) for entry in override_profile.overrides]


def test_profile_fields_round_trip() -> None:
    changes = changes_of(profile(), profile(SYSTEM, TEMPERATURE, TOOL))
    names = {change.on_base[0].field or change.on_base[0].category: name for name, change in changes.changes.items()}
    assert set(names) == {"system", "temperature", "model", "tool"}
    assert dump_profile(changes) == []
    assert dump_profile(changes, names["temperature"]) == [{"match": {"type": "model"}, "model": {"temperature": 0.5}}]
    whole = dump_profile(changes, *names.values())
    assert {**SYSTEM, **TEMPERATURE} in whole
    assert len(whole) == 2


def test_common_overrides_are_no_change() -> None:
    common_override = {"match": {"type": "model"}, "model": {"temperature": 0.9}}
    changes = changes_of(profile(SYSTEM, common_override), profile(SYSTEM, TEMPERATURE))
    assert sorted(change.on_base[0].field for change in changes.changes.values()) == ["model", "temperature"]
    assert dump_profile(changes) == [{**SYSTEM, "model": {"temperature": 0.9}}]


def test_parts_mix_the_two_values() -> None:
    before = {"match": {"step": 4}, "tool": {"output": {"a": 0, "b": 0}, "status": "ok"}}
    changes = changes_of(profile(before), profile(TOOL))
    [change] = changes.changes.values()
    first, second = changes.parts(change.atom)
    assert dump_profile(changes, first.id) == [
        {"match": {"step": 4}, "tool": {"output": {"a": 1, "b": 0}, "status": "ok"}}
    ]
    assert dump_profile(changes, second.id)[0]["tool"]["output"] == {"a": 0, "b": 2}
    assert dump_profile(changes, first.id, second.id) == dump_profile(changes, change.atom.id)
    assert dump_profile(changes) == [before]


def examine_runs(base: list[Spec], candidate: list[Spec]) -> Examination:
    store = Store()
    return examine(
        side_of(base, store),
        side_of(candidate, store),
        lambda refs: {ref: store.values[ref] for ref in refs if ref in store.values},
    )


def separate(base: list[Spec], candidate: list[Spec]) -> Changes:
    return Changes(changes={change.atom.id: change for change in roots(examine_runs(base, candidate))}, lattice=False)


def converted(rate: int) -> list[Spec]:
    """A planner, a table of rates, and a clerk who gets an amount that code computed from the rate."""
    return [
        agent(),
        model([system("Plan."), user("Send 3 pumps.")], reply("c = rate(EUR)")),
        tool("rate", "", {"currency": "EUR"}, {"cents": rate}),
        model([system("Quote."), user(f"francs: {9 * rate // 5}")], reply(f"It costs {9 * rate // 5} francs.")),
        output(f"It costs {9 * rate // 5} francs."),
    ]


def test_computed_message_of_later_agent_is_no_change() -> None:
    changes = separate(converted(95), converted(97))
    assert [change.atom.category for change in changes.changes.values() if change.atom.testable] == ["tool"]


def test_computed_message_of_later_agent_stays_as_recorded_unless_a_probe_holds_it() -> None:
    changes = separate(converted(95), converted(97))
    [relay] = [change.atom for change in changes.changes.values() if change.atom.is_relay]
    [entry] = dump_profile(changes, relay.id)
    assert entry["match"] == {"step": 4}
    assert [edit["content"] for edit in entry["messages"]] == ["francs: 174"]
    assert dump_profile(changes) == []
    assert all("messages" not in entry for entry in dump_profile(changes, side="candidate"))


def claim_run(amount: int, paid: int) -> list[Spec]:
    """A letter that code passes on to a second agent, together with the terms of a policy."""
    letter = f"It is a damage of {amount} francs."
    return [
        Spec(type=StepType.AGENT, name="agent", input={"task": letter}),
        model([system("Sort."), user(letter)], reply(f"glass, certainty {amount // 15}")),
        tool("get_policy", "", {"number": "K20"}, {"covers": "glass"}),
        model([system("Settle."), user(f"{letter}\ncovers=glass")], reply(f"We pay {paid}.")),
        output(f"We pay {paid}."),
    ]


def test_input_is_changed_in_every_message_that_passes_it_on() -> None:
    changes = separate(claim_run(900, 700), claim_run(990, 790))
    [name] = [name for name, change in changes.changes.items() if change.atom.testable]
    edits = [entry["messages"][0]["content"] for entry in dump_profile(changes, name)]
    assert edits == ["It is a damage of 990 francs.", "It is a damage of 990 francs.\ncovers=glass"]


def test_an_input_in_one_passage_of_a_message_leaves_the_rest_to_the_replay() -> None:
    changes = separate(billing_run("Q17", "four"), billing_run("Q18", "nine"))
    [name] = [name for name, change in changes.changes.items() if change.atom.testable]
    message, call = dump_profile(changes, name)
    assert call == {"match": {"step": 2}, "arguments": {"number": "Q18"}}
    [edit] = message["messages"]
    assert (edit["op"], edit["index"]) == ("replace", 1)
    [part] = edit["passages"]
    assert ("Q18" in part["after"], "NINE" in part["after"]) == (True, False)
    [reverted, _] = dump_profile(changes, side="candidate")
    assert reverted["messages"][0]["passages"] == [{"before": part["after"], "after": part["before"]}]


def test_two_passages_of_a_message_can_be_two_changes() -> None:
    """Code puts the request above a translation of it, of which no recording shows how it was made."""

    def run(request: str, translation: str, answer: str) -> list[Spec]:
        text = f"Original: {request}\nTranslation: {translation}"
        return [
            Spec(type=StepType.AGENT, name="agent", input={"task": request}),
            model([system("Help."), user(text)], reply(answer)),
            output(answer),
        ]

    changes = separate(run("Bitte stornieren!", "please cancel", "Done."), run("Bitte umbuchen!", "alter it", "Moved."))
    edits = [edit for name in changes.changes for edit in dump_profile(changes, name)[0]["messages"]]
    assert [[part["after"] for part in edit["passages"]] for edit in edits] == [
        ["Bitte umbuchen!\nTranslation"],
        ["Translation: alter it"],
    ]


def test_each_of_several_changed_messages_has_its_own_title_kind_and_echo() -> None:
    def run(example_code: str, question: str, code: str) -> list[Spec]:
        example: list[Any] = [user("The printer smells."), {"role": "assistant", "content": example_code}]
        return [agent(), model([system("Use the examples."), *example, user(question)], reply(code))]

    changes = separate(
        run("It is error 40.", "My disk has 303 bad sectors.", "Code 303"),
        run("It is error 70.", "My disk has 202 bad sectors.", "Code 202"),
    )
    atoms = [change.atom for change in changes.changes.values()]
    assert sorted((atom.category, atom.title, atom.echoes) for atom in atoms) == [
        ("prompt", "Changing “40” to “70” in a message of the assistant", False),
        ("upstream", "Changing “303” to “202” in the user's message", True),
    ]


def billing_run(number: str, days: str) -> list[Spec]:
    """Code looks up the booking that the request names, and puts the request above a figure that it capitalised."""
    return [
        Spec(type=StepType.AGENT, name="agent", input={"task": f"Car {number} please"}),
        tool("bookings", "", {"number": number}, {"days": days}),
        model([system("Read."), user(f"days: {days}")], reply(f"{days} days at the desk")),
        model([system("Bill."), user(f"Car {number} please\n* {days.upper()} DAYS AT THE DESK")], reply(f"{days}0.")),
        output(f"{days}0."),
    ]


def test_roots_turn_one_recording_into_the_other() -> None:
    changes = separate(failing_refund(), fixed_refund())
    [name] = changes.changes
    entry = {"match": {"type": "model"}, "prompt": {"system": PROMPT + FIX}}
    assert dump_profile(changes, name) == [entry]
    assert dump_profile(changes) == []
    assert dump_profile(changes, name, side="candidate") == []
    assert dump_profile(changes, side="candidate") == [{**entry, "prompt": {"system": PROMPT}}]


def run(*, question: str = "Where is it?", temperature: float = 0.0, state: str = "lost", answer: str) -> list[Spec]:
    messages = [system(PROMPT), user(question)]
    return [
        agent(),
        tool("get_order", "c0", {"id": 1}, {"state": state}),
        model(messages, reply(answer), temperature=temperature),
        output(answer),
    ]


def test_message_setting_and_tool_answer_are_separate_changes() -> None:
    changes = separate(
        run(answer="No."), run(question="Where is my lamp?", temperature=0.5, state="sent", answer="Yes.")
    )
    applied_entries = dump_profile(changes, *changes.changes)
    assert {"match": {"step": 2}, "tool": {"output": {"state": "sent"}, "status": "ok"}} in applied_entries
    assert {"match": {"type": "model"}, "model": {"temperature": 0.5}} in applied_entries
    edit = {"op": "replace", "index": 1, "content": "Where is my lamp?", "role": "user"}
    assert {"match": {"step": 3}, "messages": [edit]} in applied_entries
    back = dump_profile(changes, side="candidate")
    assert {"match": {"step": 3}, "messages": [{**edit, "content": "Where is it?"}]} in back


def test_untestable_roots_state_their_reason() -> None:
    base, candidate = run(answer="No."), run(answer="Yes.")
    [change] = separate(base, candidate).changes.values()
    assert not change.atom.testable
    assert "answered the same request differently" in change.atom.why_not
    extra = [*candidate[:2], tool("pay", "c9", {}, "done"), *candidate[2:]]
    reasons = {change.atom.why_not for change in separate(base, extra).changes.values()}
    assert any("adds or removes a step" in reason for reason in reasons)


def test_unused_tool_answer_is_certified() -> None:
    base, candidate = run(answer="No."), run(temperature=0.5, state="sent", answer="Yes.")
    atoms = {change.atom.category: change.atom for change in roots(examine_runs(base, candidate))}
    assert atoms["model"].certificate is None
    assert atoms["tool"].certificate is not None
    assert atoms["tool"].certificate.kind == "unreached"
    assert atoms["model"].rank < atoms["tool"].rank


def test_reviewer_that_only_code_reads_is_not_certified() -> None:
    """The reviewer's answer goes to no model. The code reads it, and the author's conversation continues."""

    def draft_run(task: str, rule: str, *drafts: str) -> list[Spec]:
        steps: list[Spec] = [agent()]
        conversation = [system("Write a slogan."), user(task)]
        for text in drafts:
            steps.append(replace(model(conversation, reply(text)), name="author"))
            verdict = "Good." if text == drafts[-1] else "Too long."
            steps.append(replace(model([system(rule), user(text)], reply(verdict)), name="reviewer"))
            conversation = [*conversation, reply(text), user("Please, once more.")]
        return [*steps, output(drafts[-1])]

    base = draft_run("For bread.", "Review it.", "Fresh bread from our oven")
    candidate = draft_run("For our bread.", "Review it. At most 2 words.", "Fresh bread from our oven", "Fresh bread")
    atoms = [change.atom for change in roots(examine_runs(base, candidate)) if change.atom.category == "prompt"]
    assert [atom.certificate for atom in atoms] == [None]


def test_change_without_a_different_answer_is_inert() -> None:
    def two(note: str, temperature: float, answer: str) -> list[Spec]:
        first = [system(PROMPT), user("First?")]
        prompt = Spec(type=StepType.PROMPT, name="p", parent=1, input={"template": note}, output={"text": "same"})
        return [agent(), prompt, model(first, reply(answer), temperature=temperature), output(answer)]

    atoms = {change.atom.category: change.atom for change in roots(examine_runs(two("a", 0, "x"), two("b", 1, "y")))}
    certificate = atoms["prompt"].certificate
    assert certificate is not None
    assert certificate.kind == "inert"


def test_own_recorded_answers_come_first_and_once() -> None:
    def answer_at(step: int) -> RecordedAnswer:
        return RecordedAnswer(run=new_id(), step=step, output_ref=str(step), status=StepStatus.OK)

    own, second_side = {"s": [answer_at(1), answer_at(2)]}, {"s": [answer_at(7), answer_at(8), answer_at(9)]}
    coupling = Coupling(recordings=[own, second_side])
    steps = []
    while (answer := coupling.answer("s")) is not None:
        steps.append(answer.step)
        coupling.count_call("s")
    assert steps == [1, 2, 9]
    assert coupling.answer("t") is None


def test_side_keeps_its_texts_of_documents_for_the_query_of_the_other_side() -> None:
    own, other = (
        RecordedAnswer(run=new_id(), step=2, output_ref=text, status=StepStatus.OK) for text in ("25,000", "45,000")
    )
    coupling = Coupling(
        recordings=[{"roof": [own]}, {"roof, please": [other]}], counterparts={(other.run, other.step): own}
    )
    assert coupling.answer("roof, please") == own
    assert coupling.is_borrowed("roof, please")


def test_calls_equal_under_the_ignore_list_match() -> None:
    answer = RecordedAnswer(run=new_id(), step=1, output_ref="1", status=StepStatus.OK)
    coupling = Coupling(recordings=[{"get": [answer]}], reduce=lambda signature: signature.rstrip("0123456789"))
    assert (coupling.answer("get7"), coupling.is_borrowed("get7")) == (answer, False)
    coupling.count_call("get8")
    assert (coupling.answer("get7"), coupling.is_borrowed("get")) == (None, True)


def test_message_is_edited_at_its_first_step() -> None:
    """The base books, then answers; the candidate refuses at once. Both had the days in an earlier message."""

    hello = [system("Grant leave."), user("I want to be away.")]
    first = [agent(), model(hello, reply("How many days?"))]

    def with_days(days: int) -> list[JSONObject]:
        return [*hello, reply("How many days?"), user(f"I want {days} days.")]

    after_booking = [*with_days(6), tool_call("c1", "book", days=6), tool_message("c1", "booked")]
    base = [
        *first,
        model(with_days(6), after_booking[4]),
        tool("book", "c1", {"days": 6}, "booked"),
        model(after_booking, reply("You have 6 days off.")),
        output("You have 6 days off."),
    ]
    candidate = [*first, model(with_days(10), reply("You have no days off.")), output("You have no days off.")]
    store = Store()

    def load(refs: Collection[str]) -> dict[str, JSONValue]:
        return {ref: store.values[ref] for ref in refs if ref in store.values}

    examination = examine(side_of(base, store), side_of(candidate, store), load)
    changes = Changes(changes={change.atom.id: change for change in roots(examination, load)}, lattice=False)
    (message,) = (name for name in changes.changes if name.startswith("message-list"))
    (applied_entries,), (reverted_entry,) = (
        dump_profile(changes, *subset, side=side) for subset, side in (([message], "base"), ([], "candidate"))
    )
    assert (applied_entries["match"], reverted_entry["match"]) == ({"step": 3}, {"step": 3})
    assert applied_entries["messages"][0]["content"] == "I want 10 days."


def test_step_of_one_run_is_described_by_its_request() -> None:
    """Code calls a model for every three letters. A fourth letter makes a second call."""

    def sorted_letters(*batches: tuple[str, str]) -> list[Spec]:
        calls = [model([system("Sort the letters."), user(letters)], reply(answer)) for letters, answer in batches]
        answers = "; ".join(answer for _, answer in batches)
        clerk = model([system("File them."), user(f"Sorted: {answers}")], reply(f"Filed {len(batches)} batches"))
        return [agent(), *(replace(call, name="sorter") for call in calls), replace(clerk, name="clerk")]

    first = ("Rent due in May\nA greeting from Oslo", "invoices: rent in May")
    store = Store()
    runs = sorted_letters(first), sorted_letters(first, ("A claim for hail", "claims: hail"))
    base, candidate = (side_of(run, store) for run in runs)
    changes = roots(examine(base, candidate, store.load), store.load)
    [step] = [change.atom for change in changes if change.atom.category == "structure"]
    assert step.description.endswith("It was asked “A claim for hail”.")


@pytest.mark.parametrize(("answer", "is_listed"), [("Take Kreuz.", True), ("Take Savoy.", False)])
def test_final_answer_that_code_composed_of_equal_outputs_is_a_change(answer: str, is_listed: bool) -> None:
    def run(answer: str, signature: str) -> list[Spec]:
        return [agent(), model([user("A hotel?")], reply(answer)), output(f"{answer} {signature}".strip())]

    changes = roots(examine_runs(run("Take Kreuz.", ""), run(answer, "The desk")))
    assert [change.atom.title for change in changes if change.atom.is_by_code] == [
        "Adding “The desk” to the output of output"
    ] * is_listed
