"""xLAM's data of function calls (APIGen): a request, the tools and the calls that answer it, each a row."""

from collections.abc import Iterator
from typing import Final

from traces.core.json_access import as_object, as_objects, as_text, omit
from traces.core.json_types import JSONObject, JSONValue
from traces.core.json_walk import first_item
from traces.core.recorded_run import RecordedRun
from traces.importers.common import transcripts
from traces.importers.common.identity import content_id
from traces.importers.common.run_builder import RunFacts, build_run
from traces.importers.common.tool_schemas import SCHEMA_NAMES
from traces.importers.common.transcript_messages import TranscriptMessage, TranscriptSettings
from traces.importers.files.json_reader import parse_embedded
from traces.importers.files.source import Source

FORMAT: Final = "xlam"
_FIELDS: Final = frozenset({"query", "answers", "tools"})


def is_data(value: JSONValue) -> bool:
    """Return True if `value` is a row, or a list of rows."""
    row = as_object(first_item(value))
    return row.keys() >= _FIELDS and all(isinstance(parse_embedded(row[name]), list) for name in ("answers", "tools"))


def parse(source: Source) -> Iterator[RecordedRun]:
    """Yield one run per row."""
    for row, location in source.entries():
        yield _run(row, location)


def _run(row: JSONObject, location: str) -> RecordedRun:
    calls: list[JSONValue] = [*as_objects(parse_embedded(row.get("answers")))]
    messages: list[JSONObject] = [
        {"role": "user", "content": row.get("query")},
        {"role": "assistant", "content": None, "tool_calls": calls},
    ]
    settings = TranscriptSettings(tools=[_tool(tool) for tool in as_objects(parse_embedded(row.get("tools")))])
    entries = [TranscriptMessage(value=message, location=location) for message in messages]
    return build_run(
        RunFacts(
            # Numbers of rows are those of any such file.
            external_id=f"{FORMAT}-{as_text(row.get('id'))}-{content_id(row, location)}",
            app=FORMAT,
            format=FORMAT,
            metadata=omit(row, *_FIELDS),
        ),
        transcripts.build_steps(entries, settings),
        location=location,
    )


def _tool(tool: JSONObject) -> JSONObject:
    """Return a tool with a schema of its arguments, of which a row has the properties only."""
    parameters = as_object(tool.get("parameters"))
    if not parameters or {"type", "properties"} <= parameters.keys():
        return tool
    return {**omit(tool, *SCHEMA_NAMES), "parameters": {"type": "object", "properties": parameters}}
