"""What a fork's overrides change in a call that the agent is about to make."""

from dataclasses import dataclass, replace
from typing import Final

from replay.models import Rerun
from replay.overrides.edits import NO_EDITS, Edits
from replay.overrides.profile import ToolOverride
from replay.reruns import forks, recordings
from replay.reruns.core.matcher import Divergence, Match
from replay.reruns.requests.changed_contents import NO_CONTENTS, ChangedContents
from replay.reruns.schemas import ToolQuestion
from traces.core.json_access import as_list, as_object, is_integer
from traces.core.json_types import JSONValue
from traces.core.vocabulary import StepType

_DOCUMENTS: Final = "documents"
_COUNT: Final = "top_k"


@dataclass(frozen=True, kw_only=True, slots=True)
class CallOverride:
    """The edits of a call: of recorded call `no`, or of a new one (None) in `place` of a recorded step.

    `is_recorded`: it is that call, and not a search with another query in its place.
    """

    edits: Edits = NO_EDITS
    no: int | None = None
    place: int = 0
    is_recorded: bool = False
    contents: ChangedContents = NO_CONTENTS

    def result(self, rerun: Rerun, question: ToolQuestion) -> ToolOverride | None:
        """Return the result that is set; None if the call is to be answered."""
        if question.type != StepType.RETRIEVAL:
            return forks.set_result(self.edits)
        documents = self._documents(rerun, question)
        return None if documents is None else ToolOverride(output=documents)

    def arguments(self, question: ToolQuestion) -> JSONValue:
        """Return the arguments that are set; None if the call has its own."""
        if question.type == StepType.RETRIEVAL:
            settings = {name: value for name, value in self.edits.retrieval.items() if name != _DOCUMENTS}
            value: JSONValue = {**as_object(question.arguments), **settings}
        else:
            value = None if self.edits.arguments is None else self.edits.arguments.value
        return None if value == question.arguments else value

    def _documents(self, rerun: Rerun, question: ToolQuestion) -> JSONValue:
        """Return the documents that are set, or the first recorded ones if only their number was lowered."""
        settings = self.edits.retrieval
        if self.edits.output is not None:
            value = self.edits.output.value
            return as_list(as_object(value).get(_DOCUMENTS)) if isinstance(value, dict) else as_list(value)
        if _DOCUMENTS in settings:
            return as_list(settings[_DOCUMENTS])
        if self.no is None or not self.is_recorded or settings.keys() != {_COUNT}:
            return None
        outcome = recordings.load_outcome(rerun.source_run_id, self.no)
        count = settings[_COUNT]
        if outcome is None or outcome.error or not is_integer(count) or count > len(as_list(outcome.output)):
            return None
        return as_list(outcome.output)[:count]


def find(rerun: Rerun, question: ToolQuestion, result: Match | Divergence) -> CallOverride:
    """Return the overrides of a call. A search in place of a recorded one has those of the latter."""
    if isinstance(result, Match):
        return at(rerun, question, no=result.call.no, place=result.call.no)
    if rerun.profile_id is None:
        return CallOverride()
    fork = forks.load(rerun.id)
    place = fork.end if result.nearest is None else result.nearest.no
    if question.type == StepType.RETRIEVAL and fork.edits_of_call(place) is not NO_EDITS:
        return replace(at(rerun, question, no=place, place=place), is_recorded=False)
    return at(rerun, question, no=None, place=place)


def at(rerun: Rerun, question: ToolQuestion, *, no: int | None, place: int) -> CallOverride:
    """Return the overrides of recorded call `no`, or of a new one in `place` of a step."""
    if rerun.profile_id is None:
        return CallOverride(no=no, place=place)
    fork = forks.load(rerun.id)
    if no is not None:
        edits, contents = fork.edits_of_call(no), fork.contents_of_call(no)
        return CallOverride(edits=edits, no=no, place=place, is_recorded=True, contents=contents)
    edits = fork.edits_of_new_call(StepType(question.type), question.name, place)
    return CallOverride(edits=edits, place=place)
