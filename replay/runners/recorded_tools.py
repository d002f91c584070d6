"""Which tools of a recorded agent nothing intercepts, as far as the recording shows.

A tool is intercepted if the SDK, a wrapper of ours or an MCP server behind the gateway made one of its calls: these
leave a mark. A tool that the provider runs is none of the agent's. Every other tool that the run called is taken to
run in each start of the agent, whatever the run was recorded with.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final
from uuid import UUID

from forkpoint.vocabulary import INTERCEPTION_MARK, ValueTool
from traces.core.json_access import as_object, as_text
from traces.core.vocabulary import StepType
from traces.importers.common.model_calls import PROVIDER_RAN
from traces.importers.formats.tracing.client_calls import TOOL_APIS
from traces.models import Run, Step
from traces.payloads.messages import ModelAnswer, ModelRequest
from traces.redaction.raw_responses import RAW_RESPONSE
from traces.storage import artifacts, bulk
from traces.totals import queries as totals

_MARKS: Final = frozenset({INTERCEPTION_MARK, RAW_RESPONSE, PROVIDER_RAN})
# Calls that the gateway answers, and values that the SDK gives.
_KNOWN_NAMES: Final = TOOL_APIS | {tool.value for tool in ValueTool}
_COLUMNS: Final = ("sequence_no", "parent_no", "type", "tool_name", "name", "attributes_ref", "input_ref", "output_ref")
# Between the name of an MCP server and that of its tool, in the name that a model knows.
_SEPARATOR: Final = "__"
_LONGEST_LINEAGE: Final = 50


@dataclass(frozen=True, kw_only=True, slots=True)
class RecordedTools:
    """The names of a run's tools: those that it called, those with a mark, and those that its models could call."""

    called_names: tuple[str, ...]
    marked_names: frozenset[str]
    offered_names: tuple[str, ...]


def find_unintercepted(run: Run, *, is_open: bool) -> list[str]:
    """Return the tools that really run when the agent of a sealed run starts again, in the order of their calls.

    `is_open`: a model may answer differently than recorded, and call a tool that was only offered to it. Such a tool
    is taken to be intercepted if all tools that the run called are, or if another run of the app shows it.
    """
    tools = _of_lineage(run)
    names = [name for name in tools.called_names if not _is_known(name, tools.marked_names)]
    if not is_open or (tools.called_names and not names):
        return names
    uncalled_names = [
        name for name in tools.offered_names if name not in names and not _is_known(name, tools.marked_names)
    ]
    return names + (_without_marks(run.app, uncalled_names) if uncalled_names else [])


def _is_known(name: str, marked_names: frozenset[str]) -> bool:
    return bool({name, name.rpartition(_SEPARATOR)[2]} & (marked_names | _KNOWN_NAMES))


def _of_lineage(run: Run) -> RecordedTools:
    """Return the tools of a run. A fork that followed its recording has the marks of that recording."""
    tools = _load(run.id)
    marked_names, source = set(tools.marked_names), run.source_run
    for _ in range(_LONGEST_LINEAGE):
        if source is None:
            break
        marked_names |= _load(source.id).marked_names
        source = source.source_run
    return RecordedTools(
        called_names=tools.called_names, marked_names=frozenset(marked_names), offered_names=tools.offered_names
    )


# The steps of a sealed run never change.
@lru_cache(maxsize=256)
def _load(run_id: UUID) -> RecordedTools:
    rows = Step.objects.filter(run_id=run_id).order_by("sequence_no").values_list(*_COLUMNS)
    reader = _Reader()
    for chunk in bulk.chunks(rows):
        reader.read(chunk)
    inputs = reader.inputs[:1] + reader.inputs[-1:]
    requests = artifacts.available(inputs)
    offered_names = [as_text(tool.get("name")) for ref in inputs for tool in ModelRequest(requests.get(ref)).tools]
    return RecordedTools(
        called_names=tuple(dict.fromkeys(name for name in reader.called_names if name not in reader.searches)),
        marked_names=frozenset(reader.marked_names | reader.searches),
        offered_names=tuple(dict.fromkeys(name for name in offered_names if name)),
    )


class _Reader:
    """Reads the steps of a run in order."""

    def __init__(self) -> None:
        self.called_names: list[str] = []
        self.marked_names: set[str] = set()
        # Searches read only.
        self.searches: set[str] = set()
        self.inputs: list[str] = []
        # Calls with a mark: what happens inside of one does not happen when it is answered.
        self._marked_numbers: set[int] = set()

    def read(self, rows: list[tuple[int, int | None, str, str, str, str, str, str]]) -> None:
        attributes = artifacts.available(row[5] for row in rows if row[2] == StepType.TOOL)
        answers = artifacts.available(row[7] for row in rows if row[2] == StepType.MODEL and row[7])
        for no, parent, type, tool_name, name, attributes_ref, input_ref, output_ref in rows:
            if type == StepType.RETRIEVAL:
                self.searches.add(name)
            elif parent in self._marked_numbers:
                self._marked_numbers.add(no)
            elif type == StepType.MODEL:
                self.inputs += [input_ref] if input_ref else []
                self.called_names += _call_names(ModelAnswer(answers.get(output_ref)))
            elif type == StepType.TOOL:
                self.called_names.append(tool_name or name)
                if as_object(attributes.get(attributes_ref)).keys() & _MARKS:
                    self._marked_numbers.add(no)
                    self.marked_names.add(tool_name or name)


def _call_names(answer: ModelAnswer) -> Iterator[str]:
    return (name for call in answer.calls if (name := as_text(call.get("name"))))


def _without_marks(app: str, names: list[str]) -> list[str]:
    """Return the tools of which the newest run of the app that called one does not show that it is intercepted."""
    newest_runs = {row.tool: row.newest_run for row in totals.tool_calls() if row.app == app}
    return [name for name in names if name not in newest_runs or name not in _load(newest_runs[name]).marked_names]
