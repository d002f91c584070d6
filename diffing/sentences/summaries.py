"""Summaries and titles of a report's sections, and the notes on content that was not compared. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Literal

from diffing.schemas.sections import Relation
from diffing.sentences.changes import METHODS
from diffing.sentences.text import capitalize, count_noun
from diffing.sentences.verdicts import RunSide


@dataclass(frozen=True, kw_only=True, slots=True)
class UnpairedCounts:
    """Steps of one type that are unpaired or moved."""

    noun: str
    candidate_only: int = 0
    base_only: int = 0
    moves: int = 0


def unpaired_steps(counts: UnpairedCounts) -> str:
    """Unpaired and moved steps, as a clause; empty if there are none."""
    groups = (
        (counts.candidate_only, "only in the candidate"),
        (counts.base_only, "only in the base"),
        (counts.moves, "in another place"),
    )
    return ", ".join(f"{count_noun(count, counts.noun)} {place}" for count, place in groups if count)


class SectionState(StrEnum):
    """A section without a difference to describe."""

    NO_PROMPTS = "no_prompts"
    UNRECORDED_PROMPTS = "unrecorded_prompts"
    SAME_PROMPTS = "same_prompts"
    SAME_PROMPTS_OTHER_HISTORY = "same_prompts_other_history"
    NO_RETRIEVALS = "no_retrievals"
    SAME_DOCUMENTS = "same_documents"
    NO_TOOLS = "no_tools"
    SAME_CALLS = "same_calls"
    NO_MODELS = "no_models"
    NO_STEPS = "no_steps"
    SAME_ANSWERS = "same_answers"
    ANSWERS_DIFFER = "answers_differ"


_STATES: Final[Mapping[SectionState, str]] = {
    SectionState.NO_PROMPTS: "Neither run has a prompt.",
    SectionState.UNRECORDED_PROMPTS: "No prompts to compare: no paired request is recorded on both sides.",
    SectionState.SAME_PROMPTS: "The prompts are the same.",
    SectionState.SAME_PROMPTS_OTHER_HISTORY: "The prompts are the same, except for outputs of earlier steps in the "
    "requests.",
    SectionState.NO_RETRIEVALS: "Neither run retrieves documents.",
    SectionState.SAME_DOCUMENTS: "The retrieved documents are the same.",
    SectionState.NO_TOOLS: "Neither run calls a tool.",
    SectionState.SAME_CALLS: "The same calls with the same results.",
    SectionState.NO_MODELS: "Neither run calls a model.",
    SectionState.NO_STEPS: "Neither run has steps.",
    SectionState.SAME_ANSWERS: "The final answers are the same.",
    SectionState.ANSWERS_DIFFER: "The final answers differ.",
}


def section_state(state: SectionState) -> str:
    """The summary of a section without a difference to describe."""
    return _STATES[state]


def prompt_changes(phrase: str, more: int, *, is_text: bool) -> str:
    """The first prompt change, and the number of the others: other prompt texts, or other differences."""
    noun = "other prompt text" if is_text else "other difference"
    return f"{phrase}{f', and {count_noun(more, noun)}' if more > 0 else ''}."


_DOCUMENT_CHANGES: Final = ("added", "removed", "moved", "reworded", "rescored")


def document_changes(retrievals: int, counts: Mapping[str, int]) -> str:
    """Retrievals with different documents, and the numbers of documents by change."""
    changes = ", ".join(f"{counts[change]} {change}" for change in _DOCUMENT_CHANGES if counts.get(change))
    return f"{count_noun(retrievals, 'retrieval')} returned different documents: {changes or 'other fields differ'}."


def same_documents(phrase: str) -> str:
    """A change of a retrieval's input that left the documents as they were."""
    return f"{phrase}; the documents are the same."


_CALL_CHANGES: Final[Mapping[str, str]] = {
    "arguments": "different arguments",
    "result": "a different result",
    "status": "a different status",
}


def tool_changes(counts: Mapping[str, int], unpaired_counts: UnpairedCounts) -> str:
    """Differing tool calls by kind of difference, and unpaired calls; empty if there are none."""
    parts = [
        f"{count_noun(counts[kind], 'call')} with {change}"
        for kind, change in _CALL_CHANGES.items()
        if counts.get(kind)
    ]
    return _sentence([*parts, unpaired_steps(unpaired_counts)])


def model_changes(phrases: Sequence[str], differing: int, pairs: int, unpaired_counts: UnpairedCounts) -> str:
    """Changes of the models' settings, the number of differing answers, and unpaired calls."""
    answers = "no answers to compare"
    if pairs:
        verb = "differs" if differing == 1 else "differ"
        answers = f"{differing} of {count_noun(pairs, 'answer')} {verb}" if differing else "the answers are the same"
    return _sentence([*phrases, answers, unpaired_steps(unpaired_counts)])


