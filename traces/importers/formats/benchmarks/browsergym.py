"""BrowserGym trajectories as AgentRewardBench publishes them: WebArena, VisualWebArena, WorkArena, AssistantBench.

A step is what the agent saw, what it thought, and its action. What the action led to is the next step's observation.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from traces.core.json_access import as_list, as_object, as_objects, as_text, first_member, has_list
from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedJudgement, RecordedRun
from traces.core.vocabulary import StepStatus
from traces.importers.common import benchmark_scores, transcripts
from traces.importers.common.identity import content_id
from traces.importers.common.judgements import judgement, termination
from traces.importers.common.model_calls import normalize_parameters, normalize_provider
from traces.importers.common.run_builder import RunFacts, app_name, build_run
from traces.importers.common.transcript_messages import TextAction, TranscriptMessage, TranscriptSettings
from traces.importers.files.source import Source

FORMAT: Final = "browsergym"
_NAME: Final = re.compile(r"\s*([a-z_]+)\s*\(")
# Fields of a step that are no observation.
_OWN_FIELDS: Final = frozenset({"chat_messages", "reasoning", "action", "stats", "num"})
# Dumps of the page, of which `axtree` is the text: they make a file a hundred times as large.
_DUMPS: Final = frozenset({"axtree_obj", "axtree_pruned", "bounding_boxes", "extra_element_properties"})
_COUNTS: Final = ("input_tokens", "output_tokens", "cost")


def is_trajectory(value: JSONValue) -> bool:
    """Return True if `value` is the trajectory of a task."""
    body = as_object(value)
    return {"benchmark", "summary_info"} <= body.keys() and ("experiment" in body or has_list(body, "steps"))


def parse(source: Source) -> Iterator[RecordedRun]:
    """Yield one run per trajectory."""
    for body, location in source.entries():
        yield _run(body, location)


def _run(body: JSONObject, location: str) -> RecordedRun:
    observations = as_objects(as_list(body.get("steps")))
    settings = as_object(body.get("model_args"))
    model = as_text(first_member(body, "model") or settings.get("model_name"))
    benchmark, summary = as_text(body.get("benchmark")), as_object(body.get("summary_info"))
    goal: JSONObject = {"role": "user", "content": body.get("goal")}
    request = [TranscriptMessage(value=goal, location=f"{location}/goal")] if body.get("goal") else []
    steps = transcripts.build_steps(
        [*request, *_entries(observations, f"{location}/steps")],
        TranscriptSettings(
            model=model.rpartition("/")[2],
            provider=normalize_provider(model.partition("/")[0] if "/" in model else None, model),
            parameters=normalize_parameters(settings),
            agent=as_text(body.get("agent")) or "agent",
        ),
    )
    error = as_text(summary.get("err_msg"))
    if error:
        steps[0] = replace(steps[0], status=StepStatus.ERROR, error=error)
    elif not observations:
        steps = benchmark_scores.fail_without_turns(steps, "")
    return build_run(
        RunFacts(
            external_id=f"{as_text(body.get('experiment')) or FORMAT}-{content_id(body, location)}",
            app=app_name(benchmark) or FORMAT,
            format=FORMAT,
            failed=bool(error),
            tags=[f"benchmark:{benchmark}"],
            metadata={
                **{name: item for name, item in body.items() if name not in ("steps", "goal")},
                "first_observation": _observation(observations[0]) if observations else None,
            },
            judgements=_judgements(summary),
        ),
        steps,
        location=location,
    )


def _judgements(summary: JSONObject) -> Iterator[RecordedJudgement]:
    if isinstance(reward := summary.get("cum_reward"), int | float):
        yield judgement("reward", float(reward))
    if summary.get("truncated") is True:
        yield termination("truncated")


def _entries(observations: list[JSONObject], location: str) -> Iterator[TranscriptMessage]:
    for index, step in enumerate(observations):
        action, messages = as_text(step.get("action")), as_list(step.get("chat_messages"))
        if not action and not step.get("reasoning") and not messages:
            # The last observation, after the last action.
            continue
        after = observations[index + 1] if index + 1 < len(observations) else None
        last = as_object(messages[-1]) if messages else {}
        has_answer = last.get("role") == "assistant"
        yield TranscriptMessage(
            value=_answer(step, last if has_answer else {}),
            location=f"{location}/{index}",
            request_messages=(messages[:-1] if has_answer else messages) or None,
            actions=(_action(action, after),) if action else (),
        )


def _answer(step: JSONObject, message: JSONObject) -> JSONObject:
    """Return the answer: the recorded one, else what the agent thought and its action."""
    stats = as_object(step.get("stats"))
    parts = [part for part in (as_text(step.get("reasoning")), as_text(step.get("action"))) if part]
    cost = stats.get("cost")
    return {
        "role": "assistant",
        "content": message.get("content") or "\n".join(parts) or None,
        "usage": {name: stats[name] for name in _COUNTS[:2] if name in stats},
        **({"cost": cost} if cost else {}),
        **{name: item for name, item in stats.items() if name not in _COUNTS},
        **({"reasoning": step["reasoning"]} if message.get("content") and step.get("reasoning") else {}),
    }


def _action(action: str, after: JSONObject | None) -> TextAction:
    """Return an action with what the agent saw after it."""
    name = match[1] if (match := _NAME.match(action)) else "action"
    error = as_text((after or {}).get("last_action_error"))
    status = StepStatus.ERROR if error else StepStatus.OK if after else StepStatus.PARTIAL
    return TextAction(
        name=name,
        arguments={"action": action},
        output=_observation(after) if after else None,
        error=error,
        status=status,
    )


def _observation(step: JSONObject) -> JSONObject:
    hidden_fields = _OWN_FIELDS | (_DUMPS if step.get("axtree") else frozenset())
    return {name: item for name, item in step.items() if name not in hidden_fields and item not in (None, "")}
