"""One example of every typed case of a report's brief, sections, evidence and labels."""

from collections.abc import Iterator
from itertools import product
from typing import get_args
from uuid import UUID

from diffing.render import glossary
from diffing.schemas.evidence import CertificateKind, EvidenceVerdict, GateStatus, Interval, Mediator, NoiseGate
from diffing.schemas.report import Attribution, ToolAccuracy
from diffing.schemas.sections import Relation
from diffing.schemas.terms import Confidence, StepRef
from diffing.sentences import briefs, evidence_lines, labels, summaries
from diffing.sentences.briefs import (
    BriefRun,
    Certainty,
    ChanceOdds,
    IdleStep,
    LaneVerdict,
    NextKind,
    Observation,
    Proof,
    RunEnd,
    RunRelation,
    RunState,
    StepCounts,
    UntestedStep,
)
from diffing.sentences.changes import METHODS
from diffing.sentences.evidence_lines import Directions, ReplayCounts
from diffing.sentences.summaries import Recordable, RunTotals, SectionState, UnpairedCounts
from diffing.sentences.verdicts import Changes, RunSide
from traces.core.vocabulary import Label, StepStatus, StepType

PROMPT = "Adding “Amounts are in cents.” to the system prompt"
MODEL = "Switching the model from m1 to m2"
SIDES: tuple[RunSide, RunSide] = ("base", "candidate")
RATE = "5 of 6 unchanged repeats of the base and 6 of 6 of the candidate came out as recorded"


def run(app: str = "desk", *, state: RunState = RunState.COMPLETED, fork_step: int = 0) -> BriefRun:
    return BriefRun(app=app, is_replay=bool(fork_step), end=RunEnd(state=state), fork_step=fork_step)


def brief_lines() -> Iterator[str]:
    yield from compared_lines()
    yield briefs.NO_CHANGE
    yield briefs.ONLY_CONFIGURATION
    counts = StepCounts(pairs=6, differing=5)
    yield briefs.changed(Changes(titles=(PROMPT, MODEL), more=2), counts, ("No.", "Yes"))
    yield briefs.changed(Changes(titles=()), StepCounts(pairs=1, differing=1), None)
    moves = StepCounts(pairs=6, differing=2, moves=1, base_only=1, candidate_only=2)
    yield briefs.changed(Changes(titles=(PROMPT,)), moves, None)
    yield from Certainty
    yield from map(briefs.proof, Proof)
    yield from map(briefs.observation, Observation)
    yield from (briefs.RECORDED_ONLY, briefs.NO_REPLAY_NEEDED, briefs.LANE_DIFFERS)
    yield from (briefs.chance(RATE, 0.002, odds) for odds in (None, *ChanceOdds))
    yield briefs.replays_used("4 replays (0 live), 9 steps re-executed")
    yield briefs.open_proof("The budget ran out.")
    yield briefs.separate_recordings(is_first=False, earlier_step=2)
    yield from (briefs.separate_recordings(is_first=is_first, earlier_step=0) for is_first in (True, False))
    yield from map(briefs.other_changes, (1, 3))
    steps = [IdleStep(number=5, name="tool pay", reason=reason) for reason in briefs.IDLE_REASONS]
    yield from (briefs.idle_steps(steps, more) for more in (0, 2))
    yield from (
        briefs.unrecorded_settings(prompts=prompts, models=models)
        for prompts, models in ((True, True), (True, False), (False, True), (False, False))
    )
    yield from map(briefs.next_step, NextKind)
    yield from (
        briefs.next_experiment("Repeat both.", can_prove=can_prove, repeats=repeats)
        for can_prove, repeats in ((False, False), (True, False), (True, True))
    )
    yield briefs.ALSO_UNCHANGED
    for verdict in LaneVerdict:
        yield from (briefs.lane(verdict, count, total) for count, total in ((1, 1), (2, 5)))
    yield from map(briefs.not_run, SIDES)


