"""Sentences about differences between a replay and its recording or plan. Pure."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Final

import orjson

from traces.core.json_types import JSONValue
from traces.core.vocabulary import Label, Reason

_MAX_VALUE_LENGTH: Final = 60  # characters
_MAX_ITEMS: Final = 5
NOT_FOLLOWED: Final = "which is not followed"
TURN_LIMIT: Final = "The loop was stopped after"
WITHOUT_OUTPUT: Final = "It has no recorded output, and steps inside it differ from the recording"
CHANGED_INPUT: Final = (
    "Assumed unaffected: its input changed, and no step inside it shows whether that affects its output"
)
RESULT_KEPT: Final = "the recorded result is kept"

_PLAN_PHRASES: Final[Mapping[str, str]] = {
    Label.EXACT: "was planned to keep its recorded answer",
    Label.CACHED: "was planned to be answered from the cache",
    Label.SIMULATED: "was planned to be simulated",
    "unreached": "was not planned to be reached",
    "blocked": "was planned to stop the replay",
}
_OUTCOME_PHRASES: Final[Mapping[str, str]] = {
    Reason.SOURCE_OUTPUT_REUSED: "kept its recorded answer",
    Reason.SOURCE_OUTPUT_UNVERIFIED: "kept its recorded output, unverified",
    Reason.OPERATOR_OVERRIDE: "was answered by the operator",
    Reason.CACHE_SIGNATURE: "was answered from the cache by the same call",
    Reason.CACHE_SEMANTIC: "was answered from the cache by a similar call",
    Reason.CACHE_NORMALISED: "got its recorded answer after volatile values were mapped",
    Reason.AGENT_RAN: "was run by the agent",
    Reason.LIVE_MODEL: "was answered live",
    Reason.LIVE_TOOL: "was answered live",
    Reason.LIVE_RETRIEVAL: "was answered live",
    Reason.SIDE_EFFECT_BLOCKED: "was blocked, because the tool may have side effects",
    Reason.DUPLICATE_SUPPRESSED: "was not made again, because the same call succeeded earlier in this turn",
    Reason.DENIED: "was denied by a hook",
    Reason.STOPPED: "was replaced by the message of the hook that stopped the agent",
    Reason.ASSUMED_UNAFFECTED: "kept its recorded output on an assumption",
    Reason.DERIVED: "took its output from the steps inside it",
    Reason.POLICY_FALLBACK: "got a placeholder, because nothing could answer it",
}
_FORECAST_PHRASES: Final[Mapping[str, str]] = {
    Reason.SOURCE_OUTPUT_REUSED: "is answered by the recording",
    Reason.CACHE_SIGNATURE: "is answered from the cache by the same call",
    Reason.CACHE_SEMANTIC: "is answered from the cache by a similar call",
    Reason.LIVE_MODEL: "goes live",
    Reason.LIVE_TOOL: "goes live",
    Reason.LIVE_RETRIEVAL: "goes live",
    Reason.SIDE_EFFECT_BLOCKED: "is blocked",
    Reason.DUPLICATE_SUPPRESSED: "is not made again",
    Reason.OPERATOR_OVERRIDE: "asks the operator",
    Reason.POLICY_FALLBACK: "gets a placeholder",
}


def recorded_outcome(reason: str) -> str:
    """Describe how a replay obtained an output."""
    return _OUTCOME_PHRASES.get(reason, "was simulated")


def sentence(text: str) -> str:
    """Capitalise the first letter of a text."""
    return text[:1].upper() + text[1:]


def new_calls(calls: Sequence[tuple[str, str]]) -> str:
    """Describe calls that are not in the recording, given as names and reasons."""
    subject = "1 new call is made" if len(calls) == 1 else f"{len(calls)} new calls are made"
    phrases = [f"{name} {_FORECAST_PHRASES.get(reason, 'gets no answer')}" for name, reason in calls[:_MAX_ITEMS]]
    more = f", and {len(calls) - _MAX_ITEMS} more" if len(calls) > _MAX_ITEMS else ""
    return f"{subject}: {', '.join(phrases)}{more}."


def ending_derived(numbers: Sequence[int]) -> str:
    """Describe the origin of a container's output."""
    return sentence(f"its output is that of {step_list(numbers)}")


def ending_unknown(numbers: Sequence[int]) -> str:
    """Describe a container whose output is kept although steps inside it changed."""
    steps = step_list(numbers) if numbers else "the steps"
    return f"Assumed unaffected: the recording does not show what {steps} inside it contributed to its output"


