"""Probe runner of the benchmark for the evidence ladder: in-memory replays by the product's engine."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

from diffing.attribution.reasoning import PRIORITY
from diffing.compare.comparison import Comparison, Pair, compare
from diffing.compare.data_flow import Flow
from diffing.compare.references import step_ref
from diffing.compare.run_side import CONTAINERS
from diffing.schemas.evidence import EvidenceQuestion, ProbeOutcome
from replay.proofs.core.types import Allowance, Atom, Atoms, Case, PathStep, ProbeResult, ProbeSpec
from tests.bench.attribution.cases import BenchCase
from tests.bench.attribution.mechanisms.running import Model, noiseless_model
from tests.bench.attribution.mechanisms.settings import Settings
from tests.bench.attribution.replays import Source, replay
from tests.bench.attribution.transcripts import side
from tests.bench.attribution.truth import Injection
from traces.core.json_types import JSONValue
from traces.core.recorded_run import RecordedRun
from traces.core.vocabulary import StepType

QUESTION = EvidenceQuestion(kind="answer_exact", text="Which answer the run gave")


@dataclass
class Bench:
    """Both recordings of a case, and their comparison."""

    case: BenchCase
    ask_model: Model = noiseless_model
    base: Source = field(init=False)
    candidate: Source = field(init=False)

    def __post_init__(self) -> None:
        program = self.case.pipeline.program
        before, after = self.settings(()), self.settings(self.case.by_id)
        self.base = Source.record(program, before, self.ask_model)
        self.candidate = Source.record(program, after, self.ask_model)

    def settings(self, change_ids: Sequence[str] | Atoms | dict[str, Injection]) -> Settings:
        """Return the settings with these changes, or parts of changes (`change/number`), applied."""
        settings = dict(self.case.pipeline.settings)
        for name in change_ids:
            injection, _, part = name.partition("/")
            hunks = self.case.by_id[injection].hunks
            settings |= dict(hunks[int(part) : int(part) + 1] if part else hunks)
        return settings

    @cached_property
    def comparison(self) -> Comparison:
        return compare(side(self.base.run, links=True), side(self.candidate.run, links=True))

    @cached_property
    def flow(self) -> Flow:
        return Flow(self.comparison)

    @cached_property
    def live(self) -> set[int]:
        """Return the places from which a change can reach the answer."""
        final = self.comparison.final
        return set() if final is None else self.flow.before(final.place) | {final.place}

    def places(self, injection: Injection) -> list[int]:
        """Return the pairs that a change acts on directly."""
        targets = [_target(path) for path, _ in injection.hunks]
        return [pair.place for pair in self.comparison.pairs if _is_target(pair, targets)]

    def atoms(self) -> list[Atom]:
        return [self._atom(injection) for injection in self.case.injections]

    def rank(self, injection: Injection) -> tuple[float, ...]:
        """Rank by: on a path to the answer, distance to the first divergence, the diff's category priority."""
        places = self.places(injection)
        first = self.first_divergence()
        distance = min((abs(place - first) for place in places), default=len(self.comparison.pairs))
        return (float(self.live.isdisjoint(places)), float(distance), float(PRIORITY.index(injection.category)))

    def first_divergence(self) -> int:
        """Return the place of the first step that answers differently."""
        diverging = (pair.place for pair in self.comparison.acting if pair.answers_differently)
        return min(diverging, default=len(self.comparison.pairs))

    def _atom(self, injection: Injection) -> Atom:
        return Atom(
            id=injection.id,
            category=injection.category,
            title=injection.path,
            rank=self.rank(injection),
        )


def _target(path: str) -> tuple[StepType, str]:
    """Return the type of the steps that a setting acts on, and their name if it is limited to one."""
    kind, name, *_ = path.split(".")
    types = {
        "prompt": StepType.MODEL,
        "model": StepType.MODEL,
        "row": StepType.TOOL,
        "doc": StepType.RETRIEVAL,
        "variable": StepType.PROMPT,
        "user": StepType.MODEL,
    }
    return types[kind], name if kind in {"prompt", "model", "row"} else ""


def _is_target(pair: Pair, targets: Sequence[tuple[StepType, str]]) -> bool:
    """Return whether a pair is one of the targets. A tool or retriever with an equal answer is not."""
    fits = any(pair.step.type == type and name in {"", pair.step.name} for type, name in targets)
    is_recorded = pair.step.type in {StepType.TOOL, StepType.RETRIEVAL}
    return fits and (pair.answers_differently or not is_recorded)


@dataclass
class BenchLab:
    """Probe runner that replays. Every answer is computed, none is sampled."""

    bench: Bench
    replays: int = 0

    def case(self) -> Case:
        bench = self.bench
        return Case(
            question=QUESTION,
            atoms=bench.atoms(),
            differs=bench.base.answer != bench.candidate.answer,
            one_space=True,
            features=("final answer",),
        )

    def probe(self, ask: ProbeSpec, allowance: Allowance) -> ProbeResult:
        bench = self.bench
        source = bench.base if ask.side == "base" else bench.candidate
        self.replays += 1
        result = replay(source, bench.settings(ask.atoms), model=bench.ask_model, clamp=self._clamp(ask))
        return ProbeResult(
            outcome=self.outcome(result.answer), summary=result.answer, executed_steps=result.resolved_steps
        )

    def outcome(self, answer: str) -> ProbeOutcome:
        if answer == self.bench.candidate.answer:
            return ProbeOutcome.CANDIDATE
        return ProbeOutcome.BASE if answer == self.bench.base.answer else ProbeOutcome.OTHER

    def _clamp(self, ask: ProbeSpec) -> tuple[int, JSONValue] | None:
        if ask.clamp is None:
            return None
        pair = self.bench.comparison.pairs[self.bench.comparison.places[1][ask.clamp]]
        # Only paired steps are stages.
        assert pair.base is not None
        return ask.clamp, self.bench.base.payloads[self.bench.base.graph.by_no[pair.base.sequence_no].output_ref]

    def parts(self, atom: Atom) -> Sequence[Atom]:
        if "/" in atom.id:
            return []
        injection = self.bench.case.by_id[atom.id]
        return [
            Atom(id=f"{atom.id}/{number}", category=atom.category, title=path, parent=atom.id, rank=(float(number),))
            for number, (path, _) in enumerate(injection.hunks)
        ]

    def path_steps(self, cause: Atoms) -> Sequence[PathStep]:
        """Return the paired steps with different answers between the cause and the answer."""
        bench = self.bench
        starts = [place for name in cause for place in bench.places(bench.case.by_id[name])]
        on_the_way = (bench.flow.after(starts) | set(starts)) & bench.live
        pairs = [bench.comparison.pairs[place] for place in sorted(on_the_way)]
        answer_no = answering_step(bench.candidate.run)
        return [
            PathStep(number=pair.candidate.sequence_no, step=ref, text=pair.candidate.summary)
            for pair in pairs
            if pair.base
            and pair.candidate
            and pair.answers_differently
            and pair.step.type not in CONTAINERS
            and pair.candidate.sequence_no < answer_no
            and (ref := step_ref(pair.candidate)) is not None
        ]


def answering_step(run: RecordedRun) -> int:
    """Return the number of the step that gives the answer."""
    return max(number for number, step in enumerate(run.steps, 1) if step.type is StepType.MODEL)