def compared_lines() -> Iterator[str]:
    """Every relation and every end of two runs."""
    for relation in RunRelation:
        yield briefs.compared_runs(relation, run(), run(fork_step=3))
    yield briefs.compared_runs(RunRelation.SAME_RUN, run(""), run(""))
    yield briefs.compared_runs(RunRelation.RECORDINGS, run("desk"), run("shop"))
    for state in RunState:
        yield briefs.compared_runs(RunRelation.REPLAY, run(state=state), run(state=state))
    for success in (True, False):
        end = RunEnd(state=RunState.COMPLETED, success=success, points="reward 1")
        run_with_verdict = BriefRun(app="desk", is_replay=False, end=end)
        yield briefs.compared_runs(RunRelation.RECORDINGS, run_with_verdict, run_with_verdict)
    yield from (briefs.untested_step(UntestedStep(number=8, name="validator limits", side=side)) for side in SIDES)


def section_lines() -> Iterator[str]:
    unpaired_counts = UnpairedCounts(noun="call", candidate_only=1, base_only=2, moves=1)
    none = UnpairedCounts(noun="call")
    yield from map(summaries.section_state, SectionState)
    yield from (
        summaries.prompt_changes(PROMPT, more, is_text=is_text) for more, is_text in product((0, 1, 2), (True, False))
    )
    documents = {"added": 1, "removed": 1, "moved": 2, "reworded": 1, "rescored": 3}
    yield from (summaries.document_changes(1, documents), summaries.document_changes(2, {"added": 1}))
    yield summaries.document_changes(1, {})
    yield summaries.same_documents("Changing search's top_k from 1 to 2")
    yield summaries.unpaired_steps(unpaired_counts)
    yield from (
        summaries.tool_changes({"arguments": 1, "result": 2, "status": 1}, unpaired_counts),
        summaries.tool_changes({}, none),
    )
    yield from (
        summaries.model_changes([MODEL], 1, 3, none),
        summaries.model_changes([], 2, 3, unpaired_counts),
        summaries.model_changes([MODEL], 0, 1, none),
        summaries.model_changes([MODEL], 0, 0, unpaired_counts),
    )
    yield from (summaries.answer_similarity("similar", 0.71, method) for method in METHODS)
    yield from map(summaries.only_answer, SIDES)
    yield from map(summaries.run_totals, totals())
    yield summaries.group_title("totals", ["steps 3 → 4", "errors 1 → 0"])
    yield summaries.item_title("step 3 (model chat)", "“No.” → “Yes.”")
    relations: tuple[Relation, ...] = ("added", "removed", "moved")
    for relation in relations:
        yield from (summaries.unpaired_title("step 3 (tool pay)", relation, text) for text in ("", "pay(1)"))
    gaps = [summaries.more_steps(12, 160), summaries.more_differences(12, 300)]
    gaps += [summaries.unrecorded_content(content, "model", count) for content in Recordable for count in (1, 2)]
    gaps += [summaries.unknown_total("cost", SIDES[:1]), summaries.unknown_total("tokens", SIDES)]
    yield from (f"{gap.content}: {gap.reason}" for gap in gaps)
    yield summaries.NO_SYSTEM_PROMPT
    yield from (
        summaries.missing_payload("input", {"base": "a1"}),
        summaries.missing_payload("output", {"base": "b2", "candidate": "a1"}),
        summaries.lost_part("input", "a1"),
    )


def totals() -> Iterator[RunTotals]:
    """Every figure that changes the summary of the runs."""
    for base_status, steps in (("completed", 0), ("failed", 1), ("completed", -2)):
        yield RunTotals(base_status=base_status, candidate_status="completed", steps=steps, tokens=120)
    yield RunTotals(base_status="completed", candidate_status="completed", steps=0, tokens=None)
    for side in SIDES:
        yield RunTotals(
            base_status="completed",
            candidate_status="completed",
            steps=0,
            tokens=0,
            base_errors=1,
            untested_step=(5, side),
        )


