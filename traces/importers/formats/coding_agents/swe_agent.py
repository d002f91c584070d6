"""SWE-agent trajectories (`.traj`): the history of messages, and a list of steps with action and observation.

The history contains the messages to and from the model. The trajectory contains the actions, and in newer versions the
exact request of each step (`query`). Demonstrations lack the trajectory, some data sets lack the history.
"""

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Final

from traces.core.json_access import as_list, as_object, as_text, first_member, has_list, list_or_single, omit
from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedJudgement, RecordedRun, RecordedStep
from traces.core.vocabulary import StepStatus
from traces.importers.common import benchmark_scores, transcripts
from traces.importers.common.identity import content_id
from traces.importers.common.judgements import judgement, termination
from traces.importers.common.messages import message_text
from traces.importers.common.model_calls import normalize_provider, parse_cost, parse_token_count
from traces.importers.common.run_builder import RunFacts, build_run
from traces.importers.common.transcript_messages import TextAction, TranscriptMessage, TranscriptSettings
from traces.importers.files.json_reader import parse_embedded
from traces.importers.files.sample import Sample
from traces.importers.files.source import Source

FORMAT: Final = "swe-agent"
_METADATA: Final = (
    "environment",
    "retry",
    "info",
    "target",
    "resolved",
    "exit_status",
    "eval_logs",
    "patch",
    "generated_patch",
)
_SAMPLING: Final = ("temperature", "top_p")
_STEP_FIELDS: Final = frozenset({"action", "observation"})
_HISTORY_FIELDS: Final = frozenset({"message_type", "is_demo", "thought"})
_CALL_FIELDS: Final = frozenset({"tool_calls", "tool_call_ids", "thinking_blocks"})
# Members of messages that are read, or repeat the call and what a message is.
_MESSAGE_FIELDS: Final = _HISTORY_FIELDS | _CALL_FIELDS.union(
    ("role", "content", "function_call", "agent", "action", "cache_control")
)
_MAPPED_FIELDS: Final = frozenset({"action", "observation", "response", "thought", "query", "messages"})


def sniff(sample: Sample) -> float:
    """Return the confidence that the file contains SWE-agent trajectories."""
    return 1.0 if any(_is_trajectory(body) for body in sample.objects) else 0.0


def parse(source: Source) -> Iterator[RecordedRun]:
    """Yield one run per trajectory of the file, and one per attempt of a retried trajectory."""
    for record in source.records():
        trajectories = list_or_single(record.value)
        for value in trajectories:
            body = as_object(value)
            attempts = [as_object(attempt) for attempt in as_list(body.get("attempts"))]
            for index, attempt in enumerate(attempts or [body]):
                location = f"{record.location}/attempts/{index}" if attempts else record.location
                common_fields: JSONObject = {key: body[key] for key in ("replay_config", "environment") if key in body}
                if attempts:
                    # The steps are those of the best attempt.
                    common_fields["retry"] = omit(body, "attempts", "trajectory", "history", *common_fields)
                yield _run({**common_fields, **attempt}, location, f"attempt-{index + 1}" if attempts else "")


@dataclass(frozen=True, kw_only=True)
class Trajectory:
    """A conversation and the facts about its run."""

    messages: list[TranscriptMessage]
    setting: TranscriptSettings
    instance: str
    info: JSONObject
    format: str
    identity: JSONValue
    metadata: JSONObject = field(default_factory=dict)
    # Of the program, that ended the run.
    error: str = ""


def build_trajectory_run(trajectory: Trajectory, location: str, suffix: str = "") -> RecordedRun:
    """Build the run of a trajectory: its totals go to the agent step, its submission is the output."""
    exit_status = as_text(first_member(trajectory.info, "exit_status"))
    has_failed = bool(exit_status) and "submitted" not in exit_status.lower()
    steps = transcripts.replace_output(
        transcripts.build_steps(trajectory.messages, trajectory.setting), as_text(trajectory.info.get("submission"))
    )
    steps[0] = _with_totals(steps[0], as_object(trajectory.info.get("model_stats")), f"{location}/info/model_stats")
    if trajectory.error:
        steps[0] = replace(steps[0], status=StepStatus.ERROR, error=trajectory.error)
    if has_failed and not steps[0].tokens_in:
        steps = benchmark_scores.fail_without_turns(steps, exit_status)
    # Runs without messages differ in the facts about them.
    identity = trajectory.identity if trajectory.messages else [trajectory.identity, trajectory.info]
    parts = (trajectory.instance or trajectory.format, content_id(identity, location), suffix)
    tags = (f"task:{trajectory.instance}" if trajectory.instance else "", f"exit:{exit_status}" if exit_status else "")
    return build_run(
        RunFacts(
            external_id="-".join(part for part in parts if part),
            app=trajectory.format,
            format=trajectory.format,
            failed=has_failed,
            tags=[tag for tag in tags if tag],
            metadata={"instance_id": trajectory.instance, **trajectory.metadata},
            judgements=_judgements(trajectory, exit_status),
        ),
        steps,
        location=location,
    )


