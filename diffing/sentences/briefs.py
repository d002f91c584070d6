"""The first lines of a report: what is compared, what changed, how sure, why, what next. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, assert_never

from diffing.sentences.text import count_noun, end_sentence, inside_sentence
from diffing.sentences.verdicts import Changes, RunSide
from traces.core.vocabulary import Reason


class RunState(StrEnum):
    """How a run ended; `ran_to_end`: it completed without running a check that failed in the other run."""

    COMPLETED = "completed"
    FAILED = "failed"
    PARTIAL = "partial"
    RUNNING = "running"
    RAN_TO_END = "ran_to_end"


@dataclass(frozen=True, kw_only=True, slots=True)
class RunEnd:
    """The end of a run, with the recorded verdict and points of an evaluation."""

    state: RunState
    success: bool | None = None
    points: str = ""


class RunRelation(StrEnum):
    """How two runs relate; the last two are imported replays."""

    SAME_RUN = "same_run"
    REPLAY = "replay"
    TWO_REPLAYS = "two_replays"
    RECORDINGS = "recordings"
    UNRELATED_REPLAY = "unrelated_replay"
    CANDIDATE_REPLAYS_BASE = "candidate_replays_base"
    BASE_REPLAYS_CANDIDATE = "base_replays_candidate"


@dataclass(frozen=True, kw_only=True, slots=True)
class BriefRun:
    """One of two runs; `fork_step` is the step from which a replay differs."""

    app: str
    is_replay: bool
    end: RunEnd
    fork_step: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class UntestedStep:
    """A step that failed in one run and was not run in the other, `side`."""

    number: int
    name: str
    side: RunSide


def compared_runs(relation: RunRelation, base: BriefRun, candidate: BriefRun) -> str:
    """Both runs, and how they relate."""
    agent = base.app or "an agent"
    match relation:
        case RunRelation.SAME_RUN:
            return f"A run of {agent} compared with itself."
        case RunRelation.REPLAY:
            return f"Base: {_run(base)}. Candidate: a replay of it{_fork(candidate)} ({_end(candidate.end)})."
        case RunRelation.TWO_REPLAYS:
            sides = [f"a replay{_fork(run)} ({_end(run.end)})" for run in (base, candidate)]
            return f"Two replays of one run of {agent}. Base: {sides[0]}. Candidate: {sides[1]}."
        case _:
            agents = " The runs are of different agents." if base.app != candidate.app else ""
            return f"Base: {_run(base)}. Candidate: {_run(candidate)}.{_RELATIONS[relation]}{agents}"


_RELATIONS: Final[Mapping[RunRelation, str]] = {
    RunRelation.RECORDINGS: " The runs were recorded separately.",
    RunRelation.UNRELATED_REPLAY: "",
    RunRelation.CANDIDATE_REPLAYS_BASE: " The candidate is an imported replay of the base.",
    RunRelation.BASE_REPLAYS_CANDIDATE: " The base is an imported replay of the candidate.",
}


def _run(run: BriefRun) -> str:
    agent = f" of {run.app}" if run.app else ""
    return f"{'a replay' if run.is_replay else 'a recorded run'}{agent} ({_end(run.end)})"


def _fork(run: BriefRun) -> str:
    return f" from step {run.fork_step}" if run.fork_step else ""


def _end(end: RunEnd) -> str:
    phrases = {
        RunState.PARTIAL: "recorded in part",
        RunState.RUNNING: "still running",
        RunState.RAN_TO_END: "ran to its end",
    }
    state = phrases.get(end.state, end.state.value)
    success = [] if end.success is None else [f"task recorded as {'done' if end.success else 'failed'}"]
    return ", ".join([state, *success, *([end.points] if end.points else [])])


def untested_step(step: UntestedStep) -> str:
    """A step that the replay did not run does not count as passed."""
    other_side = "base" if step.side == "candidate" else "candidate"
    return (
        f"Step {step.number} ({step.name}) failed in the {other_side} and was not run in the {step.side}, so whether "
        "it would pass there is unknown."
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class StepCounts:
    """Numbers of paired and unpaired steps."""

    pairs: int
    differing: int
    moves: int = 0
    base_only: int = 0
    candidate_only: int = 0


NO_CHANGE: Final = "Nothing. Every step is the same in both runs."
ONLY_CONFIGURATION: Final = "The declared configuration. Every step is the same in both runs."


def changed(changes: Changes, counts: StepCounts, answers: tuple[str, str] | None) -> str:
    """The changes by title, the number of differing steps, and the answers if given."""
    more = [f"{changes.more} more, listed below"] if changes.more else []
    titles = [inside_sentence(title) if index else title for index, title in enumerate(changes.titles)]
    parts = [end_sentence("; ".join([*titles, *more]))] if titles else []
    parts.append(_step_counts(counts))
    if answers is not None:
        parts.append(end_sentence(f"The answer is “{answers[1]}” instead of “{answers[0]}”"))
    return " ".join(parts)


def _step_counts(counts: StepCounts) -> str:
    verb = "differs" if counts.differing == 1 else "differ"
    parts = [f"{counts.differing:,} of {count_noun(counts.pairs, 'paired step')} {verb}"]
    parts += [f"{counts.moves:,} moved"] if counts.moves else []
    parts += [f"{counts.base_only:,} only in the base"] if counts.base_only else []
    parts += [f"{counts.candidate_only:,} only in the candidate"] if counts.candidate_only else []
    return f"{'; '.join(parts)}."


class Certainty(StrEnum):
    """The confidence in the cause."""

    NOTHING_TO_EXPLAIN = "nothing to explain"
    OPEN = "inconclusive"
    NO_CAUSE = "no cause named"
    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


class Proof(StrEnum):
    """What replays show."""

    BOTH_WAYS = "both_ways"
    JOINT = "joint"
    SEVERAL_CAUSES = "several_causes"
    CHANCE = "chance"


class Observation(StrEnum):
    """What the recordings alone show."""

    NO_DIFFERENCE = "no_difference"
    NO_EFFECT = "no_effect"
    CHANCE = "chance"
    TOO_DIFFERENT = "too_different"
    OPEN = "open"
    MANUAL_ANSWER = "manual_answer"
    ONLY_CHANGE = "only_change"
    NO_DATA_FLOW = "no_data_flow"


_PROOFS: Final[Mapping[Proof, str]] = {
    Proof.BOTH_WAYS: "Replays show it both ways: with this change alone, the base has the candidate's outcome; without "
    "it, the candidate does not.",
    Proof.JOINT: "Replays show it, once each: these changes together give the base the candidate's outcome; fewer of "
    "them do not.",
    Proof.SEVERAL_CAUSES: "Replays show it, once each: each of these causes is sufficient alone, so reverting one of "
    "them changes nothing.",
    Proof.CHANCE: "Unchanged repeats of each run differ from each other as much as the two runs do.",
}
_OBSERVATIONS: Final[Mapping[Observation, str]] = {
    Observation.NO_DIFFERENCE: "There is no difference to explain.",
    Observation.NO_EFFECT: "The final answers are the same, so there is no difference to explain.",
    Observation.CHANCE: "No recorded setting explains it, so the model or a simulated user probably answered "
    "differently by chance. No replay has tested this; only repeats show how often it happens.",
    Observation.TOO_DIFFERENT: "The runs have too little in common to single out one change.",
    Observation.OPEN: "The recordings do not show which of these is the cause, and no replay has tested them.",
    Observation.MANUAL_ANSWER: "The answer was set by hand, so there is nothing to explain.",
    Observation.ONLY_CHANGE: "It is the only change that can have reached the answer; everything else is recorded. Not "
    "tested: whether the model would also answer differently without the change.",
    Observation.NO_DATA_FLOW: "No recorded data flow leads from the change to the answer; only the order of the steps "
    "suggests it.",
}
RECORDED_ONLY: Final = (
    "This holds for these two recorded runs: every answer that was needed is recorded, and no model was called again."
)
NO_REPLAY_NEEDED: Final = "No replay was needed."
LANE_DIFFERS: Final = (
    "In a replay without the changes, the answer also differs from the recording (see “Without the changes”)."
)


def proof(kind: Proof) -> str:
    """What replays show about the cause."""
    return _PROOFS[kind]


def observation(kind: Observation) -> str:
    """What the recordings alone show about the cause."""
    return _OBSERVATIONS[kind]


class ChanceOdds(StrEnum):
    """How far repeats rule out chance."""

    RULED_OUT = "ruled out"
    UNLIKELY = "unlikely"
    OPEN = "not ruled out"


def chance(rate: str, p: float, odds: ChanceOdds | None) -> str:
    """How often repeats came out as recorded; `odds` is None if chance is the verdict."""
    figures = f"{rate} (p = {p:.2g})."
    return figures if odds is None else f"Chance is {odds.value}: {figures}"


def replays_used(counts: str) -> str:
    """What a proof took."""
    return f"It took {counts}."


def open_proof(rule: str) -> str:
    """Why replays leave the cause open."""
    return f"The replays were inconclusive: {inside_sentence(rule)}"


def separate_recordings(*, is_first: bool, earlier_step: int) -> str:
    """The doubt about a cause of two recordings; `earlier_step` differs before it, if any does."""
    if earlier_step:
        place = f", and step {earlier_step} differs before it"
    else:
        place = ", which is the first recorded difference" if is_first else ""
    return f"Two recordings also differ by chance. No replay has tested this change{place}."


def other_changes(count: int) -> str:
    """Other possible causes of a replay's difference."""
    if count == 1:
        return "Another change is also a possible cause, and none was tested alone."
    return f"{count} other changes are also possible causes, and none was tested alone."


