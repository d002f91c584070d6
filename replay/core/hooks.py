"""What a hook may say to the events of an agent's loop, as Krabs names it. Pure."""

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
    """A hook that gave no answer, or none that can be used."""

    hook: str
    error: str


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What came of one event: the decision that won, and whose it was; nobody's when all let it pass."""

    decision: Decision = CONTINUE
    hook: str = ""
    failures: tuple[Failure, ...] = field(default=())


PASS: Final = Outcome()


class Hooks(Protocol):
    """What a walk asks. `active` is false where nobody listens: then nothing is asked, and nothing is lost."""

    active: bool

    def fire(self, event: HookEvent, payload: JSONObject, *, step: int) -> Outcome:
        """Tell an event. `step` is the number of the derived run's step that it is about, 0 for the whole agent."""

    def tell(self, event: str, payload: JSONObject) -> JSONObject:
        """Tell telemetry alone; returns the envelope."""


class NoHooks:
    """Nobody listens."""

    active = False

    def fire(self, event: HookEvent, payload: JSONObject, *, step: int) -> Outcome:
        return PASS

    def tell(self, event: str, payload: JSONObject) -> JSONObject:
        return {}


NO_HOOKS: Final = NoHooks()
