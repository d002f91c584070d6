"""Relation of a new recording to a stored one with the same identity. Pure.

Recordings grow: a coding agent's session file gets more lines, a span arrives late. A recording continues another one
if it contains all of its steps. For example, with steps as `key: input -> output`:

    stored          new                      relation
    a: 1 -> 2       a: 1 -> 2, b: 2 -> 3     extends: b was added
    a: 1 ->         a: 1 -> 2                extends: a has ended meanwhile
    a: 1 -> 2       (without a) b: 2 -> 3    conflicts: neither contains the other
    a: 1 -> 2       a: 1 -> 5                conflicts: the same step has another output
    a: 1 -> 2       a: 1 -> 2 of b()         conflicts: the same step calls another tool
    a, b            a                        precedes: an older state of the same recording

Spans name their parents by ids, so that a recording of them may also arrive in parts that do not contain each other:

    a, b            c, or b and c            complement each other, if b is the same in both
"""

from collections.abc import Iterable
from enum import StrEnum
from typing import Final, NamedTuple

from traces.core.vocabulary import StepType
from traces.payloads.step_summaries import is_request

# Their payloads summarize other steps, so they change while a recording grows.
_CONTAINERS: Final = frozenset({StepType.AGENT, StepType.TURN})


class Relation(StrEnum):
    EXTENDS = "extends"
    PRECEDES = "precedes"
    CONFLICTS = "conflicts"


class StepState(NamedTuple):
    """A recorded step: its key in the recording, its type, and the digests of its payloads (empty: not recorded).

    `summary` is the beginning of a model's answer, or the calls that it requests. `tool_name` is that of the tool that
    the step calls, if any.
    """

    key: str
    type: str
    input_ref: str
    output_ref: str
    summary: str = ""
    tool_name: str = ""


def is_unchanged(earlier: StepState, later: StepState) -> bool:
    """True if a step of a recording is the same in a later state of it. Payloads of containers may have grown."""
    return earlier == later or (earlier[:2] == later[:2] and earlier.type in _CONTAINERS)


def relation(existing: Iterable[StepState], new: Iterable[StepState]) -> Relation:
    """Relation of a new recording to a stored one.

    If both contain the other, the one with more steps is the later one, because only the final output is missing. With
    equal steps the new recording is the later one, because other fields differ.
    """
    stored_states = {state.key: state for state in existing}
    new_states = {state.key: state for state in new}
    is_longer = len(new_states) >= len(stored_states)
    if is_longer and _continues(stored_states, new_states):
        return Relation.EXTENDS
    if _continues(new_states, stored_states):
        return Relation.PRECEDES
    return Relation.EXTENDS if _continues(stored_states, new_states) else Relation.CONFLICTS


def are_complements(existing: Iterable[StepState], new: Iterable[StepState]) -> bool:
    """True if two recordings may be parts of one: each has steps of its own, and the common ones are the same.

    One of the two may lack a payload of a common step, because it had not ended.
    """
    stored_states = {state.key: state for state in existing}
    new_states = {state.key: state for state in new}
    common = stored_states.keys() & new_states.keys()
    return len(common) < min(len(stored_states), len(new_states)) and all(
        _agree(stored_states[key], new_states[key]) for key in common
    )


def _agree(first: StepState, second: StepState) -> bool:
    pairs = (
        (first.input_ref, second.input_ref),
        (first.output_ref, second.output_ref),
        (first.tool_name, second.tool_name),
    )
    return first.type == second.type and all(a == b or "" in (a, b) for a, b in pairs)


def _continues(earlier: dict[str, StepState], later: dict[str, StepState]) -> bool:
    """True if each earlier step is also in the later recording, equal or more complete.

    The final output is left out: it belongs to the last answer, which changes while a recording grows. The last answer
    itself may have grown if more steps follow: agents log the parts of an answer one by one.
    """
    answers = [key for key, state in earlier.items() if state.type == StepType.MODEL]
    growing = answers[-1] if answers and len(later) > len(earlier) else None
    return all(
        (successor := later.get(key)) is not None and _grew(state, successor, is_growing=key == growing)
        for key, state in earlier.items()
        if state.type != StepType.OUTPUT
    )


def _grew(earlier: StepState, later: StepState, *, is_growing: bool) -> bool:
    if earlier.type != later.type or earlier.tool_name not in ("", later.tool_name):
        return False
    if earlier.type in _CONTAINERS:
        return True
    has_output = earlier.output_ref in ("", later.output_ref) or (is_growing and _is_beginning(earlier, later))
    return has_output and earlier.input_ref in ("", later.input_ref)


def _is_beginning(earlier: StepState, later: StepState) -> bool:
    """True if an answer may be the first parts of a later one: of its text, or what came before its calls."""
    is_text_before_calls = is_request(later.summary) and not is_request(earlier.summary)
    return is_text_before_calls or later.summary.startswith(earlier.summary.removesuffix("…"))
