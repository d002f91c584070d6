"""Which tools of a recorded agent nothing intercepts, as far as the recording shows.

A tool is intercepted if the SDK, a wrapper of ours or an MCP server behind the gateway made its calls: these leave a
mark. A tool that the provider runs is none of the agent's. Every other tool that the run called is taken to run in each
start of the agent, whatever the run was recorded with. So is one of whose calls only some have a mark: two tools may
share a name.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final
from uuid import UUID

from forkpoint.vocabulary import INTERCEPTION_MARK, ValueTool
from traces.core.canonical import canonical_bytes
from traces.core.json_access import as_object, as_text, member
from traces.core.vocabulary import StepType
from traces.importers.common.model_calls import PROVIDER_RAN
from traces.importers.formats.chats.builtin_tools import agent_tool_names
from traces.importers.formats.tracing import event_lines
from traces.importers.formats.tracing.client_calls import TOOL_APIS
from traces.importers.registry import IMPORTERS
from traces.models import Run, Step
from traces.payloads.messages import ModelAnswer, ModelRequest
from traces.storage import artifacts, bulk
from traces.totals import queries as totals

# Of other recorders, whose fields of the same name mean something else.
_OTHER_FORMATS: Final = frozenset(importer.name for importer in IMPORTERS) - {event_lines.FORMAT}
# Calls that the gateway answers, and values that the SDK gives.
_KNOWN_NAMES: Final = TOOL_APIS | {tool.value for tool in ValueTool}
_COLUMNS: Final = ("sequence_no", "parent_no", "type", "tool_name", "name", "attributes_ref", "input_ref", "output_ref")
# Between the name of an MCP server and that of its tool, in the name that a model knows.
_SEPARATOR: Final = "__"
_LONGEST_LINEAGE: Final = 50


@dataclass(frozen=True, kw_only=True, slots=True)
class RecordedTools:
    """The names of a run's tools: those that it called, and those that its models could call.

    `marked_names` are those of which a call has a mark, `unmarked_names` those of which a call has none.
    """

    called_names: tuple[str, ...]
    marked_names: frozenset[str]
    unmarked_names: frozenset[str]
    offered_names: tuple[str, ...]

    def is_known(self, name: str) -> bool:
        """Return whether the recording shows that the calls of a tool are intercepted, or that it changes nothing."""
        if name in _KNOWN_NAMES:
            return True
        return name not in self.unmarked_names and bool({name, own_name(name)} & self.marked_names)


def own_name(name: str) -> str:
    """Return the name that a tool has on its MCP server."""
    return name.rpartition(_SEPARATOR)[2]


def find_unintercepted(run: Run, *, is_open: bool, hooked_names: Collection[str] = ()) -> list[str]:
    """Return the tools that really run when the agent of a sealed run starts again, in the order of their calls.

    `is_open`: a model may answer differently than recorded, and call a tool that was only offered to it. Whether such a
    tool is intercepted shows the newest run of the app that called it. If none did, it is listed where nothing
    intercepts a tool that this run called. Elsewhere it turns out when a model calls it (`find_unproven`).
    `hooked_names`: a hook in the agent intercepts these, which no recording shows. They are listed, too.
    """
    tools = _of_lineage(run)
    names = [name for name in tools.called_names if not tools.is_known(name)]
    if not is_open:
        return names
    uncalled_names = [name for name in tools.offered_names if name not in names and not tools.is_known(name)]
    return names + _without_marks(run.app, uncalled_names, are_known={*names} <= {*hooked_names})


def find_unproven(run: Run, names: Collection[str]) -> list[str]:
    """Return those of these tools of which neither this run nor a newer one of the app shows that it is intercepted."""
    tools = _of_lineage(run)
    return _without_marks(run.app, [name for name in names if not tools.is_known(name)], are_known=False)


def _of_lineage(run: Run) -> RecordedTools:
    """Return the tools of a run. A fork that followed its recording has the marks of that recording."""
    tools = recording = _load(run.id)
    marked_names, source = set(tools.marked_names), run.source_run
    for _ in range(_LONGEST_LINEAGE):
        if source is None:
            break
        recording = _load(source.id)
        marked_names |= recording.marked_names
        source = source.source_run
    # A call that the agent did not make itself has no mark in any case.
    return replace(tools, marked_names=frozenset(marked_names), unmarked_names=recording.unmarked_names)


# The steps of a sealed run never change.
@lru_cache(maxsize=256)
def _load(run_id: UUID) -> RecordedTools:
    rows = Step.objects.filter(run_id=run_id).order_by("sequence_no").values_list(*_COLUMNS)
    format = Run.objects.values_list("format", flat=True).get(id=run_id)
    reader = _Reader(PROVIDER_RAN if format in _OTHER_FORMATS else INTERCEPTION_MARK)
    for chunk in bulk.chunks(rows):
        reader.read(chunk)
    inputs = [*reader.inputs_by_tools.values()]
    requests = artifacts.available(inputs)
    offered_tools = [tool for ref in inputs for tool in ModelRequest(requests.get(ref)).tools]
    offered_names = [name for tool in offered_tools for name in agent_tool_names(tool)]
    return RecordedTools(
        called_names=tuple(dict.fromkeys(name for name in reader.called_names if name not in reader.searches)),
        marked_names=frozenset(reader.marked_names | reader.searches),
        unmarked_names=frozenset(reader.unmarked_names - reader.searches),
        offered_names=tuple(dict.fromkeys(offered_names)),
    )


class _Reader:
    """Reads the steps of a run in order, whose calls have this mark if nothing runs when they are answered."""

    def __init__(self, mark: str) -> None:
        self._mark = mark
        self.called_names: list[str] = []
        self.marked_names: set[str] = set()
        self.unmarked_names: set[str] = set()
        # Searches read only.
        self.searches: set[str] = set()
        # The first request with each list of tools, as it is stored: agents within an agent have tools of their own.
        self.inputs_by_tools: dict[bytes, str] = {}
        # Calls with a mark: what happens inside of one does not happen when it is answered.
        self._marked_numbers: set[int] = set()

    def read(self, rows: list[tuple[int, int | None, str, str, str, str, str, str]]) -> None:
        attributes = artifacts.available(row[5] for row in rows if row[2] == StepType.TOOL)
        answers = artifacts.available(row[7] for row in rows if row[2] == StepType.MODEL and row[7])
        requests = artifacts.load({row[6] for row in rows if row[2] == StepType.MODEL and row[6]})
        for no, parent, type, tool_name, name, attributes_ref, input_ref, output_ref in rows:
            if type == StepType.RETRIEVAL:
                self.searches.add(name)
            elif parent in self._marked_numbers:
                self._marked_numbers.add(no)
            elif type == StepType.MODEL:
                self.inputs_by_tools.setdefault(canonical_bytes(member(requests.get(input_ref), "tools")), input_ref)
                self.called_names += _call_names(ModelAnswer(answers.get(output_ref)))
            elif type == StepType.TOOL:
                self.called_names.append(tool_name or name)
                if as_object(attributes.get(attributes_ref)).get(self._mark) is True:
                    self._marked_numbers.add(no)
                    self.marked_names.add(tool_name or name)
                else:
                    self.unmarked_names.add(tool_name or name)


def _call_names(answer: ModelAnswer) -> Iterator[str]:
    return (name for call in answer.calls if (name := as_text(call.get("name"))))


def _without_marks(app: str, names: list[str], *, are_known: bool) -> list[str]:
    """Return the tools of which the newest run of the app that called one does not show that it is intercepted.

    `are_known`: those that no run called are left out.
    """
    if not names:
        return []
    newest_runs = {row.tool: row.newest_run for row in totals.tool_calls() if row.app == app}
    runs = Run.objects.in_bulk([newest_runs[name] for name in names if name in newest_runs])
    return [
        name
        for name in names
        if not (_of_lineage(runs[id]).is_known(name) if (id := newest_runs.get(name)) in runs else are_known)
    ]
