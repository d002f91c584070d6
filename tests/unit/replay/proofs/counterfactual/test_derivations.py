"""What the agent's code derives from earlier outputs, in probes that do not run it."""

from dataclasses import replace
from typing import Any

import pytest

from diffing.report.examination import Examination, examine
from replay.core.applied_profile import apply_profile
from replay.core.context import ReplayContext
from replay.engine.replayer import Replayer
from replay.overrides.policy import Policy
from replay.overrides.profile import OverrideProfile
from replay.proofs.changes.certificates import certify
from replay.proofs.changes.roots import roots
from replay.proofs.core.types import Side, Stray
from replay.proofs.counterfactual.coupling import Coupling, RecordedAnswer, Recording
from replay.proofs.counterfactual.derivations import (
    Derivations,
    OtherState,
    Output,
    Product,
    StepAnswer,
    UnknownState,
)
from replay.proofs.counterfactual.recorded_derivations import derivations
from replay.proofs.counterfactual.replay_monitor import ReplayMonitor
from tests.support.comparing import Spec, Store, agent, model, output, reply, side_of, system, tool, user
from tests.support.replay_runs import graph_of
from tests.unit.diffing.attribution.test_difference_origins import route
from tests.unit.replay.proofs.changes.test_roots import examine_runs
from tests.unit.replay.proofs.counterfactual.test_replay_monitor import Memory
from traces.core.ids import new_id
from traces.core.json_types import JSONValue
from traces.core.recorded_run import RecordedRun, RecordedStep
from traces.core.vocabulary import RunSource, StepType

ROUTER = Output(numbers=(2, 2), answers=("ok b", "ok t"), signatures=("s", "s"))


def code_after(*outputs: Output, due: tuple[int, int] = (3, 3)) -> Derivations:
    return Derivations(outputs=outputs, products=[Product(due=due)])


def test_own_outputs_keep_the_derived_content() -> None:
    state = code_after(ROUTER).state("base")
    state.note(2, "s", StepAnswer(status="ok", ref="b"))
    state.arrive(3)
    state.end()


def test_other_runs_outputs_reach_its_state() -> None:
    state = code_after(ROUTER).state("base")
    state.note(2, "s", StepAnswer(status="ok", ref="t"))
    with pytest.raises(OtherState):
        state.arrive(3)


@pytest.mark.parametrize("later_is_traced", [True, False])
def test_other_state_is_traced_if_all_later_products_are(later_is_traced: bool) -> None:
    """What code made of the other run's outputs at a later step is taken from that run as well."""
    products = [Product(due=(3, 3), is_traced=True), Product(due=(5, 5), is_traced=later_is_traced)]
    state = Derivations(outputs=(ROUTER,), products=products).state("base")
    state.note(2, "s", StepAnswer(status="ok", ref="t"))
    with pytest.raises(OtherState) as other_state:
        state.arrive(3)
    assert other_state.value.is_traced is later_is_traced


def test_new_outputs_have_no_known_state() -> None:
    state = code_after(ROUTER).state("candidate")
    state.note(2, "s", StepAnswer(status="ok", ref="something new"))
    with pytest.raises(UnknownState):
        state.arrive(4)


def test_mixed_outputs_have_no_known_state() -> None:
    second = Output(numbers=(3, 3), answers=("ok 1", "ok 2"), signatures=("r", "r"))
    state = code_after(ROUTER, second, due=(4, 4)).state("base")
    state.note(2, "s", StepAnswer(status="ok", ref="t"))
    state.note(3, "r", StepAnswer(status="ok", ref="1"))
    with pytest.raises(UnknownState):
        state.arrive(4)


def test_outputs_after_the_code_do_not_count() -> None:
    late = Output(numbers=(5, 5), answers=("ok 1", "ok 2"), signatures=("r", "r"))
    state = code_after(ROUTER, late).state("base")
    state.note(2, "s", StepAnswer(status="ok", ref="b"))
    state.arrive(3)
    state.note(5, "r", StepAnswer(status="ok", ref="2"))
    state.end()


