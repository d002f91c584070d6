"""The changes between two runs as overrides: of forks from their profiles, of separate recordings from their roots."""

from collections.abc import Collection
from typing import Any

from diffing.report.examination import Examination, examine
from replay.proofs.changes import fork_layers
from replay.proofs.changes.atoms import Changes
from replay.proofs.changes.roots import roots
from replay.proofs.counterfactual.coupling import Coupling, RecordedAnswer
from tests.support.comparing import (
    FIX,
    PROMPT,
    Given,
    Store,
    agent,
    answered,
    asked,
    failing_refund,
    fixed_refund,
    model,
    output,
    said,
    side_of,
    system,
    tool,
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


def taken_in(match: JSONObject) -> frozenset[int]:
    """A run of twelve steps, of which every third one asks the model."""
    step: Any = match.get("step")
    if step is not None:
        return frozenset({int(step)})
    first, end = match.get("since") or 1, match.get("before") or 13
    return frozenset(no for no in range(3, 13, 3) if match["type"] == "model" and first <= no < end)  # type: ignore[operator]  # numbers of steps


def changes_of(base: dict[str, Any], candidate: dict[str, Any]) -> Changes:
    found, common = fork_layers.changes_between(
        fork_layers.settings([base["overrides"]]), fork_layers.settings([candidate["overrides"]]), taken_in
    )
    return Changes(changes={change.atom.id: change for change in found}, common=tuple(common))


def dumped(changes: Changes, *applied: str, side: str = "base") -> list[dict[str, Any]]:
    made = changes.profile(frozenset(applied), side)
    return [entry.model_dump(mode="json", exclude_unset=True) for entry in made.overrides]


def test_a_profile_is_split_into_its_single_fields_and_put_together_again() -> None:
    changes = changes_of(profile(), profile(SYSTEM, TEMPERATURE, TOOL))
    names = {change.on_base[0].field or change.on_base[0].category: name for name, change in changes.changes.items()}
    assert set(names) == {"system", "temperature", "model", "tool"}
    assert dumped(changes) == []
    assert dumped(changes, names["temperature"]) == [{"match": {"type": "model"}, "model": {"temperature": 0.5}}]
    whole = dumped(changes, *names.values())
    assert {**SYSTEM, **TEMPERATURE} in whole
    assert len(whole) == 2


def test_of_two_forks_what_both_change_alike_is_no_change() -> None:
    other = {"match": {"type": "model"}, "model": {"temperature": 0.9}}
    changes = changes_of(profile(SYSTEM, other), profile(SYSTEM, TEMPERATURE))
    assert sorted(change.on_base[0].field for change in changes.changes.values()) == ["model", "temperature"]
    assert dumped(changes) == [{**SYSTEM, "model": {"temperature": 0.9}}]


def test_parts_are_set_between_the_two_values() -> None:
    before = {"match": {"step": 4}, "tool": {"output": {"a": 0, "b": 0}, "status": "ok"}}
    changes = changes_of(profile(before), profile(TOOL))
    [change] = changes.changes.values()
    first, second = changes.parts(change.atom)
    assert dumped(changes, first.id) == [{"match": {"step": 4}, "tool": {"output": {"a": 1, "b": 0}, "status": "ok"}}]
    assert dumped(changes, second.id)[0]["tool"]["output"] == {"a": 0, "b": 2}
    assert dumped(changes, first.id, second.id) == dumped(changes, change.atom.id)
    assert dumped(changes) == [before]


def examined(base: list[Given], candidate: list[Given]) -> Examination:
    store = Store()
    return examine(
        side_of(base, store),
        side_of(candidate, store),
        lambda refs: {ref: store.values[ref] for ref in refs if ref in store.values},
    )


def separate(base: list[Given], candidate: list[Given]) -> Changes:
    return Changes(changes={one.atom.id: one for one in roots(examined(base, candidate))}, lattice=False)


def test_separate_recordings_are_made_each_other_by_their_roots() -> None:
    changes = separate(failing_refund(), fixed_refund())
    [name] = changes.changes
    entry = {"match": {"type": "model"}, "prompt": {"system": PROMPT + FIX}}
    assert dumped(changes, name) == [entry]
    assert dumped(changes) == []
    assert dumped(changes, name, side="candidate") == []
    assert dumped(changes, side="candidate") == [{**entry, "prompt": {"system": PROMPT}}]


def run(*, question: str = "Where is it?", temperature: float = 0.0, found: str = "lost", answer: str) -> list[Given]:
    asked = [system(PROMPT), user(question)]
    return [
        agent(),
        tool("get_order", "c0", {"id": 1}, {"state": found}),
        model(asked, said(answer), temperature=temperature),
        output(answer),
    ]


def test_a_message_a_setting_and_a_tools_answer_are_changes_of_their_own() -> None:
    changes = separate(
        run(answer="No."), run(question="Where is my lamp?", temperature=0.5, found="sent", answer="Yes.")
    )
    made = dumped(changes, *changes.changes)
    assert {"match": {"step": 2}, "tool": {"output": {"state": "sent"}, "status": "ok"}} in made
    assert {"match": {"type": "model"}, "model": {"temperature": 0.5}} in made
    edit = {"op": "replace", "index": 1, "content": "Where is my lamp?", "role": "user"}
    assert {"match": {"step": 3}, "messages": [edit]} in made
    back = dumped(changes, side="candidate")
    assert {"match": {"step": 3}, "messages": [{**edit, "content": "Where is it?"}]} in back


def test_what_no_override_can_do_is_listed_with_its_reason() -> None:
    base, candidate = run(answer="No."), run(answer="Yes.")
    [change] = separate(base, candidate).changes.values()
    assert not change.atom.testable
    assert "answered the same request differently" in change.atom.why_not
    extra = [*candidate[:2], tool("pay", "c9", {}, "done"), *candidate[2:]]
    reasons = {change.atom.why_not for change in separate(base, extra).changes.values()}
    assert any("adds or removes a step" in reason for reason in reasons)


def test_a_tool_whose_answer_nobody_used_is_certified() -> None:
    base, candidate = run(answer="No."), run(temperature=0.5, found="sent", answer="Yes.")
    atoms = {change.atom.category: change.atom for change in roots(examined(base, candidate))}
    assert atoms["model"].certificate is None
    assert atoms["tool"].certificate is not None
    assert atoms["tool"].certificate.kind == "unreached"
    assert atoms["model"].rank < atoms["tool"].rank


def test_a_change_after_which_the_step_answered_the_same_is_inert() -> None:
    def two(note: str, temperature: float, answer: str) -> list[Given]:
        first = [system(PROMPT), user("First?")]
        prompt = Given(type=StepType.PROMPT, name="p", parent=1, input={"template": note}, output={"text": "same"})
        return [agent(), prompt, model(first, said(answer), temperature=temperature), output(answer)]

    atoms = {change.atom.category: change.atom for change in roots(examined(two("a", 0, "x"), two("b", 1, "y")))}
    certificate = atoms["prompt"].certificate
    assert certificate is not None
    assert certificate.kind == "inert"


def test_recorded_answers_are_used_in_order_the_own_side_first_and_never_twice() -> None:
    def recorded(step: int) -> RecordedAnswer:
        return RecordedAnswer(run=new_id(), step=step, output_ref=str(step), status=StepStatus.OK)

    own, other = {"s": [recorded(1), recorded(2)]}, {"s": [recorded(7), recorded(8), recorded(9)]}
    coupling = Coupling(recordings=[own, other])
    steps = []
    while (found := coupling.answer("s")) is not None:
        steps.append(found.step)
        coupling.count_call("s")
    assert steps == [1, 2, 9]
    assert coupling.answer("t") is None


def test_calls_that_differ_in_what_the_app_leaves_out_are_the_same_call() -> None:
    answer = RecordedAnswer(run=new_id(), step=1, output_ref="1", status=StepStatus.OK)
    coupling = Coupling(recordings=[{"get": [answer]}], reduce=lambda signature: signature.rstrip("0123456789"))
    assert (coupling.answer("get7"), coupling.is_borrowed("get7")) == (answer, False)
    coupling.count_call("get8")
    assert (coupling.answer("get7"), coupling.is_borrowed("get")) == (None, True)


def test_message_is_edited_where_its_conversation_has_it_first() -> None:
    """The base books first and answers then; the candidate refuses at once. Both were told of days before that."""

    hello = [system("Grant leave."), user("I want to be away.")]
    first = [agent(), model(hello, said("How many days?"))]

    def told(days: int) -> list[JSONObject]:
        return [*hello, said("How many days?"), user(f"I want {days} days.")]

    booked = [*told(6), asked("c1", "book", days=6), answered("c1", "booked")]
    base = [
        *first,
        model(told(6), booked[4]),
        tool("book", "c1", {"days": 6}, "booked"),
        model(booked, said("You have 6 days off.")),
        output("You have 6 days off."),
    ]
    candidate = [*first, model(told(10), said("You have no days off.")), output("You have no days off.")]
    store = Store()

    def load(refs: Collection[str]) -> dict[str, JSONValue]:
        return {ref: store.values[ref] for ref in refs if ref in store.values}

    seen = examine(side_of(base, store), side_of(candidate, store), load)
    changes = Changes(changes={change.atom.id: change for change in roots(seen, load)}, lattice=False)
    (message,) = (name for name in changes.changes if name.startswith("message-list"))
    (made,), (undone,) = (
        dumped(changes, *applied, side=side) for applied, side in (([message], "base"), ([], "candidate"))
    )
    assert (made["match"], undone["match"]) == ({"step": 3}, {"step": 3})
    assert made["messages"][0]["content"] == "I want 10 days."