def evidence_view_lines() -> Iterator[str]:
    yield from evidence_lines.VERDICTS.values()
    yield from evidence_lines.OUTCOMES.values()
    yield from (
        evidence_lines.confirmation(directions, recorded_only=recorded_only)
        for directions, recorded_only in product(Directions, (True, False))
    )
    for cost in (None, 0.125):
        yield evidence_lines.replay_counts(
            ReplayCounts(replays=4, live_replays=2, steps=9, live_calls=6, cost=cost, skipped_replays=1)
        )
    yield evidence_lines.replay_counts(ReplayCounts(replays=1, live_replays=0, steps=1))
    yield evidence_lines.comparison_line("1 replay (0 live), 1 step re-executed", "the final answer")
    yield from (evidence_lines.exclusion(MODEL, "the reason", kind) for kind in get_args(CertificateKind))
    yield from (
        evidence_lines.title(has_proof=has_proof, replays=replays, agent_ran=agent_ran)
        for has_proof, replays in ((True, 4), (False, 4), (False, 0))
        for agent_ran in (False, True)
    )
    yield evidence_lines.heading(EvidenceVerdict.SINGLE, is_limited=True)
    yield from map(evidence_lines.confidence_label, get_args(Confidence))
    yield evidence_lines.repeat_scope(6)
    yield from map(evidence_lines.answer, (None, True, False))
    yield from (evidence_lines.share(0.5, is_sampled=is_sampled) for is_sampled in (True, False))
    yield from (evidence_lines.interaction(PROMPT, MODEL, value) for value in (1.0, -0.5))
    yield evidence_lines.control_replay("base")
    for repeats in (1, 6):
        yield evidence_lines.repeat_replay("base", repeats)
        yield evidence_lines.clamp_replay(5, repeats)
        yield from (evidence_lines.change_replay("base", titles, repeats) for titles in ([], [PROMPT, MODEL]))
    yield from (evidence_lines.probe_cost(1, 0, 0), evidence_lines.probe_cost(3, 2, 1))
    yield from map(evidence_lines.mediator, mediators())
    interval = Interval(low=0.0, high=0.4)
    for status, p, has_repeats in (
        (GateStatus.RULED_OUT, 0.002, True),
        (GateStatus.NOT_RULED_OUT, None, True),
        (GateStatus.NOT_RUN, None, False),
    ):
        gate = NoiseGate(
            status=status,
            reason="the reason",
            base_flips=1,
            base_n=6,
            base_interval=interval,
            candidate_flips=0,
            candidate_n=6,
            candidate_interval=None,
            p=p,
        )
        yield evidence_lines.chance_line(gate, has_repeats=has_repeats)


def mediators() -> Iterator[Mediator]:
    step = StepRef(
        id=UUID(int=1),
        sequence_no=5,
        type=StepType.TOOL,
        name="pay",
        summary="",
        status=StepStatus.OK,
        label=Label.LIVE,
        reason="",
    )
    yield Mediator(step=step, role="entry", evidence="tested", text="amount 4200 → 42")
    yield Mediator(step=step, role="between", evidence="inferred", text="")
    yield Mediator(step=step, role="commitment", evidence="inferred", text="")


def label_lines() -> Iterator[str]:
    yield from labels.LINK_KINDS.values()
    yield from labels.LINK_EVIDENCE.values()
    yield from labels.HEADINGS.values()
    yield from (labels.CONFIDENCE, labels.REASON, labels.FIGURES, labels.ALSO_UNCHANGED_STEP)
    yield from map(labels.verdict_title, attributions())
    yield from (labels.more_steps_differ(12), labels.more_lane_steps(12), labels.more_items(12))
    yield from (labels.DELTA_NOTE, labels.ARS, labels.ANSWERS, labels.TOOLS)
    yield labels.ars_note("good")
    yield from map(labels.answers_note, METHODS)
    yield labels.tools_note(ToolAccuracy(total_original=3, used_original=2, new=1, unused=1))
    yield labels.tools_note(ToolAccuracy(total_original=0, used_original=0, new=0, unused=0))
    yield labels.steps_note(12)
    yield from (f"{term}: {definition}" for term, definition in glossary.TERMS)


def attributions() -> Iterator[Attribution]:
    """Every verdict, and a cause of every confidence."""
    bare = Attribution(
        verdict="cause",
        sentence="",
        primary=None,
        supporting=[],
        path=[],
        confidence="high",
        evidence=[],
        alternatives=[],
        cheapest_experiment="",
    )
    for verdict in ("no_difference", "no_effect", "noise", "inconclusive"):
        yield bare.model_copy(update={"verdict": verdict})
    for confidence in ("high", "medium", "low"):
        yield bare.model_copy(update={"confidence": confidence})
