"""SWE-agent trajectories (`.traj`): the history of messages, and a list of steps with action and observation.

The history shows what the model was told; the trajectory shows what ran, and in newer versions the exact request of
each step (`query`). Either may be missing: demonstrations have no trajectory, some data sets have no history.
"""

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Final

from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedJudgement, RecordedRun, RecordedStep
from traces.core.vocabulary import StepStatus
from traces.importers.common import transcripts
from traces.importers.common.identity import content_id
from traces.importers.common.judgements import judgement, termination
from traces.importers.common.messages import message_text
from traces.importers.common.model_calls import normalize_provider, parse_cost, parse_token_count
from traces.importers.common.run_builder import RunFacts, build_run
from traces.importers.common.transcripts import TextAction, TranscriptMessage, TranscriptSettings
from traces.importers.files.json_reader import first, items, obj, parse_embedded, text
from traces.importers.files.sample import Sample
from traces.importers.files.source import Source

FORMAT: Final = "swe-agent"
_KEPT: Final = ("environment", "info", "target", "resolved", "exit_status", "eval_logs", "patch", "generated_patch")
_STEP_FIELDS: Final = frozenset({"action", "observation"})
_HISTORY_FIELDS: Final = frozenset({"message_type", "is_demo", "thought"})
_MAPPED: Final = frozenset({"action", "observation", "response", "thought", "query", "messages"})


def recognises(sample: Sample) -> float:
    """How sure it is that the file holds trajectories of SWE-agent."""
    return 1.0 if any(_is_trajectory(each) for each in sample.objects) else 0.0


def parse(source: Source) -> Iterator[RecordedRun]:
    """One run for each trajectory of the file, and for each attempt of one that was retried."""
    for record in source.records():
        listed = record.value if isinstance(record.value, list) else [record.value]
        for value in listed:
            body = obj(value)
            attempts = [obj(each) for each in items(body.get("attempts"))]
            for at, attempt in enumerate(attempts or [body]):
                where = f"{record.location}/attempts/{at}" if attempts else record.location
                shared: JSONObject = {key: body[key] for key in ("replay_config", "environment") if key in body}
                yield _run({**shared, **attempt}, where, f"attempt-{at + 1}" if attempts else "")


@dataclass(frozen=True, kw_only=True)
class Trajectory:
    """What a trajectory says about its run besides the conversation."""

    said: list[TranscriptMessage]
    setting: TranscriptSettings
    instance: str
    info: JSONObject
    format: str
    identity: JSONValue
    metadata: JSONObject = field(default_factory=dict)


def run_of(given: Trajectory, where: str, suffix: str = "") -> RecordedRun:
    """The run of a trajectory: its totals belong to the agent, its submission is the output."""
    exit_status = text(first(given.info, "exit_status"))
    steps = transcripts.replace_output(
        transcripts.build_steps(given.said, given.setting), text(given.info.get("submission"))
    )
    steps[0] = _with_totals(steps[0], obj(given.info.get("model_stats")), f"{where}/info/model_stats")
    parts = (given.instance or given.format, content_id(given.identity, where), suffix)
    tags = (f"task:{given.instance}" if given.instance else "", f"exit:{exit_status}" if exit_status else "")
    return build_run(
        RunFacts(
            external_id="-".join(part for part in parts if part),
            app=given.format,
            format=given.format,
            failed=bool(exit_status) and "submitted" not in exit_status.lower(),
            tags=[tag for tag in tags if tag],
            metadata={"instance_id": given.instance, **given.metadata},
            judgements=_judgements(given, exit_status),
        ),
        steps,
        location=where,
    )


def _judgements(given: Trajectory, exit_status: str) -> list[RecordedJudgement]:
    resolved = [given.metadata[name] for name in ("resolved", "target") if isinstance(given.metadata.get(name), bool)]
    judgements = [judgement("resolved", value) for value in resolved[:1]]
    return [*judgements, termination(exit_status)] if exit_status else judgements