def result_kept(no: int, container: int) -> str:
    return (
        f"The new output of step {no} cannot replace the old one in the result of step {container}, "
        f"which does not contain it: {RESULT_KEPT}."
    )


def unknown_injection(no: int) -> str:
    return (
        f"The recording injects a message of unknown origin into the model's input before step {no}: "
        "the new calls are followed to their end, and the replay then continues at that step."
    )


def missing_search(no: int) -> str:
    return (
        f"Step {no} runs without the search that precedes the recorded calls: "
        "the recording does not show what that search would look for."
    )


def step_list(numbers: Iterable[int], *, count: int | None = None) -> str:
    """List steps: `step 3`, or `steps 3, 5 to 7 and 9`; long lists are cut.

    `count` is the number of all steps if `numbers` are only the first ones.
    """
    distinct = set(numbers)
    total = len(distinct) if count is None else count
    if not distinct:
        return "no steps"
    if total == 1:
        return f"step {min(distinct)}"
    ranges = list(islice(_named_ranges(distinct), _MAX_ITEMS))
    *texts, last_text = [str(first) if first == last else f"{first} to {last}" for first, last in ranges]
    if (rest := total - sum([last - first + 1 for first, last in ranges])) > 0:
        return f"steps {', '.join([*texts, last_text])} and {rest} more"
    return f"steps {', '.join(texts)} and {last_text}" if texts else f"steps {last_text}"


def unreached_steps(numbers: Iterable[int]) -> list[str]:
    """Describe recorded steps that the replay did not reach."""
    steps = list(numbers)
    if not steps:
        return []
    return [sentence(f"{step_list(steps)} {'was' if len(steps) == 1 else 'were'} no longer reached.")]


def deviation(no: int, plan: str, reason: str) -> str:
    """Describe a step with another label than planned."""
    plan_phrase = _PLAN_PHRASES.get(plan, f"was planned as {plan}")
    outcome_phrase = _OUTCOME_PHRASES.get(reason, "could not be answered")
    return f"Step {no} {plan_phrase}, but {outcome_phrase}."


def changed_arguments(no: int, tool: str, before: JSONValue, after: JSONValue) -> str:
    """Describe a tool call whose arguments differ from the recorded call in its place."""
    return f"Step {no}: {tool} was called with {_differences(before, after)}."


def new_call(no: int, tool: str) -> str:
    return f"Step {no}: {tool} was called, which the recording does not do here."


def _differences(before: JSONValue, after: JSONValue) -> str:
    if not isinstance(before, dict) or not isinstance(after, dict):
        return f"{_value(after)} instead of {_value(before)}"
    differences = [
        f"{name} {_value(after[name])} instead of {_value(before[name])}"
        for name in after
        if name in before and after[name] != before[name]
    ]
    differences += [f"new {name} {_value(after[name])}" for name in after if name not in before]
    differences += [f"no {name} instead of {_value(before[name])}" for name in before if name not in after]
    if not differences:
        return "the same arguments in another form"
    more = f" and {len(differences) - _MAX_ITEMS} more differences" if len(differences) > _MAX_ITEMS else ""
    return "; ".join(differences[:_MAX_ITEMS]) + more


def _value(value: JSONValue) -> str:
    text = orjson.dumps(value).decode()
    return text if len(text) <= _MAX_VALUE_LENGTH else f"{text[:_MAX_VALUE_LENGTH]}…"


def _ranges(numbers: set[int]) -> Iterator[tuple[int, int]]:
    """Ranges of consecutive numbers, lazily: a conversation has thousands of steps, and few ranges are named."""
    first, *later_numbers = sorted(numbers)
    last = first
    for number in later_numbers:
        if number != last + 1:
            yield first, last
            first = number
        last = number
    yield first, last


def _named_ranges(numbers: set[int]) -> Iterator[tuple[int, int]]:
    """Ranges as a list names them: two numbers that follow each other are two items."""
    for first, last in _ranges(numbers):
        if last == first + 1:
            yield first, first
            yield last, last
        else:
            yield first, last


def assumed_warning(numbers: Sequence[int]) -> str:
    """Warn that steps are assumed unaffected, and how to change that."""
    if len(numbers) == 1:
        subject, verb, their, clause = "1 step is", "keeps its", "its", "it is"
    else:
        subject, verb, their, clause = f"{len(numbers)} steps are", "keep their", "their", "they are"
    return (
        f"{subject} assumed unaffected and {verb} recorded output: {step_list(numbers)}. A changed output may be part "
        f"of {their} input in another form, or decide whether {clause} run at all; if so, override the value."
    )
