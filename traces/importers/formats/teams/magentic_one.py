"""Magentic-One: the log of a task (`log.jsonl`), as AutoGen's benchmarks and web agents derived from it write it.

    {"type": "OrchestrationEvent", "source": "Orchestrator (thought)", "message": …}
    {"type": "LLMCallEvent", "prompt_tokens": …, "completion_tokens": …}
    {"type": "WebSurferEvent", "source": "WebSurfer", "action": "click", "arguments": {…}, "url": …}

An event of a call has tokens only: its answer is the next message. What a web surfer says after an action is its
result.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from traces.core.json_access import as_object, as_text, omit
from traces.core.json_types import JSONObject, JSONValue
from traces.core.json_walk import first_item
from traces.core.recorded_run import RecordedJudgement, RecordedRun
from traces.importers.common.identity import content_id
from traces.importers.common.judgements import termination
from traces.importers.common.model_calls import Usage, normalize_usage
from traces.importers.common.run_builder import RunFacts, build_run
from traces.importers.common.times import parse_time
from traces.importers.files.source import Source
from traces.importers.formats.teams.speakers import Result, Team, Utterance, Voice, build_steps, classify_speaker
from traces.importers.formats.teams.who_and_when import split_remark

FORMAT: Final = "magentic-one"
_CALL: Final = "LLMCallEvent"
# Without an action, such as that of a screenshot, it is no message.
_WEB: Final = "WebSurferEvent"
_MESSAGES: Final = frozenset({"OrchestrationEvent", "AgentEvent", _WEB})
_END: Final = "termination condition"
# What only the orchestrator sees; its plans are sent to all.
_LEDGER: Final = "Updated Ledger"
_READ: Final = ("type", "timestamp", "source", "message", "action", "arguments")


def is_event(value: JSONValue) -> bool:
    """Return whether `value` is an event of a log, or a list of these."""
    event = as_object(first_item(value))
    kind = as_text(event.get("type"))
    if kind == _CALL:
        return {"timestamp", "prompt_tokens"} <= event.keys()
    return kind in _MESSAGES and {"source", "message"} <= event.keys()


def parse(source: Source) -> Iterator[RecordedRun]:
    """Yield the run of a log."""
    events = list(source.entries())
    log = _Log()
    for event, location in events:
        log.add(event, location)
    yield build_run(
        RunFacts(
            external_id=f"{FORMAT}-{content_id([event for event, _ in events], '')}",
            app=FORMAT,
            format=FORMAT,
            metadata={"other_events": log.notes} if log.notes else {},
            judgements=log.judgements,
        ),
        build_steps(log.finish(), Team(name="team")),
        location=source.name,
    )


class _Log:
    def __init__(self) -> None:
        self.judgements: list[RecordedJudgement] = []
        self.notes: list[JSONValue] = []
        self._utterances: list[Utterance] = []
        # Calls whose answers follow.
        self._calls: list[Usage] = []
        # Ids of actions without a result, by their agents.
        self._actions: dict[str, str] = {}

    def add(self, event: JSONObject, location: str) -> None:
        kind = as_text(event.get("type"))
        if kind == _CALL:
            self._calls.append(normalize_usage(event, location))
        elif kind not in _MESSAGES or (kind == _WEB and not event.get("action")):
            self.notes.append(event)
        else:
            self._add_message(event, location)

    def finish(self) -> list[Utterance]:
        """Return the utterances; the last one has the tokens of calls without an answer, too."""
        if self._calls and self._utterances:
            last = self._utterances.pop()
            self._calls.append(last.usage)
            self._utterances.append(self._with_usage(last))
        return self._utterances

    def _add_message(self, event: JSONObject, location: str) -> None:
        speaker, remark = split_remark(as_text(event.get("source")))
        if remark == _END:
            self.judgements.append(termination(as_text(event.get("message"))))
            return
        details: JSONObject = {"remark": remark} if remark is not None else {}
        details |= {name: item for name, item in omit(event, *_READ).items() if item}
        utterance = Utterance(
            speaker=speaker,
            content=event.get("message"),
            location=location,
            at=parse_time(event.get("timestamp"), location),
            audience=frozenset() if as_text(event.get("message")).startswith(_LEDGER) else None,
            attributes=details,
        )
        if event.get("action"):
            call_id = self._actions[speaker] = f"action-{len(self._utterances)}"
            call: JSONObject = {"id": call_id, "name": event["action"], "arguments": event.get("arguments")}
            self._utterances.append(self._with_usage(replace(utterance, calls=(call,))))
        elif call_id := self._actions.pop(speaker, ""):
            result = Result(call_id=call_id, content=utterance.content)
            self._utterances.append(replace(utterance, voice=Voice.CONTEXT, results=(result,)))
        else:
            voice = classify_speaker(speaker, utterance.content)
            utterance = replace(utterance, voice=voice)
            self._utterances.append(self._with_usage(utterance) if voice is Voice.AGENT else utterance)

    def _with_usage(self, utterance: Utterance) -> Utterance:
        """Return an answer with the tokens of the calls before it; their texts may be parts of one message."""
        calls, self._calls = self._calls, []
        if not calls:
            return utterance
        usage = Usage(
            tokens_in=sum(call.tokens_in or 0 for call in calls), tokens_out=sum(call.tokens_out or 0 for call in calls)
        )
        count: JSONObject = {"calls": len(calls)} if len(calls) > 1 else {}
        return replace(utterance, usage=usage, attributes={**utterance.attributes, **count})