def _judgements(trajectory: Trajectory, exit_status: str) -> list[RecordedJudgement]:
    verdicts = [
        trajectory.metadata[name] for name in ("resolved", "target") if isinstance(trajectory.metadata.get(name), bool)
    ]
    judgements = [judgement("resolved", value) for value in verdicts[:1]]
    return [*judgements, termination(exit_status)] if exit_status else judgements


def _is_trajectory(body: JSONObject) -> bool:
    body = as_object(next(iter(as_list(body.get("attempts"))), body))
    first_step = as_object(next(iter(as_list(body.get("trajectory"))), None))
    if first_step.keys() >= _STEP_FIELDS and not first_step.keys().isdisjoint({"response", "state"}):
        return True
    if first_step.keys() >= {"role", "text"} and "instance_id" in body:
        return True
    history = [as_object(message) for message in as_list(body.get("history"))[:3]]
    return any("role" in message and not message.keys().isdisjoint(_HISTORY_FIELDS) for message in history) or (
        "info" in body and has_list(body, "trajectory") and has_list(body, "history")
    )


def _run(body: JSONObject, location: str, suffix: str) -> RecordedRun:
    config = as_object(parse_embedded(body.get("replay_config")))
    problem = as_object(config.get("problem_statement"))
    model_config = as_object(as_object(config.get("agent")).get("model"))
    model = as_text(first_member(model_config, "name")) or as_text(body.get("model_name"))
    steps = as_list(body.get("trajectory"))
    messages = _dataset_messages(steps, location) if _is_dataset(steps) else _history_messages(body, problem, location)
    info = {**{key: body[key] for key in ("exit_status",) if key in body}, **as_object(body.get("info"))}
    return build_trajectory_run(
        Trajectory(
            messages=messages,
            setting=TranscriptSettings(
                model=model,
                provider=normalize_provider(None, model),
                parameters=_parameters(model_config),
                agent=FORMAT,
            ),
            instance=as_text(first_member(body, "instance_id")) or as_text(problem.get("id")),
            info=info,
            format=FORMAT,
            identity=[body.get("history"), steps],
            metadata={
                **{key: body[key] for key in _METADATA if key in body},
                "exit_reason": _exit_reason(steps),
                "exit_step": _exit_step(steps),
                "replay_config": config,
            },
        ),
        location,
        suffix,
    )


def _parameters(model_config: JSONObject) -> JSONObject:
    """Return the parameters of all requests; other settings of the model are limits, keys and prices."""
    sampling: JSONObject = {name: model_config[name] for name in _SAMPLING if model_config.get(name) is not None}
    return {**sampling, **as_object(model_config.get("completion_kwargs"))}


def _exit_reason(steps: list[JSONValue]) -> str:
    """Return the reason why the program ended the run: the thought of a last step without a model call."""
    return as_text(_last_without_call(steps).get("thought"))


def _exit_step(steps: list[JSONValue]) -> JSONObject:
    """Return what was recorded of a last step by which the program ended the run."""
    last_step = _last_without_call(steps)
    observation = None if _is_exit(last_step) else last_step.get("observation")
    return {**({"observation": observation} if observation else {}), **_measurements(last_step)}


def _last_without_call(steps: list[JSONValue]) -> JSONObject:
    last_step = as_object(steps[-1]) if steps else {}
    is_call = as_text(last_step.get("response")) or as_text(last_step.get("action"))
    return last_step if not is_call or _is_exit(last_step) else {}


