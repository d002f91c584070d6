"""Recorded calls that a tool call or search of the agent could be."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final
from uuid import UUID

from replay.core.values.tool_servers import may_be_same
from replay.execution.session_redaction import SessionRedaction
from replay.models import Rerun
from replay.reruns import exchanges, recordings
from replay.reruns.core.matcher import Divergence, Match, Matcher, unchanged
from replay.reruns.core.recorded_calls import RecordedCalls, RecordedRequest
from replay.reruns.core.renaming import Renaming
from replay.reruns.core.shell_calls import shell_command
from replay.reruns.core.volatile_values.volatile_tokens import ID_KINDS, Kind
from replay.reruns.schemas import ToolQuestion
from traces.call_index import ignore_lists
from traces.core.json_access import as_object
from traces.core.json_types import JSONObject, JSONValue
from traces.core.vocabulary import StepType

_QUERY: Final = frozenset({"query", "top_k", "filters", "embedding_profile"})
_SHELL: Final[JSONObject] = {"type": StepType.TOOL, "name": "", "is_shell": True}


@dataclass(frozen=True, kw_only=True, slots=True)
class ComparableCall:
    """A call as recorded ones are compared with it: as it would be stored."""

    arguments: JSONValue
    strict: JSONObject
    server: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def from_question(cls, app: str, question: ToolQuestion) -> "ComparableCall":
        arguments = SessionRedaction(app).field(question.type, "input", question.arguments)
        if question.is_shell:
            return cls(arguments=shell_command(arguments), strict=_SHELL)
        strict: JSONObject = {"type": question.type, "name": question.name}
        return cls(arguments=arguments, strict=strict, server=question.server)

    @property
    def step_input(self) -> JSONValue:
        """The arguments as the input of a step: a search has only those of its query."""
        if self.strict["type"] != StepType.RETRIEVAL:
            return self.arguments
        return {name: value for name, value in as_object(self.arguments).items() if name in _QUERY}

    def recorded_calls(self, run_id: UUID) -> Sequence[RecordedRequest]:
        """Return the calls of the tool or retriever; a search has only the arguments that this one could have."""
        if self.strict == _SHELL:
            return [
                replace(call, request={"arguments": command}, strict=self.strict)
                for call in recordings.load_tool_calls(run_id)
                if (command := shell_command(call.request["arguments"]))
            ]
        calls = [
            call
            for call in recordings.load_tool_calls(run_id)
            if call.strict == self.strict and may_be_same(call.server, self.server)
        ]
        if self.strict["type"] != StepType.RETRIEVAL:
            return calls
        names = _QUERY | as_object(self.arguments).keys()
        return [replace(call, request={"arguments": _part(call, names)}) for call in calls]

    def match(self, matcher: Matcher) -> Match | Divergence:
        return matcher.match({"arguments": self.arguments}, self.strict)


def make_matcher(
    rerun: Rerun, question: ToolQuestion, calls: Sequence[RecordedRequest], used_numbers: Collection[int] = ()
) -> Matcher:
    """Return the matcher of a tool's calls, without the arguments that the app's calibration ignores.

    An id that the agent got from the recording, or a value of the fork, is meant as it is.
    """
    is_of_fork = exchanges.values_of_fork(rerun)

    def is_meant(kind: Kind, old: str, new: str) -> bool:
        is_known = kind in ID_KINDS and recordings.load(rerun.source_run_id).calls.contains(new)
        return is_known or is_of_fork(kind, old, new)

    ignoring = ignore_lists.to_rules(ignore_lists.active(rerun.source_run.app))

    def reduce(request: JSONObject) -> JSONObject:
        return {"arguments": ignoring.reduce(StepType(question.type), question.name, request["arguments"])}

    return Matcher(
        calls=RecordedCalls(calls),
        used_numbers={*used_numbers},
        renaming=Renaming.from_pairs(rerun.names),
        reduce=reduce if ignoring.rules else unchanged,
        is_meant=is_meant,
        lane=question.lane,
        call_id=question.call_id,
    )


def _part(call: RecordedRequest, names: Collection[str]) -> JSONObject:
    return {name: item for name, item in as_object(call.request["arguments"]).items() if name in names}