def _is_trajectory(body: JSONObject) -> bool:
    body = obj(next(iter(items(body.get("attempts"))), body))
    first_step = obj(next(iter(items(body.get("trajectory"))), None))
    if first_step.keys() >= _STEP_FIELDS and not first_step.keys().isdisjoint({"response", "thought", "state"}):
        return True
    if first_step.keys() >= {"role", "text"} and "instance_id" in body:
        return True
    history = [obj(each) for each in items(body.get("history"))[:3]]
    return any("role" in each and not each.keys().isdisjoint(_HISTORY_FIELDS) for each in history) or (
        "info" in body and isinstance(body.get("trajectory"), list) and isinstance(body.get("history"), list)
    )


def _run(body: JSONObject, where: str, suffix: str) -> RecordedRun:
    config = obj(parse_embedded(body.get("replay_config")))
    problem = obj(config.get("problem_statement"))
    model = text(first(obj(obj(config.get("agent")).get("model")), "name")) or text(body.get("model_name"))
    listed = items(body.get("trajectory"))
    said = _dataset(listed, where) if _is_dataset(listed) else _exchanges(body, problem, where)
    info = {**{key: body[key] for key in ("exit_status",) if key in body}, **obj(body.get("info"))}
    return run_of(
        Trajectory(
            said=said,
            setting=TranscriptSettings(model=model, provider=normalize_provider(None, model), agent=FORMAT),
            instance=text(first(body, "instance_id")) or text(problem.get("id")),
            info=info,
            format=FORMAT,
            identity=[body.get("history"), listed],
            metadata={**{key: body[key] for key in _KEPT if key in body}, "exit_reason": _exit_reason(listed)},
        ),
        where,
        suffix,
    )


def _exit_reason(listed: list[JSONValue]) -> str:
    """Why the program ended the run: the thought of a last step in which no model was asked."""
    last = obj(listed[-1]) if listed else {}
    return "" if text(last.get("response")) or text(last.get("action")) else text(last.get("thought"))


def _is_dataset(listed: list[JSONValue]) -> bool:
    """Whether a trajectory is a list of messages with their text, as data sets for training have it."""
    return bool(listed) and {"role", "text"} <= obj(listed[0]).keys()


def _dataset(listed: list[JSONValue], where: str) -> list[TranscriptMessage]:
    messages = [obj(each) for each in listed]
    history: list[JSONValue] = [
        {"role": message.get("role"), "content": first(message, "text", "system_prompt")} for message in messages
    ]
    return _Conversation(history=history, steps=[], where=where, name="trajectory").said()


def _exchanges(body: JSONObject, problem: JSONObject, where: str) -> list[TranscriptMessage]:
    history = items(body.get("history"))
    if not history and (request := text(first(problem, "text", "problem_statement"))):
        history = [{"role": "user", "content": request}]
    return _Conversation(history=history, steps=items(body.get("trajectory")), where=where).said()