@pytest.mark.parametrize(("is_passed_on", "is_known"), [(True, True), (False, False)])
def test_passed_on_result_does_not_decide(*, is_passed_on: bool, is_known: bool) -> None:
    """Code passes a new tool result on; the model's answer, which only code reads, is as recorded."""
    tool = Output(
        numbers=(1, 1), answers=("ok 1", "ok 2"), signatures=("r", "r"), type=StepType.TOOL, is_passed_on=is_passed_on
    )
    state = code_after(tool, ROUTER).state("base")
    state.note(1, "r", StepAnswer(status="ok", ref="2"))
    state.note(2, "s", StepAnswer(status="ok", ref="b"))
    if is_known:
        state.end()
        assert state.assumes_code
        return
    with pytest.raises(UnknownState):
        state.end()


def test_step_of_the_other_run_is_due_next() -> None:
    state = code_after(ROUTER, due=(4, 3)).state("base")  # the candidate's step 3 has no counterpart
    state.note(2, "s", StepAnswer(status="ok", ref="t"))
    state.arrive(3)
    with pytest.raises(OtherState):
        state.arrive(4)


def test_added_steps_count_towards_the_other_state() -> None:
    extra = Output(numbers=(None, 3), answers=("", "ok found"), signatures=("", "lookup"))
    state = code_after(ROUTER, extra, due=(3, 4)).state("base")
    state.note(2, "s", StepAnswer(status="ok", ref="t"))
    state.note(None, "lookup", StepAnswer(status="ok", ref="found"))
    with pytest.raises(OtherState):
        state.arrive(3)


BASE = route("", "billing", "Please pay the open invoice first.")
CANDIDATE = route("Screens are devices.", "technical", "Please send the device in to us.")


def examine_router() -> Examination:
    return examine_runs(BASE, CANDIDATE)


def test_derived_message_is_untestable() -> None:
    prompt, message = [change.atom for change in roots(examine_router())]
    assert (prompt.category, prompt.testable, prompt.certificate) == ("prompt", True, None)
    assert (message.category, message.testable) == ("upstream", False)
    assert "may have derived it" in message.why_not


def test_unrecorded_code_prevents_a_certificate() -> None:
    examination = examine_router()
    assert certify(examination, [1]) is None
    weather = model([system("Talk about the weather."), user("Well?")], reply("Sun."))
    changed_weather = model([system("Talk about the weather!"), user("Well?")], reply("Rain."))
    late = examine_runs([*BASE[:3], weather, BASE[3]], [*CANDIDATE[:3], changed_weather, CANDIDATE[3]])
    after = certify(late, [3])
    assert after is not None
    assert after.kind == "unreached"


def run_of(steps_of_run: list[Spec]) -> RecordedRun:
    steps = [
        RecordedStep(
            key=str(number),
            parent=None if step.parent is None else str(step.parent),
            type=step.type,
            name=step.name,
            input=step.input,
            output=step.output,
            provider="p" if step.model else "",
            model=step.model,
            tool_name=step.name if step.type == "tool" else "",
            call_id=step.call_id,
        )
        for number, step in enumerate(steps_of_run, 1)
    ]
    return RecordedRun(
        external_id="run", name="run", app="app", source=RunSource.IMPORT, format="test", steps=tuple(steps)
    )


