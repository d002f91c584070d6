"""Estimate the work and cost of a proof without any live call."""

from collections.abc import Sequence

from diffing.models import DiffReport
from diffing.schemas.evidence import ProbeOutcome
from diffing.sentences import proofs as proof_sentences
from diffing.sentences.findings import PlanWarning, WarningKind
from replay.core.plan import UninterceptedTool
from replay.models import Proof
from replay.proofs import driver
from replay.proofs.core.schemas import AtomPlan, ProofPlan, ProofRefusal, ProofRequest
from replay.proofs.core.types import Atom, ProbeResult, ProbeSpec
from replay.proofs.ladder import footprints, relays
from replay.proofs.ladder.ladder import Ladder
from replay.proofs.ladder.statistics import FIRST
from replay.proofs.probes.probe_runner import ProbeRunner
from replay.proofs.subject.subject import models_without_provider
from replay.runners import agent_plans, consents

# Changes whose probes are tried for the plan; for further ones the worst case is assumed.
_TRIAL_LIMIT = 12


def plan(proof: Proof, request: ProofRequest) -> ProofPlan:
    """Try in memory which probes the recordings can answer; price the others as full replays."""
    ladder = driver.ladder_of(proof, is_draft=True)
    case, prober = ladder.case, ladder.prober
    # The driver builds ladders on probe runners.
    assert isinstance(prober, ProbeRunner)
    atoms = ladder.space.atoms[:_TRIAL_LIMIT] if case.differs else ()
    trials = [(atom, _try_both_ways(ladder, prober, atom)) for atom in atoms]
    results = [result for _, pair in trials for result in pair]
    needs_live = _is_unsettled if case.runs_agent else _needs_live
    live_replays = sum(map(needs_live, results))
    live_replays += 2 * max(0, len(ladder.space.atoms) - _TRIAL_LIMIT) if case.differs else 0
    repeats = ladder.most_repeats(may_call=live_replays > 0)
    replays = live_replays + repeats + (_message_probes(ladder) if atoms else 0)
    probes = driver.expected(ladder) if case.differs else 0
    # A probe that needs a live call is tried without one first.
    starts = probes + live_replays + repeats + _controls(ladder) if case.runs_agent else 0
    tools = unintercepted_tools(proof.diff) if case.runs_agent else []
    return ProofPlan(
        question=case.question.kind,
        differs=case.differs,
        base_outcome=case.names["base"],
        candidate_outcome=case.names["candidate"],
        atoms=[
            *(_atom(atom, live_calls=sum(map(needs_live, pair)) * case.live_calls) for atom, pair in trials),
            *_remaining_atoms(ladder, len(trials)),
        ],
        sampled=case.is_sampled,
        probes=probes,
        repeats=repeats,
        agent_starts=starts,
        live_calls=replays * case.live_calls,
        cost_usd=None if case.live_cost_usd is None and replays else round(replays * (case.live_cost_usd or 0.0), 6),
        missing=[] if case.runs_agent else _missing(prober, results, repeats=bool(repeats)),
        refusals=[],
        unintercepted_tools=tools,
        warnings=[*_warnings(ladder, request, live_replays), *(_agent_warnings() if case.runs_agent else [])],
    )


def refusal_plan(
    request: ProofRequest, refusals: Sequence[ProofRefusal], tools: Sequence[UninterceptedTool]
) -> ProofPlan:
    """The plan of a proof that is refused before its runs are examined."""
    return ProofPlan(
        question=request.question,
        differs=False,
        base_outcome="",
        candidate_outcome="",
        atoms=[],
        sampled=False,
        probes=0,
        repeats=0,
        agent_starts=0,
        live_calls=0,
        cost_usd=0.0,
        missing=[],
        unintercepted_tools=list(tools),
        refusals=list(refusals),
        warnings=[],
    )


def _missing(prober: ProbeRunner, results: Sequence[ProbeResult], *, repeats: bool) -> list[str]:
    """What no budget can provide."""
    models = models_without_provider(prober.subject) if repeats else []
    texts = [proof_sentences.no_provider(model) for model in models]
    return list(dict.fromkeys([*texts, *(result.missing for result in results if result.missing)]))


def _try_both_ways(ladder: Ladder, prober: ProbeRunner, atom: Atom) -> tuple[ProbeResult, ProbeResult]:
    space, alone = ladder.space, frozenset({atom.id})
    return (
        prober.dry_run(ProbeSpec(atoms=space.with_required(alone), side="base")),
        prober.dry_run(ProbeSpec(atoms=space.all - space.with_dependents(alone), side="candidate")),
    )


def _message_probes(ladder: Ladder) -> int:
    """The most replays that hold messages composed by code to a recording; the results of other probes decide."""
    relay_atoms, divide = [atom for atom in ladder.case.atoms if atom.is_relay], ladder.prober.parts
    return footprints.most_probes(ladder.space, relay_atoms, divide) + relays.most_probes(relay_atoms, divide)


def _controls(ladder: Ladder) -> int:
    """The number of starts of the unchanged agent."""
    if not ladder.case.differs:
        return 0
    return 1 if ladder.case.one_space else 2


def unintercepted_tools(diff: DiffReport) -> list[UninterceptedTool]:
    """The tools that the agent of either run really runs in each of its starts."""
    runs = [run for run in (diff.base, diff.candidate) if run.sealed_at is not None]
    tools = [tool for run in runs for tool in consents.tools_of(run, is_open=True)]
    return [*{tool.name: tool for tool in tools}.values()]


def _agent_warnings() -> list[str]:
    """What holds of each start of the agent itself."""
    return [proof_sentences.plan_warning(PlanWarning(kind=WarningKind.AGENT_DECIDES)), *agent_plans.warnings()]


def _atom(atom: Atom, *, live_calls: int | None) -> AtomPlan:
    return AtomPlan(
        id=atom.id,
        category=atom.category,
        title=atom.title,
        testable=atom.testable,
        why_not=atom.why_not,
        certificate=atom.certificate.reason if atom.certificate is not None else "",
        live_calls=live_calls,
    )


def _needs_live(result: ProbeResult) -> bool:
    """True if the probe needs live calls, and all of them can be answered."""
    return result.outcome == ProbeOutcome.NEEDS_LIVE and not result.missing


def _is_unsettled(result: ProbeResult) -> bool:
    """True if the recordings do not show the outcome: a running agent may then make calls that no run recorded."""
    return not result.is_settled


def _remaining_atoms(ladder: Ladder, start: int) -> list[AtomPlan]:
    """Changes beyond the tried ones, and those that cannot be tested."""
    atoms = [*ladder.space.atoms[start:], *(atom for atom in ladder.case.atoms if not atom.testable)]
    return [_atom(atom, live_calls=None) for atom in atoms]


def _warnings(ladder: Ladder, request: ProofRequest, live_replays: int) -> list[str]:
    case, warnings = ladder.case, []
    if live_replays:
        warnings.append(PlanWarning(kind=WarningKind.LIVE_REPLAYS, count=live_replays))
    if not case.differs:
        warnings.append(PlanWarning(kind=WarningKind.SAME_OUTCOME))
    elif case.chance:
        warnings.append(PlanWarning(kind=WarningKind.CHANCE, reason=case.chance))
    elif case.is_sampled and request.budget.live_calls == 0:
        warnings.append(PlanWarning(kind=WarningKind.NO_LIVE_CALLS))
    if case.is_sampled and request.budget.repeats < FIRST:
        warnings.append(PlanWarning(kind=WarningKind.FEW_REPEATS, count=FIRST))
    return list(map(proof_sentences.plan_warning, warnings))
