"""R2E-Gym: trajectories of its agent, whose steps have a thought, an action in XML and what it led to."""

import re
from collections.abc import Iterator
from typing import Final

from traces.core.json_access import as_object, as_objects, as_text, first_member, has_list, omit, other_members
from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedJudgement, RecordedRun
from traces.core.vocabulary import StepStatus
from traces.importers.common import benchmark_scores, transcripts
from traces.importers.common.identity import content_id
from traces.importers.common.judgements import judgement, termination
from traces.importers.common.model_calls import normalize_parameters, normalize_provider
from traces.importers.common.run_builder import RunFacts, build_run
from traces.importers.common.transcript_messages import TextAction, TranscriptMessage, TranscriptSettings
from traces.importers.files.source import Source

FORMAT: Final = "r2e-gym"
_FUNCTION: Final = re.compile(r"<function=([\w.-]+)>")
_PARAMETER: Final = re.compile(r"<parameter=([\w.-]+)>(.*?)</parameter>", re.S)
_COUNTS: Final = {"token_usage_prompt": "prompt_tokens", "token_usage_completion": "completion_tokens"}
_STEP_FIELDS: Final = frozenset({"thought", "action", "observation", *_COUNTS, "token_usage_total"})
_SAMPLING: Final = ("temperature", "top_p", "max_tokens")


def is_trajectory(value: JSONValue) -> bool:
    """Return True if `value` is a trajectory."""
    body = as_object(value)
    return has_list(body, "trajectory_steps") and not body.keys().isdisjoint({"problem_statement", "docker_image"})


def parse(source: Source) -> Iterator[RecordedRun]:
    """Yield one run per trajectory."""
    for body, location in source.entries():
        yield _run(body, location)


def _run(body: JSONObject, location: str) -> RecordedRun:
    agent = as_object(body.get("agent_args"))
    model = as_text(agent.get("llm_name"))
    request: JSONObject = {"role": "user", "content": body.get("problem_statement")}
    entries = [TranscriptMessage(value=request, location=location)] if body.get("problem_statement") else []
    entries += [
        _entry(step, f"{location}/trajectory_steps/{index}")
        for index, step in enumerate(as_objects(body.get("trajectory_steps")))
    ]
    settings = TranscriptSettings(
        model=model.rpartition("/")[2],
        provider=normalize_provider(model.partition("/")[0] if "/" in model else None, model),
        parameters=normalize_parameters({name: agent[name] for name in _SAMPLING if name in agent}),
        system=agent.get("system_prompt"),
    )
    reason = as_text(body.get("exit_reason"))
    return build_run(
        RunFacts(
            external_id=f"{FORMAT}-{content_id(body, location)}",
            app=FORMAT,
            format=FORMAT,
            metadata=omit(body, "trajectory_steps", "problem_statement"),
            judgements=_judgements(body, reason),
        ),
        benchmark_scores.fail_without_turns(transcripts.build_steps(entries, settings), reason),
        location=location,
    )


def _judgements(body: JSONObject, reason: str) -> Iterator[RecordedJudgement]:
    if isinstance(reward := body.get("reward"), int | float):
        yield judgement("reward", float(reward))
    if reason:
        yield termination(reason)


def _entry(step: JSONObject, location: str) -> TranscriptMessage:
    texts = [text for name in ("thought", "action") if (text := as_text(step.get(name)).strip())]
    return TranscriptMessage(
        value={
            "role": "assistant",
            "content": "\n\n".join(texts) or None,
            "usage": {name: step[key] for key, name in _COUNTS.items() if step.get(key)},
            **other_members(step, _STEP_FIELDS),
        },
        location=location,
        actions=tuple(_actions(step)),
    )


def _actions(step: JSONObject) -> Iterator[TextAction]:
    action = as_text(step.get("action"))
    if match := _FUNCTION.search(action):
        observation = first_member(step, "observation")
        yield TextAction(
            name=match[1],
            arguments={name: value.strip() for name, value in _PARAMETER.findall(action)},
            output=observation,
            status=StepStatus.PARTIAL if observation is None else StepStatus.OK,
        )
