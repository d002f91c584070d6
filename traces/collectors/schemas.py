"""REST schemas of runs that are recorded event by event."""

from datetime import datetime
from typing import Annotated, Final

from pydantic import AliasChoices, Field, StringConstraints

from traces.core.json_types import JSONObject, JSONValue
from traces.core.schema import Schema
from traces.schemas import EventReceipt

_RunId = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=r"^[^/\x00]+$")]
_Name = Annotated[str, StringConstraints(max_length=300)]
_APP: Final = AliasChoices("app", "app_id")
_ID: Final = AliasChoices("id", "run_id", "external_id")


class NewRun(Schema):
    """A run that begins. `events` are its first ones; more of them follow."""

    id: Annotated[_RunId | None, Field(validation_alias=_ID)] = None  # null: the server makes one
    app: Annotated[_Name, Field(validation_alias=_APP)] = ""
    name: _Name = ""
    entrypoint_name: _Name = ""  # of the function that runs; the run's name if it has no other
    environment: _Name = ""
    tags: list[str] = []
    metadata: JSONObject = {}
    input: JSONValue = None
    started_at: datetime | None = None
    events: list[JSONObject] = []


class StartedRun(EventReceipt):
    """The id under which events of a run are recorded, and what became of its first ones."""

    id: str
