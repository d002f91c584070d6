"""What a reader who knows nothing else needs first: what is compared, what changed, how sure, and what to do. Pure."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from diffing.compare.placeholders import MARK, NOT_RUN
from diffing.report.evidence import counted, deciding, has_proved, skipped
from diffing.report.run_outcomes import compared, doing
from diffing.schemas.evidence import Evidence, GateStatus
from diffing.schemas.report import AlignedPair, Attribution, Brief, DiffReport, Relation
from diffing.schemas.terms import MODEL_NAME, SYSTEM_PROMPT
from diffing.sentences.proofs import repeat_rate
from diffing.sentences.text import end_sentence
from diffing.sequences.text_diff import shorten

_NAMED: Final = 3  # changes named in a line
_QUOTE: Final = 90  # characters of an answer
_KNOWN: Final = 20  # characters of an answer that a sentence has if it quotes it
_STEPS: Final = 3  # steps named in a warning


def brief(report: DiffReport) -> Brief:
    """The first lines of a report, in sentences."""
    return Brief(
        compared=compared(report),
        changed=_changed(report),
        confidence=_confidence(report),
        why=_why(report),
        next=_next(report),
    )


def _changed(report: DiffReport) -> str:
    found = report.observed or report.attribution
    if found.verdict == "no_difference":
        return "Nothing: every step says and does the same in both runs."
    named = [cause.title for cause in (found.primary, *found.alternatives) if cause is not None]
    named += [cause.title for cause in found.supporting] if found.verdict == "no_effect" else []
    more = [f"{len(named) - _NAMED} more, listed below"] if len(named) > _NAMED else []
    first = "; ".join([_inner(name) if at else name for at, name in enumerate(named[:_NAMED])] + more)
    said = [end_sentence(first) if first else "", _differing(report.pairs), _outcome(report)]
    return " ".join(part for part in said if part)


def _outcome(report: DiffReport) -> str:
    """The two answers, where the sentence does not quote them."""
    texts = [item.text for item in report.sections.output.items if item.text is not None]
    if not texts:
        return ""
    base, candidate = (
        "".join(span.text for span in texts[-1].spans if span.op in {"equal", op}) for op in ("delete", "insert")
    )
    if " ".join(candidate.split())[:_KNOWN] in report.attribution.sentence or MARK in base + candidate:
        return ""
    return end_sentence(f"The answer is “{shorten(candidate, _QUOTE)}” instead of “{shorten(base, _QUOTE)}”")


def _differing(pairs: list[AlignedPair]) -> str:
    counts = Counter(pair.relation for pair in doing(pairs))
    both = counts["same"] + counts["changed"] + counts["moved"]
    differ = "differs" if counts["changed"] == 1 else "differ"
    said = [f"Of {both:,} step{'' if both == 1 else 's'} in both runs, {counts['changed']:,} {differ}"]
    said += [f"{counts['moved']:,} came at another time"] if counts["moved"] else []
    alone = " and ".join(f"{counts[op]:,} only the {side}" for op, side in _ALONE if counts[op])
    return f"{', '.join(said)}{f'; {alone} has' if alone else ''}."


_ALONE: Final[tuple[tuple[Relation, str], ...]] = (("removed", "base"), ("added", "candidate"))


def _confidence(report: DiffReport) -> str:
    found = report.attribution
    if found.verdict in {"no_difference", "no_effect"}:
        return "nothing to explain"
    if found.verdict == "inconclusive":
        return "not settled" if found.alternatives else "no cause named"
    return "no cause named" if found.confidence == "noise" else str(found.confidence)


def _why(report: DiffReport) -> str:
    found = report.attribution
    tested = deciding(report.evidence)
    said = [_proved(tested)] if tested else [_observed(report, found)]
    if tested is None and report.evidence:
        said.append(f"Replays were tried and did not settle it: {report.evidence[-1].rule}")
    if found.verdict not in {"no_difference", "no_effect"}:
        said += _cautions(report)
    return " ".join(said)


def _proved(found: Evidence) -> str:
    """What replays showed, by what a reader has to know of it."""
    if found.verdict == "noise" and found.noise.p is None:
        return f"{found.rule} No replay was needed."
    return f"{_SHOWN.get((found.verdict, found.confidence), found.rule)}{_chance(found)} It took {counted(found)}."


_SHOWN: Final = {
    ("single", "high"): "Shown by replaying, both ways: with this change alone the base comes out as the candidate, "
    "and without it the candidate does not.",
    ("joint", "medium"): "Shown by replaying, once each: these changes together make the base come out as the "
    "candidate, and fewer of them do not.",
    ("over_determined", "medium"): "Shown by replaying, once each: each of these causes is enough by itself, so taking "
    "one of them back changes nothing.",
    ("noise", "noise"): "Both runs were repeated unchanged, and differ from themselves as much as from each other.",
}


_RULED_OUT: Final = 0.01
_ONE_PAIR: Final = (
    " This holds for these two recorded runs: every answer that was needed is recorded, and no model was asked again."
)


def _chance(found: Evidence) -> str:
    gate = found.noise
    if gate.p is None:
        return _ONE_PAIR if has_proved(found) and not found.live_calls and skipped(found) <= 0 else ""
    rate = f"{repeat_rate(gate)} (p = {gate.p:.2g})."
    if found.verdict == "noise":
        return f" {rate}"
    odds = (
        "ruled out" if gate.p < _RULED_OUT else "unlikely" if gate.status == GateStatus.RULED_OUT else "not ruled out"
    )
    return f" Chance is {odds}: {rate}"


def _observed(report: DiffReport, found: Attribution) -> str:
    """What the recordings alone can say."""
    match found.verdict:
        case "no_difference":
            return "There is no difference to explain."
        case "no_effect":
            return "The final answers are the same, so there is no difference to explain."
        case "noise":
            return (
                "No recorded setting differs, so the model, or who plays its users, has probably answered otherwise by "
                "chance. That was not tested by replaying; how often it comes out so, only repeats can tell."
            )
        case "inconclusive" if not found.alternatives:
            return "No single change can be picked out of two runs that have so little in common."
        case "inconclusive":
            return "Nothing in the recordings tells these apart, and nothing was replayed to test them."
        case "cause":
            return _suspected(report, found)


def _suspected(report: DiffReport, found: Attribution) -> str:
    derived = report.candidate.source_run == report.base.id or (
        report.base.source_run is not None and report.base.source_run == report.candidate.source_run
    )
    if found.confidence == "medium" and not found.cheapest_experiment:
        return "Somebody set the answer by hand: there is nothing to find out about why it differs."
    if found.confidence == "medium":
        return (
            "It is the only change that can have reached the answer; everything else is the recording itself. Not "
            "tested: whether the model, asked again, would have answered otherwise even without it."
        )
    if not derived:
        return f"Two recordings also differ by chance. Nothing was replayed to test this one{_earlier(report, found)}."
    if found.alternatives:
        count = len(found.alternatives)
        also = "another change" if count == 1 else f"{count} other changes"
        return f"{also[:1].upper()}{also[1:]} can have done it as well, and none was tested alone."
    return "Nothing recorded leads from the change to the answer: only the order of the steps speaks for it."


def _earlier(report: DiffReport, found: Attribution) -> str:
    """Whether other steps differ before the cause that is named."""
    named = {step.id for step in (found.primary.base, found.primary.candidate) if step} if found.primary else set()
    named |= {link.step.id for link in found.path[:1]}
    first = next((pair for pair in doing(report.pairs) if pair.relation in {"changed", "added", "removed"}), None)
    steps = [step for step in (first.base, first.candidate) if step] if first else []
    if not steps or not named.isdisjoint(step.id for step in steps):
        return ", which is the first recorded difference" if steps else ""
    return f", and it is not the first difference: step {steps[0].sequence_no} differs before it"


def _cautions(report: DiffReport) -> Iterator[str]:
    """What the comparison rests on that is not what it seems."""
    if report.candidate.source_run is None and (missing := list(_unrecorded(report))):
        yield f"The {' and the '.join(missing)} were not recorded: if they differ, nobody can see it here."
    if steps := _stand_ins(report):
        more = f" ({len(steps) - _STEPS} more such steps)" if len(steps) > _STEPS else ""
        yield f"In the candidate, {'; '.join(steps[:_STEPS])}{more}."
    if report.unchanged is not None and report.unchanged.answer_differs:
        yield "Replayed without the changes, the answer differs as well (see “Without the changes”)."


def _unrecorded(report: DiffReport) -> Iterator[str]:
    """What may have been set otherwise without a trace."""
    if any(gap.what == SYSTEM_PROMPT for gap in report.sections.prompt.unavailable):
        yield "system prompts"
    if any(gap.what.startswith(MODEL_NAME) for gap in report.sections.model.unavailable):
        yield "names of the models"


def _stand_ins(report: DiffReport) -> list[str]:
    steps = [pair.candidate for pair in doing(report.pairs) if pair.candidate and pair.relation != "same"]
    return [
        f"step {step.sequence_no} ({step.type}{'' if step.name == step.type else f' {step.name}'}) "
        f"{NOT_RUN[step.reason]}"
        for step in steps
        if step.reason in NOT_RUN
    ]


def _next(report: DiffReport) -> str:
    found = report.attribution
    if found.verdict in {"no_difference", "no_effect"}:
        return "Nothing, unless the answer should have been another one."
    tried = deciding(report.evidence) or _newest(report.evidence)
    if tried is not None and tried.cheapest_experiment is not None:
        return f"{tried.cheapest_experiment.text}{_PROVE if tried.cheapest_experiment.replays else ''}"
    if found.cheapest_experiment:
        return f"{found.cheapest_experiment}{_PROVE}{_CHANCE}"
    if found.verdict == "inconclusive":
        return "Compare two runs of one agent at the same work."
    if tried is None:
        return "Nothing is open."
    return _settled(tried) if deciding(report.evidence) else "No replay can tell more."


_PROVE: Final = " In Forkpoint, “Prove it” on this diff does that."
_CHANCE: Final = " Where a model gave the answer, it also repeats both runs, about 10 replays more, to rule out chance."


def _newest(evidence: Sequence[Evidence]) -> Evidence | None:
    """What was tried last about the answer, and settled nothing."""
    return next((one for one in reversed(evidence) if one.question.kind.startswith("answer")), None)


def _settled(found: Evidence) -> str:
    """What is left to do where no replay can tell more."""
    if found.verdict == "noise" and not found.noise.base_n:
        return "Nothing is open. How often it comes out so, repeats would say."
    if found.verdict == "noise":
        rare = found.noise.base_n == found.noise.base_flips
        poor = " No repeat of the base came out as the base did when it was recorded: take a typical run as the base."
        said = "There is no cause to look for in these two runs. An experiment with several samples of each says more."
        return f"{said}{poor if rare else ''}"
    if found.verdict in {"joint", "over_determined"}:
        return "Every combination that was needed was tried, once each: an experiment with several samples says more."
    more = ", and those that could not run are not needed for it" if skipped(found) > 0 else ""
    return f"Nothing is open: the replays that show it are listed below{more}."


def _inner(text: str) -> str:
    return text[:1].lower() + text[1:]