@dataclass(frozen=True, kw_only=True, slots=True)
class IdleStep:
    """A step that a replay did not run, and the recorded reason."""

    number: int
    name: str
    reason: str


# A denied call has an answer that the agent is meant to see, but it did not run either.
IDLE_REASONS: Final[Mapping[str, str]] = {
    Reason.SIDE_EFFECT_BLOCKED: "did not run, because it has a side effect",
    Reason.POLICY_FALLBACK: "did not run again and has a placeholder as its output",
    Reason.DENIED: "was not allowed to run",
    Reason.DUPLICATE_SUPPRESSED: "was not called again, because the same call had succeeded",
}


def idle_steps(steps: Sequence[IdleStep], more: int) -> str:
    """The steps of the candidate that did not run."""
    listed_steps = "; ".join(f"step {step.number} ({step.name}) {IDLE_REASONS[step.reason]}" for step in steps)
    return f"In the candidate, {listed_steps}{f' ({more} more such steps)' if more else ''}."


def unrecorded_settings(*, prompts: bool, models: bool) -> str:
    """The settings that the recordings lack; empty if they have all of them."""
    names = [*(["system prompts"] if prompts else []), *(["model names"] if models else [])]
    if not names:
        return ""
    return f"The {' and the '.join(names)} were not recorded, so differences in them are not visible here."


