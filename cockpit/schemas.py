"""What the cockpit itself says over REST and the socket."""

from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field, RootModel

from replay.bisecting.schemas import BisectionChanged
from replay.experiments.schemas import ExperimentChanged, ExperimentRowChanged
from replay.schemas import AttemptChanged, RunsTouched, SessionChanged, StepsResolved, TextStreamed
from traces.schemas import Schema

Role = Literal["viewer", "debugger", "admin"]


class Health(Schema):
    status: Literal["ok"]
    version: str


class Readiness(Schema):
    """`checks` names each dependency with "ok" or what is wrong with it."""

    ready: bool
    checks: dict[str, str]


class LoginRequest(Schema):
    token: str


class Access(Schema):
    """Who the caller is. On loopback, embedded, nobody needs to log in and everybody is admin."""

    login_required: bool
    name: str
    role: Role | None  # null: not logged in


class DiffTouched(Schema):
    """A diff report got new evidence; the client fetches again."""

    type: Literal["diff"] = "diff"
    seq: int
    diff: UUID


class LiveMessage(
    RootModel[
        Annotated[
            SessionChanged
            | StepsResolved
            | TextStreamed
            | AttemptChanged
            | RunsTouched
            | DiffTouched
            | ExperimentChanged
            | ExperimentRowChanged
            | BisectionChanged,
            Field(discriminator="type"),
        ]
    ]
):
    """Anything that `/ws/live` sends."""