def probe_answer(side: Side, *entries: Any) -> str:
    """The answer of a probe that uses the recorded answers of both runs."""
    runs = [run_of(BASE), run_of(CANDIDATE)]
    graphs = [graph_of(run) for run in runs]
    payloads = {**graphs[0][1], **graphs[1][1]}
    recordings: list[Recording] = [
        {
            node.signature: [RecordedAnswer(run=new_id(), step=node.no, output_ref=node.output_ref, status=node.status)]
            for node in graph.nodes
            if node.signature
        }
        for graph, _ in graphs
    ]
    graph = graphs[side == "candidate"][0]
    coupling = Coupling(recordings=recordings if side == "base" else recordings[::-1])
    examination = examine_router()
    monitor = ReplayMonitor(
        graph=graph,
        coupling=coupling,
        state=derivations(examination.comparison, examination.flow, examination.reasoning.atoms).state(side),
    )
    profile = apply_profile(OverrideProfile.model_validate({"overrides": list(entries)}), graph)
    environment = Memory(payloads=payloads, coupling=coupling)
    policy = Policy(allow=["model"], semantic_threshold=1.0)
    context = ReplayContext(graph=graph, profile=profile, policy=policy, environment=environment)
    for event in Replayer(context).run():
        monitor.observe(event, payloads.__getitem__)
    return monitor.result(payloads.__getitem__).answer


def test_router_probe_continues_as_the_other_run() -> None:
    """With the candidate's prompt, the router answers as in the candidate, and so the code does too."""
    edit = {"match": {"step": 2}, "prompt": {"system": "Sort the ticket. Screens are devices."}}
    with pytest.raises(OtherState):
        probe_answer("base", edit)
    with pytest.raises(OtherState):
        probe_answer("candidate", {"match": {"step": 2}, "prompt": {"system": "Sort the ticket. "}})
    assert probe_answer("candidate") == "Please send the device in to us."


def test_traced_values_are_replayed_in_new_states() -> None:
    state = Derivations(outputs=[ROUTER], products=[Product(due=(3, 3), is_traced=True)]).state("base")
    state.note(2, "s", StepAnswer(status="ok", ref="something new"))
    state.end()
    second_state = Derivations(outputs=[ROUTER], products=[Product(due=(3, 3), is_traced=True)]).state("base")
    second_state.note(2, "s", StepAnswer(status="ok", ref="t"))
    with pytest.raises(OtherState) as error:
        second_state.end()
    assert error.value.is_traced


@pytest.mark.parametrize(("ref", "is_known"), [("b", True), ("something new", False)])
def test_new_answer_read_by_code_is_unknown(ref: str, *, is_known: bool) -> None:
    """Both runs have the same answer, so neither shows what the code makes of another."""
    alike = Output(numbers=(2, 2), answers=("ok b", "ok b"), signatures=("s", "s"))
    state = Derivations(unused_outputs=[alike]).state("base")
    state.note(2, "s", StepAnswer(status="ok", ref=ref, is_new=True))
    if is_known:
        state.end()
        return
    with pytest.raises(UnknownState):
        state.end()


def test_equal_unused_answers_are_read_by_code() -> None:
    def run(rule: str, answer: str) -> list[Spec]:
        judge = model([system("Judge."), user("Is it fit?")], reply("GOOD"))
        return [agent(), judge, model([system(f"Write.{rule}"), user("Now write.")], reply(answer)), output(answer)]

    examination = examine_runs(run("", "A poem."), run(" Rhyme.", "A song."))
    unread = derivations(examination.comparison, examination.flow, examination.reasoning.atoms).unused_outputs
    assert [output_pair.numbers for output_pair in unread] == [(2, 2)]


def test_strays_include_the_recorded_outputs() -> None:
    router = replace(ROUTER, refs=("b", "t"))
    state = Derivations(outputs=[router], rounds=[router], products=[Product(due=(3, 3))]).state("base")
    texts: dict[str, JSONValue] = {name: {"message": {"content": name * 3}} for name in "bt"}
    state.note(2, "s", StepAnswer(status="ok", ref="", output={"message": {"content": "new"}}, is_new=True))
    with pytest.raises(UnknownState):
        state.arrive(3)
    assert state.strays(texts.__getitem__) == [Stray(step=2, text="new", base="bbb", candidate="ttt")]