@dataclass(kw_only=True)
class _Conversation:
    """The history with the steps of the trajectory beside the answers that they belong to."""

    history: list[JSONValue]
    steps: list[JSONValue]
    where: str
    name: str = "history"
    at: int = 0  # the first step of the trajectory that no answer was found for

    def said(self) -> list[TranscriptMessage]:
        messages = [obj(each) for each in self.history]
        answers = [at for at, message in enumerate(messages) if _is_answer(message)]
        begin = answers[0] if answers else len(messages)
        asked = [at for at, message in enumerate(messages[:begin]) if message.get("role") == "user"]
        found: list[TranscriptMessage] = []
        for at, message in enumerate(messages):
            where = f"{self.where}/{self.name}/{at}"
            if _is_answer(message):
                found += self._answer(message, messages[at + 1 : at + 2], where)
            else:
                aside = text(message.get("role")) not in {"tool", "system"} and at != (asked[-1] if asked else -1)
                found.append(TranscriptMessage(value=_message(message), location=where, is_injected=aside))
        return found + self._left(len(self.steps))

    def _answer(self, message: JSONObject, after: list[JSONObject], where: str) -> Iterator[TranscriptMessage]:
        """An answer of the history with its step, after the steps that the history leaves out."""
        place = self._place(message)
        if place is None:
            step: JSONObject = {}
            observed = obj(after[0]).get("content") if after and after[0].get("role") != "assistant" else None
            actions = _actions({"action": message.get("action"), "observation": observed})
        else:
            yield from self._left(place)
            step = obj(self.steps[place])
            self.at = place + 1
            actions = _actions(step)
        calls = items(message.get("tool_calls"))
        yield TranscriptMessage(
            value=_message(message), location=where, actions=() if calls else actions, request_messages=_shown(step)
        )

    def _place(self, message: JSONObject) -> int | None:
        """The next step of the trajectory that ran what this answer says."""
        for words in (message_text(message), text(message.get("action"))):
            places = self.places.get(words.strip(), [])
            if (nth := bisect_left(places, self.at)) < len(places):
                return places[nth]
        return None

    @cached_property
    def places(self) -> dict[str, list[int]]:
        """Steps by what was said, and by what was run."""
        places: dict[str, list[int]] = {}
        for at, step in enumerate(self.steps):
            for words in {text(obj(step).get(name)).strip() for name in ("response", "action")} - {""}:
                places.setdefault(words, []).append(at)
        return places

    def _left(self, end: int) -> list[TranscriptMessage]:
        """Steps of which the history has no answer: refused ones, and the last, whose result nobody was told."""
        left: list[TranscriptMessage] = []
        for at in range(self.at, end):
            step, where = obj(self.steps[at]), f"{self.where}/trajectory/{at}"
            if not text(step.get("response")) and not text(step.get("action")).strip():
                continue
            answer: JSONObject = {"role": "assistant", "content": step.get("response")}
            left.append(
                TranscriptMessage(value=answer, location=where, actions=_actions(step), request_messages=_shown(step))
            )
            if text(step.get("observation")):
                left.append(
                    TranscriptMessage(
                        value={"role": "user", "content": step["observation"]}, location=where, is_injected=True
                    )
                )
        self.at = max(self.at, end)
        return left


def _is_answer(message: JSONObject) -> bool:
    return text(message.get("role")) in {"assistant", "ai"} and message.get("is_demo") is not True


def _message(message: JSONObject) -> JSONObject:
    """A message of the history as the model was shown it."""
    ids = items(message.get("tool_call_ids"))
    content = message.get("content")
    if thoughts := items(message.get("thinking_blocks")):
        content = [*thoughts, *(content if isinstance(content, list) else [{"type": "text", "text": content}])]
    kept = {name: message[name] for name in ("tool_calls", "function_call") if message.get(name)}
    return {"role": message.get("role"), "content": content, **kept, **({"tool_call_id": ids[0]} if ids else {})}


def _actions(step: JSONObject) -> tuple[TextAction, ...]:
    command = text(step.get("action")).strip()
    if not command:
        return ()
    name = command.split(maxsplit=1)[0][:60]
    rest: JSONObject = {
        key: item for key, item in step.items() if key not in _MAPPED and item not in (None, "", {}, [])
    }
    output = step.get("observation")
    status = StepStatus.OK if output is not None else StepStatus.PARTIAL
    return (TextAction(name=name, arguments={"command": command}, output=output, status=status, attributes=rest),)


def _shown(step: JSONObject) -> JSONValue:
    """The messages of the step's request; older versions do not record them, some write an empty one."""
    listed = [_message(obj(each)) for each in items(first(step, "query", "messages")) if obj(each).get("role")]
    return [dict(each) for each in listed] or None


def _with_totals(root: RecordedStep, stats: JSONObject, where: str) -> RecordedStep:
    return replace(
        root,
        tokens_in=parse_token_count(stats.get("tokens_sent"), where),
        tokens_out=parse_token_count(stats.get("tokens_received"), where),
        cost_usd=parse_cost(first(stats, "instance_cost", "total_cost")),
    )