def _is_exit(step: JSONObject) -> bool:
    """Return whether the program ended the run at a step or message, which has a command of its own: `exit_cost`."""
    text = first_member(step, "response", "content")
    return not text and not step.get("tool_calls") and as_text(step.get("action")).startswith("exit_")


def _is_dataset(steps: list[JSONValue]) -> bool:
    """Return True if a trajectory is a list of messages with `text`, as in training data sets."""
    return bool(steps) and {"role", "text"} <= as_object(steps[0]).keys()


def _dataset_messages(steps: list[JSONValue], location: str) -> list[TranscriptMessage]:
    messages = [as_object(message) for message in steps]
    history: list[JSONValue] = [
        {"role": message.get("role"), "content": first_member(message, "text", "system_prompt")} for message in messages
    ]
    return _Conversation(history=history, steps=[], location=location, name="trajectory").recorded_messages()


def _history_messages(body: JSONObject, problem: JSONObject, location: str) -> list[TranscriptMessage]:
    history = as_list(body.get("history"))
    if not history and (request := as_text(first_member(problem, "text", "problem_statement"))):
        history = [{"role": "user", "content": request}]
    return _Conversation(history=history, steps=as_list(body.get("trajectory")), location=location).recorded_messages()


@dataclass(kw_only=True)
class _Conversation:
    """The history, and the steps of the trajectory to match with its answers."""

    history: list[JSONValue]
    steps: list[JSONValue]
    location: str
    name: str = "history"
    # The index of the first step that is not matched with an answer yet.
    next_step: int = 0
    # What the program measured of the step whose result follows.
    measurements: JSONObject = field(default_factory=dict)

    def recorded_messages(self) -> list[TranscriptMessage]:
        messages = [as_object(message) for message in self.history]
        answer_indexes = [index for index, message in enumerate(messages) if _is_answer(message)]
        first_answer = answer_indexes[0] if answer_indexes else len(messages)
        request_indexes = [
            index for index, message in enumerate(messages[:first_answer]) if message.get("role") == "user"
        ]
        recorded_messages: list[TranscriptMessage] = []
        for index, message in enumerate(messages):
            location = f"{self.location}/{self.name}/{index}"
            if _is_exit(message):
                continue
            if _is_answer(message):
                recorded_messages += self._answer(message, messages[index + 1 : index + 2], location)
            else:
                is_injected = as_text(message.get("role")) not in {"tool", "system"} and index != (
                    request_indexes[-1] if request_indexes else -1
                )
                value = _message(message)
                if value["role"] == "tool":
                    value |= {name: item for name, item in self.measurements.items() if name not in value}
                    self.measurements = {}
                recorded_messages.append(TranscriptMessage(value=value, location=location, is_injected=is_injected))
        return recorded_messages + self._steps_before(len(self.steps))

    def _answer(
        self, message: JSONObject, next_messages: list[JSONObject], location: str
    ) -> Iterator[TranscriptMessage]:
        """Yield an answer of the history with its step, after the steps missing in the history."""
        step_number = self._find_step(message)
        if step_number is None:
            step: JSONObject = {}
            observation = (
                as_object(next_messages[0]).get("content")
                if next_messages and next_messages[0].get("role") != "assistant"
                else None
            )
            actions = _actions({"action": message.get("action"), "observation": observation})
        else:
            yield from self._steps_before(step_number)
            step = as_object(self.steps[step_number])
            self.next_step = step_number + 1
            actions = _actions(step)
        calls = as_list(message.get("tool_calls"))
        self.measurements = _measurements(step) if calls else {}
        yield TranscriptMessage(
            value=_message(message),
            location=location,
            actions=() if calls else actions,
            request_messages=_request_messages(step),
        )
        is_last = not next_messages or _is_answer(next_messages[0])
        if is_last and len(calls) == 1 and step.get("observation") is not None:
            # The history ends before the result of the last action, which the step has.
            yield _result(step, calls, location)
            self.measurements = {}

    def _find_step(self, message: JSONObject) -> int | None:
        """Return the index of the next step with the response or action of this answer."""
        for content in (message_text(message), as_text(message.get("action"))):
            candidates = self.step_index.get(content.strip(), [])
            if (index := bisect_left(candidates, self.next_step)) < len(candidates):
                return candidates[index]
        return None

    @cached_property
    def step_index(self) -> dict[str, list[int]]:
        """Step indexes by response text and by action."""
        step_index: dict[str, list[int]] = {}
        for index, step in enumerate(self.steps):
            for step_text in {as_text(as_object(step).get(name)).strip() for name in ("response", "action")} - {""}:
                step_index.setdefault(step_text, []).append(index)
        return step_index

    def _steps_before(self, end: int) -> list[TranscriptMessage]:
        """Return the messages of steps missing in the history: rejected ones, and the last one."""
        messages: list[TranscriptMessage] = []
        for index in range(self.next_step, end):
            step, location = as_object(self.steps[index]), f"{self.location}/trajectory/{index}"
            if not as_text(step.get("response")) and not as_text(step.get("action")).strip():
                continue
            if _is_exit(step):
                messages += _observation(step.get("observation"), location)
                continue
            calls = as_list(step.get("tool_calls"))
            parts = {name: step[name] for name in ("tool_calls", "thinking_blocks") if step.get(name)}
            answer: JSONObject = {"role": "assistant", "content": step.get("response"), **parts}
            messages.append(
                TranscriptMessage(
                    value=_message(answer),
                    location=location,
                    actions=() if calls else _actions(step),
                    request_messages=_request_messages(step),
                )
            )
            if calls and step.get("observation") is not None:
                messages.append(_result(step, calls, location))
            else:
                messages += _observation(step.get("observation"), location)
        self.next_step = max(self.next_step, end)
        return messages