def test_reused_outputs_do_not_stray() -> None:
    router = replace(ROUTER, refs=("b", "t"))
    state = Derivations(outputs=[router], rounds=[router], products=[Product(due=(3, 3))]).state("base")
    state.note(2, "s", StepAnswer(status="ok", ref="b"))
    assert state.strays(lambda ref: ref) == []


def test_loop_rounds_pair_by_number() -> None:
    """The base's first answer is the candidate's second one, and alignment pairs those."""
    runs = [
        [agent(), *(model([system(f"Judge.{rule}"), user(text)], reply(answer)) for text, answer in rounds)]
        for rule, rounds in (
            ("", (("A, B", "Second."), ("B, C", "First."))),
            (" Fast!", (("A, B", "First."), ("A, C", "Second."))),
        )
    ]
    ends = [model([system("Order."), user(name)], reply(f"We order from {name}.")) for name in ("Bader", "Conz")]
    examination = examine_runs([*runs[0], ends[0]], [*runs[1], ends[1]])
    rounds = derivations(examination.comparison, examination.flow, examination.reasoning.atoms).rounds
    assert [output_pair.numbers for output_pair in rounds] == [(2, 2), (3, 3), (4, 4)]


def test_code_decides_after_a_failed_call() -> None:
    """The error is passed on to nothing: the candidate's code ended the run."""

    def run(request: str, failed: bool) -> list[Spec]:
        reader = model([system("Read."), user(request)], reply(f"vendor V-4471 {request}"))
        if failed:
            result: JSONValue = {"error": "blocked"}
            vendor = tool("vendor", "", {"id": "V-4471"}, result, status="error")
            return [agent(), reader, vendor, output("Manual.")]
        vendor = tool("vendor", "", {"id": "V-4471"}, {"bank": "Graz-7781"})
        clerk = model([system("Book."), user("bank: Graz-7781")], reply("Booked."))
        return [agent(), reader, vendor, clerk, output("Booked.")]

    examination = examine_runs(run("A plain bill.", failed=False), run("A long bill.", failed=True))
    found = derivations(examination.comparison, examination.flow, examination.reasoning.atoms)
    assert Product(due=(4, 4)) in found.products


@pytest.mark.parametrize(("text", "is_passed_on"), [("Hut: Alp-7731, 6 beds", True), ("Hut: Alp-7731, room", False)])
def test_result_is_passed_on_if_its_difference_is(text: str, *, is_passed_on: bool) -> None:
    def run(beds: int, line: str, polite: str, answer: str) -> list[Spec]:
        hut = tool("huts", "", {"at": "north"}, {"hut": "Alp-7731", "beds": beds})
        judge = model([system(f"Judge.{polite}"), user("Is it fit?")], reply(f"{polite}GOOD"))
        return [agent(), hut, judge, model([system("Invite."), user(line)], reply(answer)), output(answer)]

    store = Store()
    sides = [
        side_of(specs, store)
        for specs in (run(6, text, "", "Come."), run(9, text.replace("6", "9").replace("room", "hall"), " So.", "Go."))
    ]
    examination = examine(sides[0], sides[1], store.load)
    found = derivations(
        examination.comparison,
        examination.flow,
        examination.reasoning.atoms,
        load=lambda ref: store.values.get(ref),
    )
    assert [entry.is_passed_on for entry in found.outputs if entry.type is StepType.TOOL] == [is_passed_on]


