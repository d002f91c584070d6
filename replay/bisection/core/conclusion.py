"""The conclusion of a bisection in words, from the tallies of its forks. Pure."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from replay.bisection.core.schemas import (
    BisectResult,
    CommitStep,
    ForkResult,
    ForkStep,
    Reproduction,
    Rescue,
    TallyView,
)
from replay.bisection.core.search import Findings, Settings, Tally, Turn, by_chance, confidence, turn
from replay.core.wording import step_list


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """Everything that a conclusion rests on.

    `is_final`: no more probes will run. `stop_reason`: why the search stopped early.
    """

    forks: Sequence[ForkStep]
    findings: Findings
    settings: Settings
    is_final: bool = True
    stop_reason: str = ""


_NO_VERDICT: Final = "No replay from the start has a verdict."


def conclude(evidence: Evidence) -> BisectResult:
    """The three results, as far as they are known."""
    findings = evidence.findings
    repeats = findings.repeats if evidence.settings.changed else findings.at(0)
    turning_point = turn(findings, evidence.settings)
    commit = None if turning_point is None else _commit(evidence, turning_point)
    reproduction = _reproduction(repeats)
    rescue = _rescue(evidence, turning_point)
    sentences = _rescue_sentence(evidence, rescue, commit), _reproduction_sentence(repeats, reproduction)
    return BisectResult(
        headline=_headline(evidence, reproduction, rescue, commit),
        sentence=" ".join(filter(None, sentences)),
        reproduction=reproduction,
        repeats=_tally_view(repeats),
        rescue=rescue,
        commit=commit,
        forks=[_fork(evidence.forks[place], tally) for place, tally in sorted(findings.places.items())],
        remarks=list(_remarks(evidence, turning_point)),
    )


def step_name(fork: ForkStep) -> str:
    name = "" if fork.name == fork.type else f" {fork.name}"
    return f"step {fork.sequence_no} ({fork.type}{name})"


def pass_count(tally: Tally) -> str:
    return f"{tally.passes} of {tally.clear}"


def _reproduction(repeats: Tally) -> Reproduction:
    if not repeats.clear:
        return "unclear"
    if not repeats.passes:
        return "reproduces"
    return "flaky" if repeats.failures else "does_not_reproduce"


def _rescue(evidence: Evidence, turning_point: Turn | None) -> Rescue:
    if turning_point is not None:
        return "rescued"
    any_failed = any(tally.failures for tally in evidence.findings.places.values())
    return "not_rescued" if any_failed and evidence.is_final else "unclear"


def _headline(evidence: Evidence, reproduction: Reproduction, rescue: Rescue, commit: CommitStep | None) -> str:
    if commit is not None:
        return f"Point of no return: step {commit.step.sequence_no}{'' if commit.settled else ' or later'}"
    if rescue == "not_rescued":
        return f"Re-running{' with the changes' if evidence.settings.changed else ''} did not help"
    if reproduction == "does_not_reproduce":
        return "The failure did not come back"
    return "No result" if evidence.is_final else "Searching for the point of no return"


def _reproduction_sentence(repeats: Tally, reproduction: Reproduction) -> str:
    total = f"{repeats.clear} of {repeats.clear} replays from the start"
    match reproduction:
        case "reproduces":
            return f"The failure comes back: {total} failed."
        case "flaky":
            counts = f"{repeats.failures} failed and {repeats.passes} passed"
            return f"The failure is flaky: of {repeats.clear} replays from the start, {counts}."
        case "does_not_reproduce":
            return f"The failure did not come back: {total} passed."
        case _:
            return "It is not known yet whether the failure comes back." if not repeats.unclear else _NO_VERDICT


def _rescue_sentence(evidence: Evidence, rescue: Rescue, commit: CommitStep | None) -> str:
    if commit is not None:
        return _commit_sentence(evidence, commit)
    if rescue == "not_rescued":
        subject = "Re-running with the changes" if evidence.settings.changed else "Re-running"
        places = sorted(evidence.findings.places.items())
        numbers = [evidence.forks[place].sequence_no for place, tally in places if tally.clear]
        advice = "" if evidence.settings.changed else " Change the prompt, the model or a tool instead."
        return f"{subject} did not help: from {step_list(numbers)} on, the run failed every time.{advice}"
    return ""


def _commit_sentence(evidence: Evidence, commit: CommitStep) -> str:
    place = _place(evidence, commit.step)
    changes = " with the changes" if evidence.settings.changed else ""
    count = pass_count(evidence.findings.at(place))
    number = commit.step.sequence_no
    passes = f"Re-run from {step_name(commit.step)} on{changes}, the run still passes ({count})"
    if not commit.settled:
        end = f" before {step_name(commit.kept)}" if commit.kept else ""
        return f"{passes}. The point of no return is step {number} or a later one{end}: not every step was tried."
    if commit.kept is None:
        fails = "it is the last model answer, and with its recorded answer the run fails"
    else:
        count_after = pass_count(evidence.findings.at(_place(evidence, commit.kept)))
        fails = (
            f"with the recorded answer of step {number} kept, it no longer does: "
            f"{count_after} pass from {step_name(commit.kept)} on"
        )
    return f"Point of no return: step {number}. {passes}; {fails}."


def _commit(evidence: Evidence, turning_point: Turn) -> CommitStep:
    forks, after = evidence.forks, turning_point.after
    return CommitStep(
        step=forks[turning_point.last],
        kept=forks[after] if after < evidence.findings.count else None,
        earliest=forks[turning_point.first],
        monotone=turning_point.monotone,
        settled=turning_point.is_settled,
        confidence=confidence(evidence.findings, evidence.settings, turning_point),
        why=_grounds(evidence, turning_point),
    )


def _grounds(evidence: Evidence, turning_point: Turn) -> str:
    """What the confidence rests on."""
    findings, forks = evidence.findings, evidence.forks
    before = findings.at(turning_point.last)
    parts = [f"{pass_count(before)} passed from step {forks[turning_point.last].sequence_no} on"]
    if not turning_point.is_settled:
        return f"{parts[0]}; not every step after it was tried"
    if turning_point.after == findings.count:
        parts.append("no later step can be re-run, so the other side is the recording and its failure")
    else:
        after = findings.at(turning_point.after)
        parts.append(f"{pass_count(after)} from step {forks[turning_point.after].sequence_no} on")
        parts.append(f"the probability of this by chance is p = {by_chance(before, after):.3g}")
        if after.failures and after.placeholder_failures == after.failures:
            parts.append("every failed replay depends on a placeholder for an answer that was not available")
    if before.passes and before.placeholder_passes == before.passes:
        parts.append("every passed replay depends on a placeholder for an answer that was not available")
    if not turning_point.monotone:
        parts.append("some earlier steps fail, so there is more than one turning point")
    return "; ".join(parts)


def _remarks(evidence: Evidence, turning_point: Turn | None) -> Iterator[str]:
    forks = evidence.forks
    if evidence.stop_reason:
        yield f"The bisection stopped early: {evidence.stop_reason} The results so far are valid."
    if turning_point is not None and not turning_point.monotone:
        last = turning_point.last
        numbers = _numbers(evidence, lambda place, tally: place < last and not tally.passes and tally.failures > 0)
        yield (
            f"There is more than one turning point: re-run from {step_list(numbers)} on, the run failed, although it "
            f"passes from step {forks[last].sequence_no} on. More steps were tried to find the last one that helps."
        )
    if turning_point is not None and turning_point.first < turning_point.last:
        yield f"The earliest step from which a re-run passed is {step_name(forks[turning_point.first])}."
    numbers = _numbers(evidence, lambda place, tally: not tally.clear and tally.unclear > 0)
    if numbers:
        yield f"Re-running from {step_list(numbers)} on has no result: no replay there has a verdict."
    numbers = _numbers(evidence, lambda place, tally: tally.placeholder_passes + tally.placeholder_failures > 0)
    if numbers:
        yield (
            f"From {step_list(numbers)} on, some replays were judged with a placeholder for an answer that no "
            "recording has and that may not be requested live. A real answer could change their verdicts."
        )


def _numbers(evidence: Evidence, select: Callable[[int, Tally], bool]) -> list[int]:
    tallies = sorted(evidence.findings.places.items())
    return [evidence.forks[place].sequence_no for place, tally in tallies if select(place, tally)]


def _place(evidence: Evidence, fork: ForkStep) -> int:
    return evidence.forks.index(fork)


def _fork(step: ForkStep, tally: Tally) -> ForkResult:
    return ForkResult(step=step, counted=_tally_view(tally))


def _tally_view(tally: Tally) -> TallyView:
    return TallyView(
        passed=tally.passes,
        failed=tally.failures,
        unclear=tally.unclear,
        running=tally.running,
        assumed=tally.placeholder_passes,
        doubtful=tally.placeholder_failures,
    )
