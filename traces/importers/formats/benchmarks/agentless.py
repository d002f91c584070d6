"""Agentless: results of its phases, with the prompt and the response of each call."""

from collections.abc import Iterator
from typing import Final

from traces.core.json_access import as_list, as_object, as_text, list_or_single
from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedRun, RecordedStep
from traces.core.vocabulary import StepType
from traces.importers.common.identity import content_id
from traces.importers.common.messages import normalize_messages, result_text
from traces.importers.common.model_calls import normalize_usage
from traces.importers.common.run_builder import AGENT_KEY, RunFacts, build_run
from traces.importers.files.source import Source

FORMAT: Final = "agentless"
_CALL: Final = frozenset({"prompt", "response"})


def is_result(value: JSONValue) -> bool:
    """Return True if `value` is the result of a phase for an instance, with its calls."""
    body = as_object(value)
    return "instance_id" in body and any(_is_trajectory(name, item) for name, item in body.items())


def parse(source: Source) -> Iterator[RecordedRun]:
    """Yield one run per result."""
    for body, location in source.entries():
        yield _run(body, location)


def _is_trajectory(name: str, value: JSONValue) -> bool:
    return name.endswith("traj") and any(as_object(call).keys() >= _CALL for call in list_or_single(value))


def _run(body: JSONObject, location: str) -> RecordedRun:
    instance = as_text(body.get("instance_id"))
    steps = [RecordedStep(key=AGENT_KEY, type=StepType.AGENT, name=FORMAT)]
    facts: JSONObject = {}
    for name, item in body.items():
        if _is_trajectory(name, item):
            steps += _calls(name, item, f"{location}/{name}")
        else:
            facts[name] = item
    return build_run(
        RunFacts(
            external_id=f"{instance}-{content_id(body, location)}",
            app=FORMAT,
            format=FORMAT,
            name=instance,
            tags=[f"task:{instance}"],
            metadata=facts,
        ),
        steps,
        location=location,
    )


def _calls(name: str, trajectory: JSONValue, location: str) -> Iterator[RecordedStep]:
    """Yield a model call per prompt. A call may have several responses: the others are attributes."""
    for index, item in enumerate(list_or_single(trajectory)):
        call = as_object(item)
        response = call.get("response")
        first, *alternatives = as_list(response) if isinstance(response, list) and response else [response]
        usage = normalize_usage(as_object(call.get("usage")), f"{location}/{index}/usage")
        output: JSONObject = {"message": {"role": "assistant", "content": _text(first)}}
        rest = {key: value for key, value in call.items() if key not in {*_CALL, "usage"} and value not in (None, "")}
        yield RecordedStep(
            key=f"{name}-{index + 1}",
            type=StepType.MODEL,
            name=name,
            parent=AGENT_KEY,
            input={"messages": [*normalize_messages(call.get("prompt"))]},
            output=None if response is None else output,
            tokens_in=usage.tokens_in,
            tokens_out=usage.tokens_out,
            tokens_cached=usage.tokens_cached,
            attributes={**rest, **({"other_responses": [*alternatives]} if alternatives else {})},
        )


def _text(response: JSONValue) -> str:
    return response if isinstance(response, str) else result_text(response)
