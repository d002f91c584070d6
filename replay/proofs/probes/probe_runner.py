"""The laboratory: probes of two recorded runs, in memory as long as the recordings have every answer.

What nobody recorded is never guessed. Where the request allows it, such a probe becomes a real replay session,
coupled by the same recordings; the proof then waits for it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Final
from uuid import UUID

from django.db import IntegrityError, transaction

from diffing.schemas.evidence import EvidenceQuestion
from replay.core.calls import Call
from replay.core.graph import Graph
from replay.core.vocabulary import COMPLETED, FINAL_STATUSES
from replay.engine.replayer import Replayer
from replay.execution import event_log
from replay.live.matching_process import first_error_isolated
from replay.models import Proof, ProofProbe, ReplaySession
from replay.overrides.policy import Budget as SessionBudget
from replay.overrides.policy import Policy
from replay.overrides.profile import OverrideProfile
from replay.proofs.core.types import Allowance, Ask, Atom, Atoms, Seen, Side, Spending, Stage, other
from replay.proofs.counterfactual import outcomes
from replay.proofs.counterfactual.copied_values import with_links
from replay.proofs.counterfactual.derivations import UNSETTLED, OtherState, State, UnknownState
from replay.proofs.counterfactual.outcomes import Result, Unknown
from replay.proofs.counterfactual.walk_monitor import Lost, Missed, Watch
from replay.proofs.probes import recorded_answers
from replay.proofs.probes.live_reach import Asking
from replay.proofs.probes.mediator_candidates import clamped, stages
from replay.proofs.probes.probe_rows import ProbeRows
from replay.proofs.probes.recorded_answers import Recordings, Signatures
from replay.proofs.probes.recorded_environment import RecordedEnvironment, Unanswered
from replay.proofs.probes.setup import Setup, clamp, coupled
from replay.proofs.probes.stored_probes import UNPAID, earlier_sample, key_of, least, loaded, shared
from replay.proofs.subject.subject import Subject, live_price
from replay.sessions import create, prepare
from replay.store.fork import build_fork
from replay.store.graph_loader import load_graph
from replay.store.payload_reader import Payloads
from traces.payloads.parts import MissingPart

MISSED: Final = "probe_missed"
_SPENT: Final = "budget_"
_AT_ONCE: Final = 8
_RECORDED: Final = Policy(allow=["model", "retrieval"], semantic_threshold=1.0, max_turns=1_000)


class Waits(Exception):
    """Probes are replay sessions that have not ended."""

    def __init__(self, *sessions: UUID) -> None:
        super().__init__(f"{len(sessions)} replay sessions have not ended")
        self.sessions = sessions


@dataclass
class ProbeRunner:
    """Probes of one proof. What was found is stored, and found again."""

    proof: Proof
    subject: Subject
    question: EvidenceQuestion
    policy: Policy
    asks: bool = True
    payloads: Payloads = field(default_factory=Payloads)

    def __post_init__(self) -> None:
        self.rows = ProbeRows(self.proof)
        self.expected: list[Ask] = []
        self._asking = Asking(self.subject, self.policy)
        self._graphs: dict[tuple[UUID, int], Graph] = {}
        self._turned: set[Ask] = set()  # probes that go on as the other run did
        self._world: list[str] = []  # what the latest walk asked of tools and retrievers
        # As replays do: what the app has accepted to leave out makes no call another one.
        self._ignoring = self.subject.seen.comparison.base.ignoring
        self._recordings = Recordings(alike=Signatures(self.subject.base.app, self._ignoring.version))
        self.arguments = outcomes.wants_arguments(self.question)
        sides: tuple[Side, Side] = ("base", "candidate")
        self.recorded = {side: self._recorded(side) for side in sides}
        self.values = {
            side: outcomes.value(self.question, result, first_error_isolated) for side, result in self.recorded.items()
        }

    # The lab of the ladder

    def probe(self, ask: Ask, allowance: Allowance) -> Seen:
        row = self.rows.find(ask)
        if row is not None and row.seen is not None and not (self.asks and self._may_try(row, allowance)):
            return Seen(**loaded(row.seen))
        if not self.asks:
            raise Waits
        if row is not None and row.session is not None and row.seen is None:
            self._turn_like(ask, row)
            return self._ended(row, ask)
        if ask.repeat:
            return self._repeated(ask, self.setup(ask), allowance)
        missed = self._replayed(ask)
        setup = self.setup(ask)
        if isinstance(missed, Seen):
            return self.rows.keep(ask, setup, missed)
        if not self._asking.is_answerable(missed, allowance):
            unpaid = self._asking.is_answerable(missed, Allowance(live_calls=None))
            missing = Seen(outcome="needs_live", missing=self._asking.why_not(missed, unpaid=unpaid))
            return self.rows.keep(ask, setup, missing, unpaid=unpaid)
        return self._begun(ask, setup, allowance)

    def tried(self, ask: Ask) -> Seen:
        """The probe as far as the recordings answer it; nothing is stored or asked.

        Nothing is `missing` where somebody could answer what they do not.
        """
        seen = self._replayed(ask)
        if isinstance(seen, Seen):
            return seen
        answerable = self._asking.is_answerable(seen, Allowance(live_calls=None))
        return Seen(outcome="needs_live", missing="" if answerable else self._asking.why_not(seen, unpaid=False))

    def parts(self, atom: Atom) -> Sequence[Atom]:
        return self.subject.changes.parts(atom)

    def stages(self, cause: Atoms) -> Sequence[Stage]:
        return stages(self.subject, cause)

    def expect(self, asks: Sequence[Ask]) -> None:
        self.expected = list(asks)

    def ahead(self) -> Spending:
        spent = ReplaySession.objects.filter(id__in=self._begun_ahead()).values_list("live_calls", "cost_usd")
        costs = [None if cost is None else float(cost) for _, cost in spent]
        known = [cost for cost in costs if cost is not None]
        return Spending(
            live_calls=sum(calls for calls, _ in spent), cost_usd=sum(known) if len(known) == len(costs) else None
        )

    def call_off(self) -> bool:
        """Cancel what was begun ahead and is not needed; whether any of it is still under way."""
        unfinished = ReplaySession.objects.filter(id__in=self._begun_ahead(), ended_at=None)
        return bool(unfinished.update(cancel_requested=True))

    def _begun_ahead(self) -> list[UUID]:
        return [row.session_id for row in self.rows.all() if row.session_id is not None and row.seen is None]

    # How a probe is made

    def setup(self, ask: Ask) -> Setup:
        """The run, the fork and the overrides of an ask."""
        if ask.clamp is not None:
            override = clamp(clamped(self.subject, ask.clamp), self.payloads)
            profile = OverrideProfile(overrides=[override])
            copied = self.subject.copies.links["candidate"]
            run = self.subject.candidate
            return Setup(run=run, fork=ask.clamp, overrides=profile, side="candidate", copied=copied)
        side = other(ask.side) if ask in self._turned else ask.side
        place = self.subject.places[side]
        profile = self.subject.changes.profile(ask.applied, side)
        copied = self.subject.copies.links[side]
        return Setup(run=place.run, fork=place.fork, overrides=profile, side=side, copied=copied)

    def _turn_like(self, ask: Ask, row: ProofProbe) -> None:
        """Replay the run again that a stored probe replays."""
        if ask.clamp is None and row.configuration != self.setup(ask).configuration:
            self._turned.add(ask)

    def _recorded(self, side: Side) -> Result:
        run, fork = self.subject.recorded(side)
        self._recordings(run)
        return self._result(run, fork)

    def _result(self, run: UUID, fork: int) -> Result:
        alike = self._recordings.alike
        return recorded_answers.result(run, fork, self.payloads, arguments=self.arguments, alike=alike)

    def _graph(self, setup: Setup) -> Graph:
        key = (setup.run.id, setup.fork)
        if key not in self._graphs:
            self._graphs[key] = with_links(load_graph(*key), setup.copied)
        return self._graphs[key]

    def _replayed(self, ask: Ask) -> Seen | Call:
        """The probe in memory; the call that nobody recorded, where it comes to one.

        Where it reaches the state of the other run, it is replayed from that one: the agent's code did there what it
        would do here.
        """
        try:
            return self._walked(self.setup(ask))
        except OtherState as state:
            return self._turn(ask, state)

    def _turn(self, ask: Ask, state: OtherState) -> Seen | Call:
        """Go on as the other run did."""
        if ask.clamp is not None or ask in self._turned:
            return Seen(outcome="needs_live", missing=UNSETTLED, strays=state.strays)
        own = coupled(self.proof, self.setup(ask), self._recordings)
        self._turned.add(ask)
        found = self._replayed(ask)
        if not isinstance(found, Seen):
            return found
        derived = found.derived or not state.traced
        return replace(found, derived=derived, borrowed=found.borrowed + own.lacked(self._world))

    def _walked(self, setup: Setup) -> Seen | Call:
        graph = self._graph(setup)
        coupling = coupled(self.proof, setup, self._recordings)
        state = self.subject.derivations.state(setup.side)
        watch = Watch(graph=graph, coupling=coupling, arguments=self.arguments, state=state)
        world = RecordedEnvironment(coupling=coupling, payloads=self.payloads)
        fork = build_fork(graph, setup.overrides, _RECORDED, self.payloads)
        if fork.profile.refusals:
            return Seen(outcome="failed", missing=fork.profile.refusals[0].detail)
        try:
            for event in Replayer(fork.context(world, self._ignoring)).run():
                watch.see(event, self.payloads)
            came = watch.result(self.payloads)
            seen = self._seen(came, executed=watch.executed, cached=watch.cached, borrowed=watch.borrowed)
            self._world = watch.world
            others = recorded_answers.other_models_of(world.answered_by)
            return replace(seen, assumed=watch.assumed, derived=state.copied, other_models=others)
        except Unanswered as unanswered:
            return self._missed(watch, unanswered.call)
        except Missed as missed:
            if missed.call is not None:
                return missed.call
            return Seen(outcome="needs_live", missing=str(missed), strays=state.strays(self.payloads))
        except OtherState as came:
            raise OtherState(traced=came.traced, strays=state.strays(self.payloads)) from came
        except (Lost, MissingPart) as lost:
            return Seen(outcome="failed", missing=str(lost))

    @staticmethod
    def _missed(watch: Watch, call: Call) -> Seen | Call:
        """The call that nobody recorded, unless it may not come at all."""
        try:
            watch.refuse_undecided(call.type, f"step {call.no} ({call.type} {call.callee})")
        except Missed as missed:
            return Seen(outcome="needs_live", missing=str(missed))
        return call

    def _seen(
        self,
        result: Result,
        *,
        executed: int,
        cached: int,
        borrowed: int = 0,
        live: int = 0,
        cost: float | None = 0.0,
        run: UUID | None = None,
    ) -> Seen:
        try:
            value = outcomes.value(self.question, result, first_error_isolated)
        except Unknown as unknown:
            return Seen(outcome="needs_live", missing=str(unknown), live_calls=live, cost_usd=cost, run=run)
        kind = self.question.kind
        outcome = outcomes.classify_as(kind, value, base=self.values["base"], candidate=self.values["candidate"])
        return Seen(
            outcome=outcome,
            value=value,
            values=outcomes.values(kind, result),
            said=outcomes.said(self.question, result, first_error_isolated),
            executed_steps=executed,
            cached_calls=cached,
            borrowed=borrowed,
            live_calls=live,
            cost_usd=cost,
            run=run,
        )

    # Probes that have to ask somebody

    def _may_try(self, row: ProofProbe, allowance: Allowance) -> bool:
        """Whether a probe that only the budget kept from its answer may now get it."""
        return bool((row.seen or {}).get(UNPAID)) and row.session is None and allowance.live_calls != 0

    def _repeated(self, ask: Ask, setup: Setup, allowance: Allowance) -> Seen:
        """A fresh sample; one that an earlier proof drew counts as well."""
        drawn = earlier_sample(ask, setup)
        if drawn is not None and drawn.session is not None:
            row = self.rows.row(ask, setup, session=drawn.session)
            seen = self._ended(row, ask)
            return self.rows.store(row, replace(seen, live_calls=0, cost_usd=0.0))
        if allowance.live_calls == 0 or allowance.cost_usd == 0 or "model" not in self.policy.allow:
            missing = "unchanged repeats ask the models again, and no live call is left in the budget"
            return self.rows.keep(ask, setup, Seen(outcome="needs_live", missing=missing), unpaid=True)
        return self._begun(ask, setup, allowance)

    def _begun(self, ask: Ask, setup: Setup, allowance: Allowance) -> Seen:
        """Begin a session, and beside it those that are wanted next; their end goes on with the proof."""
        batch = self._batch(ask, allowance)
        share = shared(allowance, len(batch))
        started: list[UUID] = []
        for each in batch:
            begun = self._session(each, self.setup(each), share)
            if isinstance(begun, UUID):
                started.append(begun)
            elif each == ask:
                return begun
        raise Waits(*started)

    def _batch(self, ask: Ask, allowance: Allowance) -> list[Ask]:
        """The ask and those that will follow, as many as the allowance is enough for with certainty."""
        new = [
            each
            for each in self.expected
            if self.rows.find(each) is None and not earlier_sample(each, self.setup(each))
        ]
        most = _AT_ONCE
        if allowance.live_calls is not None:
            most = min(most, max(1, allowance.live_calls // max(1, 2 * self.typical_calls)))
        return [ask, *(each for each in new if each != ask)][:most]

    @cached_property
    def typical_calls(self) -> int:
        return live_price(self.subject)[0]

    def _session(self, ask: Ask, setup: Setup, allowance: Allowance) -> UUID | Seen:
        """A session for a probe, or why there is none."""
        if ask.repeat and (why := self._asking.unrepeatable(self._graph(setup), setup.overrides, self.payloads)):
            return self.rows.keep(ask, setup, Seen(outcome="needs_live", missing=why))
        prepared = prepare.prepare(setup.request(self._allowed(ask, allowance)), brief=True)
        if prepared.plan.refusals:
            return self.rows.keep(ask, setup, Seen(outcome="needs_live", missing=prepared.plan.refusals[0].detail))
        try:
            with transaction.atomic():
                session = create.create(prepared, is_probe=True)
                self.rows.row(ask, setup, session=session)
                event_log.append(session.id, "session")
        except IntegrityError:  # another worker began it meanwhile
            return ProofProbe.objects.get(proof=self.proof, key=key_of(ask)).session_id or UUID(int=0)
        return session.id

    def _allowed(self, ask: Ask, allowance: Allowance) -> Policy:
        budget = self.policy.budget
        limits = {
            "max_live_calls": least(budget.max_live_calls, allowance.live_calls),
            "max_cost_usd": least(budget.max_cost_usd, allowance.cost_usd),
        }
        changed: dict[str, Any] = {
            "budget": SessionBudget.model_validate({**budget.model_dump(), **limits}),
            "order": "reexecute" if ask.repeat else "reuse",
            "fallback": "simulate",
            "strict": False,
            "semantic_threshold": 1.0,
            "tools": self.policy.tools.model_copy(update={"ask": []}),  # nobody is there to answer
        }
        return self.policy.model_copy(update=changed)

    def _ended(self, row: ProofProbe, ask: Ask) -> Seen:
        """What came of a session; raises `Waits` while it goes on."""
        setup = self.setup(ask)
        session = ReplaySession.objects.get(id=row.session_id or UUID(int=0))
        if session.status not in FINAL_STATUSES:
            raise Waits(session.id)
        cost = None if session.cost_usd is None else float(session.cost_usd)
        spent: dict[str, Any] = {"live_calls": session.live_calls, "cost_usd": cost, "run": session.run_id}
        if session.status not in COMPLETED or session.run_id is None:
            missed = session.error_code == MISSED or session.error_code.startswith(_SPENT)
            why = session.error or f"the replay was {session.status}"
            return self.rows.store(row, Seen(outcome="needs_live" if missed else "failed", missing=why, **spent))
        if guess := recorded_answers.guess_in(session.run_id, setup.fork):
            return self.rows.store(row, Seen(outcome="needs_live", missing=guess, **spent))
        state = self.subject.derivations.state(setup.side)
        try:
            self._follow(state, session.run_id, setup)
        except OtherState as came:
            return self.rows.store(row, replace(self._gone_over(ask, came), **spent))
        except UnknownState as unknown:
            strays = state.strays(self.payloads)
            return self.rows.store(row, Seen(outcome="needs_live", missing=str(unknown), strays=strays, **spent))
        self._recordings(session.run_id)
        result = self._result(session.run_id, setup.fork)
        executed = session.cached_count + session.simulated_count
        seen = self._seen(
            result,
            executed=executed,
            cached=session.cached_count,
            live=session.live_calls,
            cost=cost,
            borrowed=recorded_answers.borrowed_in(session.run_id, setup.fork),
            run=session.run_id,
        )
        assumed = recorded_answers.assumed_in(session.run_id, setup.fork)
        models = recorded_answers.other_models_of(
            [session.run_id, *recorded_answers.cached_from(session.run_id, setup.fork)]
        )
        derived = state.copied or setup.side != row.ask["side"]
        return self.rows.store(row, replace(seen, derived=derived, assumed=assumed, other_models=models))

    def _gone_over(self, ask: Ask, state: OtherState) -> Seen:
        """The rest of a session that came to the other run's state, as far as that run, or a session, recorded it."""
        found = None if ask.repeat else self._turn(ask, state)
        return found if isinstance(found, Seen) else Seen(outcome="needs_live", missing=UNSETTLED)

    @staticmethod
    def _follow(state: State, run_id: UUID, setup: Setup) -> None:
        """Note what a session brought about; raises where the agent's code would have gone on otherwise than it did."""
        for number, signature, given in recorded_answers.outputs(run_id, setup.run.id, setup.fork):
            if number is not None:
                state.arrive(number)
            state.note(number, signature, given)
        state.end()