class NextKind(StrEnum):
    """What a reader can do next."""

    NOTHING_TO_EXPLAIN = "nothing_to_explain"
    BETTER_RUNS = "better_runs"
    NOTHING_OPEN = "nothing_open"
    NO_REPLAY_HELPS = "no_replay_helps"
    REPEATS = "repeats"
    SAMPLES = "samples"
    TYPICAL_BASE = "typical_base"
    MORE_SAMPLES = "more_samples"
    REPLAYS_LISTED = "replays_listed"
    REPLAYS_SUFFICE = "replays_suffice"


_NO_CAUSE: Final = "These two runs have no cause to find. An experiment with several samples of each shows more."
_NEXT: Final[Mapping[NextKind, str]] = {
    NextKind.NOTHING_TO_EXPLAIN: "Nothing, unless you expected another answer.",
    NextKind.BETTER_RUNS: "Compare two runs of the same agent on the same task.",
    NextKind.NOTHING_OPEN: "Nothing left to test.",
    NextKind.NO_REPLAY_HELPS: "No replay can show more.",
    NextKind.REPEATS: "Nothing left to test. Repeats would show how often this happens.",
    NextKind.SAMPLES: _NO_CAUSE,
    NextKind.TYPICAL_BASE: f"{_NO_CAUSE} No repeat of the base came out as recorded; use a typical run as the base.",
    NextKind.MORE_SAMPLES: "Every necessary combination was tried, once each; an experiment with several samples shows "
    "more.",
    NextKind.REPLAYS_LISTED: "Nothing left to test. The replays are listed below.",
    NextKind.REPLAYS_SUFFICE: "Nothing left to test. The replays are listed below; those that could not run are not "
    "needed.",
}


def next_step(kind: NextKind) -> str:
    """What a reader can do next, without an experiment."""
    return _NEXT[kind]


def next_experiment(text: str, *, can_prove: bool, repeats: bool) -> str:
    """The next experiment; `can_prove`: a proof runs it, `repeats`: with repeats of both runs."""
    button = " Prove it runs this test." if can_prove else ""
    chance_test = (
        " If a model gave the answer, it also repeats both runs to rule out chance, about 10 more replays."
        if repeats
        else ""
    )
    return f"{text}{button}{chance_test}"


class LaneVerdict(StrEnum):
    """What a replay without the changes shows."""

    ANSWER_DIFFERS = "answer_differs"
    SAME = "same"
    STEPS_DIFFER = "steps_differ"


ALSO_UNCHANGED: Final = "also without the changes"


def lane(verdict: LaneVerdict, count: int, total: int) -> str:
    """A replay without the changes, in which `count` of the `total` differing steps also differ."""
    noun = f"step{'' if total == 1 else 's'}"
    share = f"{count:,} of {total:,} differing {noun} also {'differs' if count == 1 else 'differ'} without them."
    match verdict:
        case LaneVerdict.ANSWER_DIFFERS:
            return (
                "In a replay without the changes, the final answer also differs, so the changes alone do not explain "
                f"the difference. {share}"
            )
        case LaneVerdict.SAME:
            return "In a replay without the changes, every step is as recorded: replaying alone changes nothing."
        case LaneVerdict.STEPS_DIFFER:
            return f"In a replay without the changes, the final answer is as recorded. {share}"
        case _:
            assert_never(verdict)


def not_run(side: str) -> str:
    """The mark of a step that one side did not run."""
    return f"not run in the {side}"