def answer_similarity(reading: str, score: float, method: str) -> str:
    """How similar the final answers are."""
    return f"The final answers are {reading} (similarity {score:.2f} of 1, {METHODS[method]})."


def only_answer(side: RunSide) -> str:
    """Only one run has a final answer."""
    return f"Only the {side} has a final answer."


@dataclass(frozen=True, kw_only=True, slots=True)
class RunTotals:
    """Differences of two runs; `untested_step`: a failed step, and the side that did not run it."""

    base_status: str
    candidate_status: str
    steps: int
    # None: unknown for a run.
    tokens: int | None
    base_errors: int = 0
    candidate_errors: int = 0
    untested_step: tuple[int, RunSide] | None = None


def run_totals(totals: RunTotals) -> str:
    """Status, steps, tokens and errors of two runs."""
    statuses = totals.base_status, totals.candidate_status
    parts = [f"Both {statuses[0]}" if statuses[0] == statuses[1] else " → ".join(statuses)]
    parts.append(_difference(totals.steps, "step"))
    if totals.tokens is not None:
        parts.append(_difference(totals.tokens, "token"))
    if totals.base_errors or totals.candidate_errors:
        parts.append(f"errors {totals.base_errors} → {totals.candidate_errors}{_untested_note(totals.untested_step)}")
    return _sentence(parts)


def _difference(difference: int, noun: str) -> str:
    if not difference:
        return f"the same number of {noun}s"
    return count_noun(abs(difference), f"{'more' if difference > 0 else 'fewer'} {noun}")


def _untested_note(step: tuple[int, RunSide] | None) -> str:
    if step is None:
        return ""
    other_side = "base" if step[1] == "candidate" else "candidate"
    return f" (step {step[0]} failed in the {other_side} and was not run in the {step[1]})"


def _sentence(parts: Sequence[str]) -> str:
    clauses = [part for part in parts if part]
    return f"{capitalize('; '.join(clauses))}." if clauses else ""


def group_title(kind: str, notes: Sequence[str]) -> str:
    """The title of a group of differing values."""
    return f"{capitalize(kind)}: {'; '.join(notes)}"


def item_title(step: str, note: str) -> str:
    """The title of a difference at a step."""
    return f"{step}: {note}"


_PLACES: Final[Mapping[Relation, str]] = {
    "added": "only in the candidate",
    "removed": "only in the base",
    "moved": "in another place",
}


def unpaired_title(step: str, relation: Relation, summary: str) -> str:
    """The title of an unpaired or moved step."""
    return f"{step}, {_PLACES[relation]}{f': {summary}' if summary else ''}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Gap:
    """Content that was not compared, and the reason."""

    content: str
    reason: str


def more_steps(count: int, limit: int) -> Gap:
    """Differing steps beyond the limit."""
    return Gap(
        content=f"{count:,} more differing steps",
        reason=f"the first {limit} are compared in detail; the list of steps contains the others",
    )


def more_differences(count: int, limit: int) -> Gap:
    """Differences of a section beyond the limit."""
    return Gap(
        content=f"{count} more differences",
        reason=f"a section shows the first {limit}; the list of steps contains all of them",
    )


def missing_payload(part: str, missing_refs: Mapping[RunSide, str]) -> str:
    """A recorded payload that the store does not have, as a reason."""
    owner = "both runs" if len(missing_refs) > 1 else f"the {next(iter(missing_refs))}"
    digests = " and ".join(sorted(missing_refs.values()))
    return f"the {part} of {owner} is recorded, but its artifact is missing or damaged ({digests})"


def lost_part(part: str, digest: str) -> str:
    """A part of a payload that the store does not have, as a reason."""
    return f"part of the {part} is recorded, but its artifact is missing or damaged ({digest})"


class Recordable(StrEnum):
    """Content of a step that a recording may lack."""

    SYSTEM_PROMPT = "the system prompt"
    INPUT = "the input"
    OUTPUT = "the output"
    MODEL_NAME = "the model name"


def unrecorded_content(content: Recordable, step_type: str, count: int) -> Gap:
    """Steps that lack some content on one side."""
    steps = count_noun(count, f"{step_type} step")
    return Gap(content=f"{content.value} of {steps}", reason="one or both runs did not record it")


NO_SYSTEM_PROMPT: Final = "the recorded requests of both runs contain none"


def unknown_total(content: Literal["tokens", "cost"], sides: Sequence[RunSide]) -> Gap:
    """Runs of which a total is unknown."""
    return Gap(content=content, reason=f"unknown for the {' and the '.join(sides)}")
