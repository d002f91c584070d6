"""What the tried forks say, in words. Pure."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Final

from replay.bisection.core.schemas import BisectResult, CommitStep, Counted, ForkResult, ForkStep, Reproduction, Rescue
from replay.bisection.core.search import Findings, Settings, Tally, Turn, by_chance, confidence, turn
from replay.core.wording import step_list


@dataclass(frozen=True, kw_only=True)
class Told:
    """Everything that a conclusion is drawn from. `over`: nothing more will be tried."""

    forks: Sequence[ForkStep]
    found: Findings
    settings: Settings
    over: bool = True
    stopped: str = ""  # why it was over before its end


_NOTHING_CLEAR: Final = "No repeat came to an end that can be judged."


def conclude(told: Told) -> BisectResult:
    """The three verdicts as far as they are known."""
    found = told.found
    repeats = found.repeats if told.settings.changed else found.at(0)
    at = turn(found, told.settings)
    commit = None if at is None else _commit(told, at)
    reproduction = _reproduction(repeats)
    rescue = _rescue(told, at)
    return BisectResult(
        sentence=" ".join(filter(None, (_repeated(repeats, reproduction), _rescued(told, rescue, commit)))),
        reproduction=reproduction,
        repeats=_counted(repeats),
        rescue=rescue,
        commit=commit,
        forks=[_fork(told.forks[place], tally) for place, tally in sorted(found.places.items())],
        remarks=list(_remarks(told, at)),
    )


def named(fork: ForkStep) -> str:
    name = "" if fork.name == fork.type else f" {fork.name}"
    return f"step {fork.sequence_no} ({fork.type}{name})"


def tallied(tally: Tally) -> str:
    return f"{tally.passed} of {tally.clear}"


def _reproduction(repeats: Tally) -> Reproduction:
    if not repeats.clear:
        return "unclear"
    if not repeats.passed:
        return "reproduces"
    return "flaky" if repeats.failed else "does_not_reproduce"


def _rescue(told: Told, at: Turn | None) -> Rescue:
    if at is not None:
        return "rescued"
    tried = any(tally.failed for tally in told.found.places.values())
    return "not_rescued" if tried and told.over else "unclear"


def _repeated(repeats: Tally, said: Reproduction) -> str:
    times = f"{repeats.clear} time{'' if repeats.clear == 1 else 's'}"
    match said:
        case "reproduces":
            return f"The failure comes back: repeated {times} from the start, the run failed every time."
        case "flaky":
            counts = f"failed {repeats.failed} and passed {repeats.passed}"
            return f"The failure is flaky: repeated {times} from the start, the run {counts}."
        case "does_not_reproduce":
            return f"The failure does not come back: repeated {times} from the start, the run passed every time."
        case _:
            return "Whether the failure comes back is not known yet." if not repeats.unclear else _NOTHING_CLEAR


def _rescued(told: Told, rescue: Rescue, commit: CommitStep | None) -> str:
    how = "Answering afresh with the changes" if told.settings.changed else "Answering afresh"
    if commit is not None:
        return _committed(told, commit)
    if rescue == "not_rescued":
        tried = [told.forks[place].sequence_no for place, tally in sorted(told.found.places.items()) if tally.clear]
        return f"{how} does not help: tried from {step_list(tried)} on, it always failed."
    return ""


def _committed(told: Told, commit: CommitStep) -> str:
    """The sentence that has to be understood."""
    place = _place(told, commit.step)
    changes = " with the changes" if told.settings.changed else ""
    passes = f"answered afresh{changes} from {named(commit.step)} on, it passes ({tallied(told.found.at(place))})"
    if not commit.settled:
        until = f"before {named(commit.kept)}" if commit.kept else "at a later step"
        return f"So far: {passes}; where it stops helping is not settled, it is {until}."
    if commit.kept is None:
        fails = "it is the last step that was answered, and its recorded answer fails"
    else:
        kept = told.found.at(_place(told, commit.kept))
        fails = (
            f"answered afresh only from {named(commit.kept)} on, keeping the recorded answer of step "
            f"{commit.step.sequence_no}, it does not any more ({tallied(kept)})"
        )
    return f"The run committed itself at step {commit.step.sequence_no}: {passes}; {fails}."


def _commit(told: Told, at: Turn) -> CommitStep:
    grade = confidence(told.found, told.settings, at)
    return CommitStep(
        step=told.forks[at.last],
        kept=told.forks[at.after] if at.after < told.found.count else None,
        earliest=told.forks[at.first],
        monotone=at.monotone,
        settled=at.settled,
        confidence=grade,
        why=_why(told, at),
    )


def _why(told: Told, at: Turn) -> str:
    """What the confidence rests on."""
    before = told.found.at(at.last)
    parts = [f"{tallied(before)} passed from step {told.forks[at.last].sequence_no} on"]
    if not at.settled:
        return f"{parts[0]}; the steps after it are not all tried"
    if at.after == told.found.count:
        parts.append("nothing after it is answered afresh, so that the recording and its failure are all there is")
    else:
        after = told.found.at(at.after)
        parts.append(f"{tallied(after)} from step {told.forks[at.after].sequence_no} on")
        parts.append(f"by chance this happens with p = {by_chance(before, after):.3g}")
        if after.failed and after.doubtful == after.failed:
            parts.append("every one that failed rests on a placeholder for an answer that nobody could give")
    if before.passed and before.assumed == before.passed:
        parts.append("every one that passed rests on a placeholder for an answer that nobody could give")
    if not at.monotone:
        parts.append("some earlier steps fail, so that this is not one clean turn")
    return "; ".join(parts)


def _remarks(told: Told, at: Turn | None) -> Iterator[str]:
    if told.stopped:
        yield f"It stopped early: {told.stopped} What was found until then holds."
    if at is not None and not at.monotone:
        failed = _numbers(told, lambda place, tally: place < at.last and not tally.passed and tally.failed > 0)
        yield (
            f"The steps do not turn once: answered afresh from {step_list(failed)} on it failed, though it passes from "
            f"step {told.forks[at.last].sequence_no} on. More steps were tried to find the last one that helps."
        )
    if at is not None and at.first < at.last:
        first = told.forks[at.first]
        yield f"The earliest step from which answering afresh was seen to help is {named(first)}."
    unknown = _numbers(told, lambda place, tally: not tally.clear and tally.unclear > 0)
    if unknown:
        yield f"Of answering afresh from {step_list(unknown)} on nothing is known: no probe there can be judged."
    assumed = _numbers(told, lambda place, tally: tally.assumed + tally.doubtful > 0)
    if assumed:
        yield (
            f"From {step_list(assumed)} on, some probes were judged with a placeholder in place of an answer that no "
            "recording has and that may not be asked for live: a real answer could change them."
        )


def _numbers(told: Told, wanted: Callable[[int, Tally], bool]) -> list[int]:
    tallies = sorted(told.found.places.items())
    return [told.forks[place].sequence_no for place, tally in tallies if wanted(place, tally)]


def _place(told: Told, fork: ForkStep) -> int:
    return told.forks.index(fork)


def _fork(step: ForkStep, tally: Tally) -> ForkResult:
    return ForkResult(step=step, counted=_counted(tally))


def _counted(tally: Tally) -> Counted:
    return Counted.model_validate(asdict(tally))
