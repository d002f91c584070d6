"""One example of every typed case that a report has a sentence for."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Literal, get_args
from uuid import UUID

from diffing.compare.comparison import Pair, pair_of
from diffing.compare.run_side import SideStep
from diffing.content.facet import WINDOW, Facet
from diffing.content.message_diff import MessagePair
from diffing.schemas.evidence import CertificateKind as ProofCertificate
from diffing.schemas.evidence import GateStatus, NoiseGate
from diffing.sentences import attribution, changes, consequences, notes, proofs
from diffing.sentences.findings import (
    AssumptionKind,
    ChanceKind,
    CoarserQuestion,
    Conclusion,
    ConclusionKind,
    GateReason,
    PlanWarning,
    Rule,
    RuleKind,
    TrialKind,
    WarningKind,
)
from diffing.sentences.verdicts import (
    Answer,
    AnswerChange,
    Call,
    CallChange,
    CertificateKind,
    Changes,
    ConfigurationDiffers,
    Consequence,
    Divergence,
    Doubt,
    DoubtKind,
    Evidence,
    Exclusion,
    Experiment,
    ExperimentKind,
    JointChange,
    ManualAnswer,
    NoDifference,
    NoEffect,
    NoExplanation,
    NothingInCommon,
    OpenVerdict,
    Reason,
    ReasonKind,
    Resampling,
    Result,
    ResultChange,
    SingleCause,
    Support,
    SupportKind,
    Trials,
    Verdict,
)
from traces.core.json_access import as_list
from traces.core.json_types import JSONObject, JSONValue
from traces.core.vocabulary import Label, StepStatus, StepType
from traces.core.vocabulary import Reason as StepReason

PROMPT = "Adding “Amounts are in cents.” to the system prompt"
MODEL = "Switching the model from m1 to m2"
STEP = "step 3 (model chat)"
ANSWERS = [
    Answer(
        kind=kind,
        base="Refund rejected.",
        candidate="Refund accepted.",
        tool="issue_refund",
        reason=StepReason.SIDE_EFFECT_BLOCKED,
    )
    for kind in AnswerChange
]
EDIT_ANSWER = Answer(kind=AnswerChange.EDIT, base="rejected", candidate="accepted")
NO_RECORDED_ANSWER = Answer(kind=AnswerChange.NOT_RUN, tool="get_order", reason=StepReason.POLICY_FALLBACK)
CALLS = [Call(kind=kind, tool="issue_refund", argument="amount", base="4200", candidate="42") for kind in CallChange]
RESULTS = [
    Result(kind=kind, tool="issue_refund", field="status", base="rejected", candidate="accepted")
    for kind in ResultChange
]


def verdicts() -> Iterator[Verdict]:
    """Every verdict with every figure that changes its sentence."""
    two, many = Changes(titles=(PROMPT, MODEL)), Changes(titles=(PROMPT, MODEL, MODEL), more=2)
    story = Consequence(call=CALLS[2], result=RESULTS[0], answer=EDIT_ANSWER)
    yield from (NoDifference(), NoDifference(settings="graph_hash g1 → g2"), NoEffect(steps=1), NoEffect(steps=2))
    yield from (NoEffect(steps=steps, change=PROMPT, more=more) for steps, more in ((2, 0), (2, 1), (1, 2)))
    doubts = (Doubt(kind=DoubtKind.UNREAD, step=STEP, more=2),)
    yield from (NothingInCommon(), NoExplanation(), NoExplanation(unread=doubts[0]), OpenVerdict(changes=many))
    yield from (OpenVerdict(changes=two, doubts=some) for some in ((), doubts))
    yield from (Resampling(step=3, consequence=story, has_earlier=has_earlier) for has_earlier in (False, True))
    for divergence in Divergence:
        yield Trials(
            task="7",
            counter="trial_id",
            base=0,
            candidate=2,
            step=3,
            divergence=divergence,
            answer=EDIT_ANSWER,
            step_type="tool",
        )
    yield JointChange(count=2, changes=two, answer=EDIT_ANSWER)
    yield JointChange(count=5, changes=many, answer=EDIT_ANSWER, has_resampling=True)
    yield ManualAnswer(step=STEP, answer=EDIT_ANSWER)
    yield ConfigurationDiffers(settings="version 1 → 2", change=PROMPT, answer=EDIT_ANSWER)
    for is_suspicion in (False, True):
        yield SingleCause(change=PROMPT, consequence=story, is_suspicion=is_suspicion)
    yield SingleCause(change=PROMPT, consequence=story, is_suspicion=True, has_data_flow=False)
    yield SingleCause(change=PROMPT, consequence=story, is_suspicion=True, open_changes=Changes(titles=(MODEL,)))
    for call in CALLS:
        yield SingleCause(change=PROMPT, consequence=Consequence(call=call, answer=EDIT_ANSWER), is_suspicion=False)
    for result in RESULTS:
        yield SingleCause(change=PROMPT, consequence=Consequence(result=result, answer=EDIT_ANSWER), is_suspicion=False)
    for answer in ANSWERS:
        for first in (None, CALLS[0]):
            yield SingleCause(change=PROMPT, consequence=Consequence(answer=answer, call=first), is_suspicion=False)


def evidence() -> Iterator[Evidence]:
    """Every line of what a verdict rests on."""
    yield from (Reason(kind=kind, step=STEP) for kind in ReasonKind)
    yield from (Support(kind=kind, step=STEP, task="7") for kind in SupportKind)
    yield from (Exclusion(change=MODEL, certificate=kind) for kind in CertificateKind)
    yield from (Doubt(kind=kind, step=STEP, settings="version 1 → 2") for kind in DoubtKind)
    yield from (Doubt(kind=DoubtKind.UNREAD, step=STEP, more=more) for more in (1, 2))


def attribution_lines() -> Iterator[str]:
    yield from map(attribution.sentence, verdicts())
    yield from map(consequences.statement, [*ANSWERS, replace(EDIT_ANSWER, base=""), NO_RECORDED_ANSWER])
    yield from map(attribution.evidence, evidence())
    reason = Reason(kind=ReasonKind.PROMPT)
    yield from (attribution.description(STEP, more, reason) for more in (0, 1, 2))
    yield from (attribution.experiment(Experiment(kind=kind, step=3)) for kind in ExperimentKind)
    yield from (
        attribution.experiment(Experiment(kind=ExperimentKind.BOTH_WAYS, step=3, change=PROMPT, calls=calls))
        for calls in (1, 2)
    )


def step(
    type: StepType = StepType.TOOL,
    name: str = "get_order",
    *,
    summary: str = "",
    reason: str = "",
    status: StepStatus = StepStatus.OK,
) -> SideStep:
    return SideStep(
        id=UUID(int=1),
        sequence_no=4,
        parent_no=1,
        type=type,
        name=name,
        status=status,
        label=Label.LIVE,
        reason=reason,
        signature="",
        input_ref="",
        output_ref="",
        summary=summary,
        error="",
        provider="",
        model="",
        tool_name="",
        call_id="",
        tokens_in=None,
        tokens_out=None,
        cost_usd=None,
        duration_ms=None,
        origin=UUID(int=1),
    )


def pair(base: SideStep | None, candidate: SideStep | None) -> Pair:
    return pair_of(
        place=0, base=base, candidate=candidate, found_by="lineage", confidence=1.0, is_move=False, changes=("output",)
    )


TOOL_PAIR = pair(step(), step())
LONG = "Please answer every customer in one short and friendly sentence that they understand. " * 2


def facet(
    kind: str, base: JSONValue, candidate: JSONValue, *messages: MessagePair, at: Pair = TOOL_PAIR, **more: str
) -> Facet:
    form = "messages" if messages else "text" if isinstance(base, str) else more.get("form", "values")
    return Facet(
        pair=at,
        section="tool",
        kind=kind,
        part="output" if kind == "result" else "input",
        category="tool",
        form=form,  # type: ignore[arg-type]  # one of its forms
        base=base,
        candidate=candidate,
        messages=messages,
    )


def message(op: str, role: str = "user") -> MessagePair:
    base, candidate = ("" if op == "added" else "Refund it."), ("" if op == "removed" else "Cancel it.")
    index = (None if op == "added" else 1), (None if op == "removed" else 1)
    return MessagePair(
        role=role, base_index=index[0], candidate_index=index[1], base=base, candidate=candidate, key=(base, candidate)
    )


def facets() -> Iterator[Facet]:
    """Every kind of difference, in every way that it is worded."""
    texts = [
        ("", "Be kind."),
        ("", ""),
        ("Be kind.", ""),
        ("Be kind.", "Be kind. Be brief."),
        ("Be kind. Be brief.", "Be kind."),
        ("Be kind.", "Be brief."),
        ("Be kind.", "Be kind. "),
        (LONG, "Route the call. " * 12),
    ]
    for base, candidate in texts:
        yield facet("system prompt", base, candidate)
    for kind in ("template", "rendered prompt", "query", "result"):
        yield facet(kind, "Be kind.", "Be brief.")
    for op in ("added", "removed", "changed"):
        for role in ("user", "assistant"):
            yield facet("message list", None, None, message(op, role))
    yield facet("message list", None, None)
    yield facet(WINDOW, None, None, message("removed"))
    yield facet(WINDOW, None, None, message("added"), message("added"))
    schemas: list[tuple[JSONValue, JSONValue]] = [({}, {"pay": 1}), ({"pay": 1}, {}), ({"pay": 1}, {"pay": 2})]
    schemas += [({"pay": 1}, {"refund": 1}), ({"pay": 1, "find": 1}, {"pay": 2, "refund": 1, "book": 1})]
    for old, new in schemas:
        yield facet("tool schemas", old, new)
    yield facet("model", {"model": "m1"}, {"model": "m2"})
    for kind in ("parameters", "template version and variables", "settings"):
        yield facet(kind, {"top_k": 1}, {"top_k": 2})
    yield facet("parameters", {}, {"seed": 2})
    yield facet("parameters", {"seed": 1, "top_k": 1}, {"top_k": 2})
    yield facet("parameters", dict.fromkeys("abcd", 1), {"a": 2, "b": 2, "e": 1})
    yield facet("parameters", dict.fromkeys("abcdefghijklm", 1), {})
    yield from documents()
    yield from results()


def documents() -> Iterator[Facet]:
    """Every way in which the documents of a retrieval differ."""
    a, b, c = (document(name, f"{name} applies.") for name in "abc")
    other_score: JSONObject = {**a, "score": 0.5}
    lists: list[tuple[list[JSONValue], list[JSONValue]]] = [
        ([a], [other_score]),
        ([a], [{**a, "metadata": {"year": 2}}]),
        ([a], [b]),
        ([a], [a, b]),
        ([a, b], [a]),
        ([a], [a, b, c]),
        ([a, b, c], [a]),
        ([a], [b, c]),
        ([a, b], [b, a]),
        ([a, b], [document("a", "A held."), c]),
    ]
    for base, candidate in lists:
        yield facet("documents", base, candidate, form="ranks")


def document(name: str, content: str) -> JSONObject:
    return {"id": name, "title": name.upper(), "content": content}


def results() -> Iterator[Facet]:
    """Every way in which the answers of a step differ."""
    yield facet("result", {"a": 1}, {"a": 2})
    yield facet("result", 1, 2)
    yield facet("result", {}, {"a": 2})
    yield facet("result", {"a": 1}, {})
    yield facet("arguments", {"a": 1, "b": None}, {"a": 1})
    yield facet("input", ["a", "b"], ["b", "a"])
    yield facet("result", dict.fromkeys("abc", 1), dict.fromkeys("abcd", 2))
    yield facet("result", dict.fromkeys("abcdefghijklm", 1), {})
    for status in (StepStatus.ERROR, StepStatus.TIMEOUT, StepStatus.DENIED):
        yield facet("result", {"a": 1}, None, at=pair(step(), step(status=status)))
        yield facet("result", None, {"a": 1}, at=pair(step(status=status), step()))
    idle_step = step(reason=StepReason.SIDE_EFFECT_BLOCKED)
    yield facet("result", {"a": 1}, {"a": 2}, at=pair(step(), idle_step))
    yield facet("result", {"a": 1}, {"a": 2}, at=pair(idle_step, step()))


def calls() -> Iterator[Facet]:
    """Every way in which the calls that a model requests differ."""
    pay: JSONValue = [{"name": "pay", "arguments": {"amount": 1, "note": "x"}}]
    same_call: JSONValue = [{"name": "pay", "arguments": {"amount": 2, "to": "me"}}]
    other_call: JSONValue = [{"name": "refund", "arguments": {}}]
    both: list[JSONValue] = [*as_list(other_call), *as_list(pay)]
    of_other_type: JSONValue = [*as_list(other_call), {"name": "pay", "arguments": {"amount": "1", "note": "x"}}]
    several = ((both, both[::-1]), (both, of_other_type))
    for base, candidate in ((pay, same_call), (pay, other_call), ([], pay), (pay, []), *several):
        yield facet("tool calls", base, candidate)


def change_lines() -> Iterator[str]:
    for item in facets():
        yield changes.facet_phrase(item)
        yield notes.plain_text(notes.facet_note(item))
    yield from map(notes.plain_text, map(notes.facet_note, calls()))
    yield changes.resampling_phrase(TOOL_PAIR)
    steps = [
        step(summary="It was sent."),
        step(StepType.MODEL, "chat", summary="It was sent."),
        step(StepType.MODEL, "chat"),
    ]
    for alone in steps:
        for single in (pair(alone, None), pair(None, alone)):
            yield changes.unpaired_phrase(single)
            yield changes.turn_phrase(single, "And Emma?")
            yield notes.plain_text(notes.unpaired_note(single))
    yield from changes.METHODS.values()
    cause, *effects = map(notes.plain_note, ("amount 1 → 2", "", "requests pay", "“a” → “b”"))
    yield from (notes.plain_text(notes.join_effect(cause, effect)) for effect in effects)


GATE = NoiseGate(
    status=GateStatus.NOT_RULED_OUT,
    reason="",
    base_flips=1,
    base_n=4,
    base_interval=None,
    candidate_flips=2,
    candidate_n=4,
    candidate_interval=None,
    p=0.5,
)
MISSING = "step 3 would need a live call"


def conclusions() -> Iterator[Conclusion]:
    """Every conclusion with every figure that changes its sentence."""
    several_causes = {
        ConclusionKind.JOINT,
        ConclusionKind.ALL_NECESSARY,
        ConclusionKind.NOT_ALONE,
        ConclusionKind.ONE_OF_THESE,
    }
    for kind in ConclusionKind:
        sets = ((PROMPT, MODEL),) if kind in several_causes else ((PROMPT,), (MODEL,))
        yield Conclusion(kind=kind, gate=GATE, sets=sets, reason=MISSING)
    for kind in (ConclusionKind.ALL_NECESSARY, ConclusionKind.NOT_ALONE):
        yield Conclusion(kind=kind, gate=GATE, sets=((PROMPT,),))
    yield Conclusion(kind=ConclusionKind.BOTH_WAYS, gate=GATE, sets=((PROMPT,),), chance_open=True)
    yield Conclusion(kind=ConclusionKind.JOINT, gate=GATE, sets=((PROMPT, MODEL),), chance_open=True)
    for kind in (ConclusionKind.SEVERAL_CAUSES, ConclusionKind.NOT_REPLAYABLE):
        yield Conclusion(kind=kind, gate=GATE, sets=((PROMPT,), (MODEL,)), more=2)
    yield Conclusion(kind=ConclusionKind.INSEPARABLE, gate=GATE)
    yield Conclusion(kind=ConclusionKind.WITHIN_CHANCE, gate=GATE.model_copy(update={"p": None}))
    for more in (0, 2):
        models = ("m2 in place of m1", "m4 in place of m3")
        yield Conclusion(kind=ConclusionKind.SUFFICIENT, gate=GATE, sets=((PROMPT,),), models=models, more_models=more)


def proof_lines() -> Iterator[str]:
    yield from map(proofs.conclusion, conclusions())
    yield from (proofs.rule(Rule(kind=kind, p=0.0286, alpha=0.05, reason=MISSING)) for kind in RuleKind)
    yield from (proofs.gate_reason(kind, problem=proofs.REPEAT_FAILED, first=4, most=3) for kind in GateReason)
    yield from map(proofs.certificate, get_args(ProofCertificate))
    yield from (proofs.chance(kind, task="7", step=3) for kind in ChanceKind)
    yield from map(proofs.assumption, AssumptionKind)
    cases: tuple[tuple[Literal["base", "candidate"], str, bool], ...] = (
        ("base", "answer", False),
        ("base", "answer", True),
        ("candidate", "answer", False),
        ("base", "tool_calls", False),
    )
    for side, kind, stray in cases:
        yield proofs.assumption(
            CoarserQuestion(
                side=side,
                exact="the final answer" if kind == "answer" else "which tools are called",
                exact_kind=kind,
                coarse="the facts in the answer",
                coarse_kind="answer_facts",
                differs_on_the_way=stray,
            )
        )
    for titles in ((PROMPT,), (PROMPT, MODEL)):
        yield from (proofs.experiment(kind, repeats=5, titles=titles) for kind in TrialKind)
    for count in (1, 3):
        yield from (proofs.plan_warning(PlanWarning(kind=kind, count=count, reason=MISSING)) for kind in WarningKind)
    yield proofs.no_provider("m1")
    yield from map(proofs.stage_activity, ("controls", "noise", "search", "shares", "parts", "mediators"))
    yield proofs.outcome_counts({"base": 3, "candidate": 1, "other": 1, "needs_live": 1, "failed": 1})
