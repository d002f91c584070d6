"""Spans that the tracer of a provider's client writes, beside an agent tracer's span of the same call.

Both would be model steps, and the tokens of the call would count twice. The client's span becomes an attribute of the
tracer's step: if it has no messages, or is inside a span of the same response. The Agent Development Kit has two spans
of each call itself.
"""

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import Final

from traces.core.json_access import as_object
from traces.core.json_types import JSONObject
from traces.core.recorded_run import RecordedStep
from traces.core.vocabulary import StepType
from traces.payloads.messages import ModelRequest

_RESPONSE_ID: Final = "gen_ai.response.id"
# Calls of one agent that run at the same time.
_MOST_AT_ONCE: Final = 50


def join_client_spans(steps: Sequence[RecordedStep]) -> list[RecordedStep]:
    """Return the steps without those that repeat another one."""
    models = [step for step in steps if step.type is StepType.MODEL]
    if not _may_repeat(models):
        return list(steps)
    # In order of time, because several calls may run at once, and a client may try again.
    models.sort(key=_start)
    bare = [step for step in models if step.input is None and step.output is None]
    homes = _homes(bare, [step for step in models if step.input is not None], _repetitions(bare, models))
    if not homes:
        return list(steps)
    guests = {home.key: step for step in models if (home := homes.get(step.key)) is not None}
    return [
        _with_client_span(_inside_home(step, homes), guests.get(step.key)) for step in steps if step.key not in homes
    ]


def _may_repeat(models: Sequence[RecordedStep]) -> bool:
    """Quick check whether a model step has no messages or is inside another one; in most traces, none is."""
    keys = {step.key for step in models}
    is_nested = not keys.isdisjoint([step.parent for step in models if step.parent is not None])
    return is_nested or any(step.input is None and step.output is None for step in models)


def _homes(
    bare: Sequence[RecordedStep], whole: Sequence[RecordedStep], repetitions: dict[str, RecordedStep]
) -> dict[str, RecordedStep]:
    """Return the step of which each other one becomes a part, by key. A step has one part: the last, after retries."""
    homes = repetitions | _outer_spans(whole)
    pairs = homes.keys() | {outer.key for outer in homes.values()}
    vacant = [step for step in whole if step.key not in pairs]
    by_key = {step.key: step for step in vacant}
    siblings: defaultdict[str | None, list[RecordedStep]] = defaultdict(list)
    for step in vacant:
        siblings[step.parent].append(step)
    for step in reversed([step for step in bare if step.key not in homes]):
        outer = [by_key[step.parent]] if step.parent in by_key else []
        if (home := _home(step, outer + _recent(step, siblings[step.parent]), pairs)) is not None:
            homes[step.key] = home
            pairs.add(home.key)
    return homes


def _repetitions(bare: Sequence[RecordedStep], models: Sequence[RecordedStep]) -> dict[str, RecordedStep]:
    """Return the span directly around each bare span of the same tracer with the same counts, by key."""
    if not bare:
        return {}
    spans = {step.key: step for step in models}
    inner_counts = Counter([step.parent for step in models])
    return {
        step.key: outer
        for step in bare
        if (outer := spans.get(step.parent or "")) is not None
        and inner_counts[step.parent] == 1
        and step.tokens_in is not None
        and _facts(outer) == _facts(step)
    }


def _facts(step: RecordedStep) -> tuple[object, ...]:
    return step.attributes.get("scope"), step.model, step.tokens_in, step.tokens_out


def _outer_spans(whole: Sequence[RecordedStep]) -> dict[str, RecordedStep]:
    """Return the span around each span of the same call, which contains the same messages, by key."""
    spans = {step.key: step for step in whole}
    inner_counts = Counter([step.parent for step in whole])
    outer_spans = {
        step.key: outer
        for step in whole
        if (outer := spans.get(step.parent or "")) is not None
        and inner_counts[step.parent] == 1
        and _is_same_call(outer, step)
    }
    return {key: outer for key, outer in outer_spans.items() if outer.key not in outer_spans}


def _is_same_call(outer: RecordedStep, inner: RecordedStep) -> bool:
    """Return whether two spans are of one response, or the outer one lacks it."""
    response = outer.attributes.get(_RESPONSE_ID)
    is_same = response == inner.attributes.get(_RESPONSE_ID) if response else outer.output is None
    return is_same and _message_count(outer) == _message_count(inner)


def _message_count(step: RecordedStep) -> int:
    return len(ModelRequest(step.input).messages)


def _recent(bare: RecordedStep, siblings: list[RecordedStep]) -> list[RecordedStep]:
    """Return the last steps that began before this one. A trace may have thousands, of which few run at once."""
    end = bisect_right(siblings, _start(bare), key=_start)
    return siblings[max(0, end - _MOST_AT_ONCE) : end]


def _home(bare: RecordedStep, whole: Sequence[RecordedStep], pairs: AbstractSet[str]) -> RecordedStep | None:
    """Return the step of the same call, which another tracer wrote: beside or around the step, at the same time."""
    candidates = [
        step for step in whole if step.key not in pairs and _is_other_tracer(bare, step) and _is_during(bare, step)
    ]
    response = bare.attributes.get(_RESPONSE_ID)
    same = [step for step in candidates if response and step.attributes.get(_RESPONSE_ID) == response]
    return next(reversed(same or candidates), None)


def _is_other_tracer(bare: RecordedStep, whole: RecordedStep) -> bool:
    return bare.model == whole.model and bare.attributes.get("scope") != whole.attributes.get("scope")


def _start(step: RecordedStep) -> float:
    return step.started_at.timestamp() if step.started_at is not None else 0.0


def _is_during(bare: RecordedStep, whole: RecordedStep) -> bool:
    if bare.started_at is None or whole.started_at is None:
        return False
    return whole.started_at <= bare.started_at <= (whole.ended_at or bare.started_at)


def _with_client_span(step: RecordedStep, guest: RecordedStep | None) -> RecordedStep:
    if guest is None:
        return step
    usage: JSONObject = {"in": guest.tokens_in, "out": guest.tokens_out, "cached": guest.tokens_cached}
    span: JSONObject = {"span_id": guest.key, "name": guest.name, "attributes": guest.attributes, "tokens": usage}
    request = {**as_object(guest.input), **as_object(step.input)}
    output = guest.output if step.output is None else step.output
    differences: JSONObject = {
        "error": guest.error,
        "request": {name: value for name, value in as_object(guest.input).items() if request[name] != value},
        "output": None if guest.output == output else guest.output,
    }
    span |= {name: value for name, value in differences.items() if value}
    return replace(
        step,
        input=request or None,
        output=output,
        tokens_in=guest.tokens_in if step.tokens_in is None else step.tokens_in,
        tokens_out=guest.tokens_out if step.tokens_out is None else step.tokens_out,
        tokens_cached=guest.tokens_cached if step.tokens_cached is None else step.tokens_cached,
        attributes={**step.attributes, "client_span": span},
    )


def _inside_home(step: RecordedStep, homes: dict[str, RecordedStep]) -> RecordedStep:
    """Return a step that was inside a client's span inside the tracer's."""
    home = homes.get(step.parent or "")
    return step if home is None else replace(step, parent=home.key)