def _result(step: JSONObject, calls: list[JSONValue], location: str) -> TranscriptMessage:
    result: JSONObject = {"tool_call_id": as_object(calls[0]).get("id"), "content": step["observation"]}
    return TranscriptMessage(value={**_measurements(step), "role": "tool", **result}, location=location)


def _observation(observation: JSONValue, location: str) -> list[TranscriptMessage]:
    """Return the message with an observation; none without a text."""
    value: JSONObject = {"role": "user", "content": observation}
    return [TranscriptMessage(value=value, location=location, is_injected=True)] if as_text(observation) else []


def _is_answer(message: JSONObject) -> bool:
    return as_text(message.get("role")) in {"assistant", "ai"} and message.get("is_demo") is not True


def _message(message: JSONObject) -> JSONObject:
    """Return a message of the history in the form that the model received."""
    ids = as_list(message.get("tool_call_ids"))
    content = message.get("content")
    if thoughts := as_list(message.get("thinking_blocks")):
        content = [*thoughts, *(content if isinstance(content, list) else [{"type": "text", "text": content}])]
    calls = {name: message[name] for name in ("tool_calls", "function_call") if message.get(name)}
    other_fields = {name: item for name, item in message.items() if name not in _MESSAGE_FIELDS}
    result_id: JSONObject = {"tool_call_id": ids[0]} if ids else {}
    return {**other_fields, "role": message.get("role"), "content": content, **calls, **result_id}


def _measurements(step: JSONObject) -> JSONObject:
    """Return the fields of a step that the history does not repeat."""
    mapped_fields = _MAPPED_FIELDS | (_CALL_FIELDS if step.get("tool_calls") else frozenset())
    return {key: item for key, item in step.items() if key not in mapped_fields and item not in (None, "", {}, [])}


def _actions(step: JSONObject) -> tuple[TextAction, ...]:
    command = as_text(step.get("action")).strip()
    if not command:
        return ()
    name = command.split(maxsplit=1)[0][:60]
    other_fields = _measurements(step)
    output = step.get("observation")
    status = StepStatus.OK if output is not None else StepStatus.PARTIAL
    return (
        TextAction(name=name, arguments={"command": command}, output=output, status=status, attributes=other_fields),
    )


def _request_messages(step: JSONObject) -> JSONValue:
    """Return the messages of the step's request; None in versions that record none or an empty list."""
    request_messages = [
        _message(as_object(message))
        for message in as_list(first_member(step, "query", "messages"))
        if as_object(message).get("role")
    ]
    return [dict(message) for message in request_messages] or None


def _with_totals(root: RecordedStep, stats: JSONObject, location: str) -> RecordedStep:
    return replace(
        root,
        tokens_in=parse_token_count(stats.get("tokens_sent"), location),
        tokens_out=parse_token_count(stats.get("tokens_received"), location),
        cost_usd=parse_cost(first_member(stats, "instance_cost", "total_cost")),
    )