def test_value_too_short_for_a_link_is_not_traced_into_an_answer() -> None:
    """Code composes the answer of a draft and a result, of which a link shows the office only, not the days."""

    def run(rule: str, draft: str, days: int) -> list[Spec]:
        policy = tool("policy", "", {"at": "north"}, {"office": "Bern-7731", "days": days})
        writer = model([system(f"Write.{rule}"), user("Reply.")], reply(draft))
        answer = f"{draft} (Bern-7731, {days} days)"
        return [agent(), writer, policy, replace(output(answer), input={"text": answer})]

    store = Store()
    base = side_of(run("", "Sorry, we promise to send the kettle again.", 30), store)
    candidate = side_of(run(" Be brief.", "Sorry, we cannot help you with that.", 20), store)
    examination = examine(base, candidate, store.load)
    found = derivations(
        examination.comparison,
        examination.flow,
        examination.reasoning.atoms,
        load=lambda ref: store.values.get(ref),
    )
    assert [entry.is_passed_on for entry in found.outputs if entry.type is StepType.TOOL] == [False]
    assert found.products == [Product(due=(4, 4), is_traced=False)]


@pytest.mark.parametrize(("refusal", "is_chosen"), [("Our policies do not say.", False), ("Ask a colleague.", True)])
def test_answer_that_code_chooses_is_assumed(refusal: str, *, is_chosen: bool) -> None:
    """Both runs end with the clerk's answer, or one with a text of the code's own."""

    def run(rule: str, answer: str, end: str) -> list[Spec]:
        clerk = model([system(f"Answer.{rule}"), user("When can I return a lamp?")], reply(answer))
        return [agent(), clerk, replace(output(end), input={"text": end})]

    answers = "You may return it within thirty days.", "Our policies do not say."
    store = Store()
    base = side_of(run("", answers[0], answers[0]), store)
    candidate = side_of(run(" Be strict.", answers[1], refusal), store)
    examination = examine(base, candidate, store.load)
    found = derivations(
        examination.comparison, examination.flow, examination.reasoning.atoms, load=lambda ref: store.values.get(ref)
    )
    assert [(product.is_traced, product.is_assumed) for product in found.products] == [(False, True)] * is_chosen


def test_repeated_calls_are_compared_by_their_last_answer() -> None:
    """The candidate's first code fails, so that code asks again; both runs end with the same code."""

    def run(rule: str, *codes: str, result: str) -> list[Spec]:
        calls = [
            model([system(f"Write code.{rule}"), user(f"attempt {at}")], reply(code)) for at, code in enumerate(codes)
        ]
        coder = [replace(call, name="coder") for call in calls]
        reader = replace(model([system("Tell."), user(f"Result: {result}")], reply(result)), name="reader")
        return [agent(), *coder, reader, output(result)]

    examination = examine_runs(run("", "a * b", result="12 m"), run(" Be brief.", "a * unit", "a * b", result="34 m"))
    found = derivations(examination.comparison, examination.flow, examination.reasoning.atoms)
    [coder] = [entry for entry in found.rounds if entry.numbers == (2, 2)]
    assert coder.final_refs[0] == coder.final_refs[1] != ""
    [reader] = [entry for entry in found.rounds if entry.numbers != (2, 2)]
    assert reader.final_refs == ("", "")


@pytest.mark.parametrize(("grades", "is_traced"), [(("graded", "graded"), True), (("grade B", "grade A"), False)])
def test_value_is_no_trace_of_words_that_code_adds(grades: tuple[str, str], *, is_traced: bool) -> None:
    """The final answer contains a value of the essay's mark. The grade beside it is what code made of the mark."""

    def run(rule: str, points: int, grade: str) -> list[Spec]:
        marker = model([system(f"Mark.{rule}"), user("Essay ES-40731")], reply(f"Essay ES-40731 gets {points} points"))
        answer = f"ES-40731: {points} points, {grade}"
        return [agent(), marker, replace(output(answer), input={"text": answer})]

    store = Store()
    sides = [side_of(run(*row), store) for row in (("", 18, grades[0]), (" Be kind.", 27, grades[1]))]
    examination = examine(sides[0], sides[1], store.load)
    found = derivations(
        examination.comparison, examination.flow, examination.reasoning.atoms, load=lambda ref: store.values.get(ref)
    )
    assert [product.is_traced for product in found.products] == [is_traced]
