"""Sentences about what a replay does otherwise than its recording or its plan. Pure."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Final

import orjson

from traces.core.json_types import JSONValue
from traces.core.vocabulary import Label, Reason

_SHOWN: Final = 60
_LISTED: Final = 5
NOT_FOLLOWED: Final = "which is not followed"
CUT_SHORT: Final = "The loop was stopped after"
WITHOUT_OUTPUT: Final = "No output of its own was recorded; steps inside of it are not as recorded"
CHANGED_INPUT: Final = "Assumed unaffected: its input changed, and nothing inside of it shows what of that it took up"
RESULT_KEPT: Final = "the recorded result is kept"

_PLANNED: Final[Mapping[str, str]] = {
    Label.EXACT: "was planned to keep its recorded answer",
    Label.CACHED: "was planned to be answered from the cache",
    Label.SIMULATED: "was planned to be simulated",
    "unreached": "was not planned to be reached",
    "blocked": "was planned to stop the replay",
}
_BECAME: Final[Mapping[str, str]] = {
    Reason.SOURCE_OUTPUT_REUSED: "kept its recorded answer",
    Reason.OPERATOR_OVERRIDE: "was answered by the operator",
    Reason.CACHE_SIGNATURE: "was answered from the cache by the same call",
    Reason.CACHE_SEMANTIC: "was answered from the cache by a similar call",
    Reason.LIVE_MODEL: "was answered live",
    Reason.LIVE_TOOL: "was answered live",
    Reason.LIVE_RETRIEVAL: "was answered live",
    Reason.SIDE_EFFECT_BLOCKED: "was blocked, because the tool may have side effects",
    Reason.DUPLICATE_SUPPRESSED: "was not made again, because the same call had succeeded in this turn",
    Reason.DENIED: "was denied by a hook",
    Reason.STOPPED: "was replaced by what a hook said when it stopped the agent",
    Reason.ASSUMED_UNAFFECTED: "kept its recorded output on an assumption",
    Reason.DERIVED: "took its output from the steps inside of it",
    Reason.POLICY_FALLBACK: "got a placeholder, because nothing could answer it",
}
_BECOMES: Final[Mapping[str, str]] = {
    Reason.SOURCE_OUTPUT_REUSED: "is answered by the recording",
    Reason.CACHE_SIGNATURE: "is answered from the cache by the same call",
    Reason.CACHE_SEMANTIC: "is answered from the cache by a similar call",
    Reason.LIVE_MODEL: "goes live",
    Reason.LIVE_TOOL: "goes live",
    Reason.LIVE_RETRIEVAL: "goes live",
    Reason.SIDE_EFFECT_BLOCKED: "is blocked",
    Reason.DUPLICATE_SUPPRESSED: "is not made again",
    Reason.OPERATOR_OVERRIDE: "is asked about",
    Reason.POLICY_FALLBACK: "gets a placeholder",
}


def sentence(text: str) -> str:
    """`text` with a capital at its start."""
    return text[:1].upper() + text[1:]


def new_calls(calls: Sequence[tuple[str, str]]) -> str:
    """Calls that the recording does not have: each with the reason for what becomes of it."""
    made = "1 call is made" if len(calls) == 1 else f"{len(calls)} calls are made"
    named = [f"{name} {_BECOMES.get(reason, 'gets no answer')}" for name, reason in calls[:_LISTED]]
    more = f", and {len(calls) - _LISTED} more" if len(calls) > _LISTED else ""
    return f"{made} that the recording does not have: {', '.join(named)}{more}."


def ending_derived(numbers: Sequence[int]) -> str:
    """Where the output of a step that holds others comes from."""
    return sentence(f"its output is that of {step_list(numbers)}")


def ending_unknown(numbers: Sequence[int]) -> str:
    """Of a step that holds others: its output is kept, and nobody knows whether it should be."""
    inside = step_list(numbers) if numbers else "the steps"
    return f"Assumed unaffected: what {inside} inside of it may have put into its output cannot be seen"


def result_kept(no: int, holder: int) -> str:
    return (
        f"What step {no} says now cannot be put into the result of step {holder}, "
        f"which does not hold what it said: {RESULT_KEPT}."
    )


def spoken_between(no: int) -> str:
    return (
        f"Between its calls the recording tells the model something before step {no}, and which step that comes from "
        "cannot be seen: the calls that are made now are followed to their end, and then the replay goes on there."
    )


def not_searched(no: int) -> str:
    return (
        f"Step {no} is asked without a search before it, as the recorded calls were: how the search would be asked "
        "cannot be seen beyond the recording."
    )


def step_list(numbers: Iterable[int]) -> str:
    """`step 3`, or `steps 3, 5 to 7 and 9`, the first few of them."""
    distinct = set(numbers)
    ranges = list(islice(_ranges(distinct), _LISTED))
    if not ranges:
        return "no steps"
    if len(distinct) == 1:
        return f"step {ranges[0][0]}"
    shown = [_range(first, last) for first, last in ranges]
    if (left := len(distinct) - sum(last - first + 1 for first, last in ranges)) > 0:
        return f"steps {', '.join(shown)} and {left} more"
    return f"steps {' and '.join(filter(None, (', '.join(shown[:-1]), shown[-1])))}"


def unreached_steps(numbers: Iterable[int]) -> list[str]:
    """What is said of recorded steps that the replay did not come to."""
    listed = list(numbers)
    if not listed:
        return []
    return [sentence(f"{step_list(listed)} {'was' if len(listed) == 1 else 'were'} not reached any more.")]


def deviation(no: int, planned: str, reason: str) -> str:
    """A step that was resolved in another way than planned."""
    was, became = _PLANNED.get(planned, f"was planned as {planned}"), _BECAME.get(reason, "could not be answered")
    return f"Step {no} {was}, but {became}."


def changed_arguments(no: int, tool: str, before: JSONValue, after: JSONValue) -> str:
    """A call of a tool that the recording called here with other arguments."""
    return f"Step {no}: {tool} was asked with {_differences(before, after)}."


def new_call(no: int, tool: str) -> str:
    return f"Step {no}: {tool} was asked, which the recording did not do here."


def _differences(before: JSONValue, after: JSONValue) -> str:
    if not isinstance(before, dict) or not isinstance(after, dict):
        return f"{_value(after)} instead of {_value(before)}"
    said = [
        f"{name} {_value(after[name])} instead of {_value(before[name])}"
        for name in after
        if name in before and after[name] != before[name]
    ]
    said += [f"{name} {_value(after[name])}, which it was not before" for name in after if name not in before]
    said += [f"no {name}, which was {_value(before[name])}" for name in before if name not in after]
    if not said:
        return "the same arguments in another form"
    more = f" and {len(said) - _LISTED} more differences" if len(said) > _LISTED else ""
    return "; ".join(said[:_LISTED]) + more


def _value(value: JSONValue) -> str:
    text = orjson.dumps(value).decode()
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def _ranges(numbers: set[int]) -> Iterator[tuple[int, int]]:
    """The runs of numbers that follow one another, one by one: a conversation has thousands, and few are named."""
    first = last = None
    for number in sorted(numbers):
        if first is None or last is None:
            first = number
        elif number != last + 1:
            yield first, last
            first = number
        last = number
    if first is not None and last is not None:
        yield first, last


def _range(first: int, last: int) -> str:
    return str(first) if first == last else f"{first} to {last}" if last > first + 1 else f"{first}, {last}"


def assumed_warning(numbers: Sequence[int]) -> str:
    """That steps keep their output without proof, and what can be done."""
    subject, verb = ("1 step is", "keeps its") if len(numbers) == 1 else (f"{len(numbers)} steps are", "keep their")
    return (
        f"{subject} assumed unaffected and {verb} recorded output: {step_list(numbers)}. "
        "The agent's code may have made part of the input from what changes; set the value by hand where it did."
    )
