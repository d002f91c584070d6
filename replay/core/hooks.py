"""Decisions of hooks on the events of an agent's loop, in the schema of Krabs. Pure."""

from dataclasses import dataclass, field
from typing import Annotated, Final, Literal, Protocol

from pydantic import Field, TypeAdapter

from traces.core.json_types import JSONObject
from traces.core.schema import Schema
from traces.core.vocabulary import HookEvent


class Allow(Schema):
    action: Literal["allow"] = "allow"


class Continue(Schema):
    action: Literal["continue"] = "continue"


class Deny(Schema):
    action: Literal["deny"] = "deny"
    message: str = ""


class ModifyArgs(Schema):
    action: Literal["modify_args"] = "modify_args"
    args: JSONObject


class Stop(Schema):
    action: Literal["stop"] = "stop"
    reason: str = ""


class SystemMessage(Schema):
    action: Literal["system_message"] = "system_message"
    text: Annotated[str, Field(min_length=1)]


class AppendContext(Schema):
    action: Literal["append_context"] = "append_context"
    text: Annotated[str, Field(min_length=1)]


Decision = Allow | Continue | Deny | ModifyArgs | Stop | SystemMessage | AppendContext
DECISION: Final[TypeAdapter[Decision]] = TypeAdapter(Annotated[Decision, Field(discriminator="action")])
CONTINUE: Final = Continue()


@dataclass(frozen=True, kw_only=True)
class Failure:
    """A hook that gave no answer or an unusable one."""

    hook: str
    error: str


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """Result of one event: the winning decision and its hook; `hook` is empty if all hooks let the event pass."""

    decision: Decision = CONTINUE
    hook: str = ""
    failures: tuple[Failure, ...] = field(default=())


PASS: Final = Outcome()


class Hooks(Protocol):
    """Port to the hooks of a session; `active` is false if no hook or telemetry target is configured."""

    active: bool

    def fire(self, event: HookEvent, payload: JSONObject, *, step: int) -> Outcome:
        """Fire an event. `step` is the derived number of the step that it concerns, 0 for the whole agent."""

    def send_telemetry(self, event: str, payload: JSONObject) -> JSONObject:
        """Send an event to telemetry targets only; returns the envelope."""


class NoHooks:
    """Hooks of a session that configures none."""

    active = False

    def fire(self, event: HookEvent, payload: JSONObject, *, step: int) -> Outcome:
        return PASS

    def send_telemetry(self, event: str, payload: JSONObject) -> JSONObject:
        return {}


NO_HOOKS: Final = NoHooks()
