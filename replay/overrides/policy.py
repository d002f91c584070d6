"""The policy of a replay: what may go live, in which order calls are resolved, and where it stops."""

from fnmatch import fnmatchcase
from typing import Annotated, Any, Final, Literal

from pydantic import Field

from traces.core.canonical import digest
from traces.core.schema import Schema
from traces.core.vocabulary import StepType

_YEAR_S: Final = 366 * 86_400
_LIVE_KINDS: Final = {StepType.MODEL: "model", StepType.TOOL: "tool", StepType.RETRIEVAL: "retrieval"}
# Limited to what the database columns can store.
Dollars = Annotated[float, Field(ge=0, lt=1_000_000)]
CallCount = Annotated[int, Field(ge=0, lt=2**31)]
Seconds = Annotated[float, Field(gt=0, le=_YEAR_S)]


_Globs = Annotated[list[Annotated[str, Field(max_length=300)]], Field(max_length=1_000)]


class ToolRules(Schema):
    """Globs over tool names; block wins over allow."""

    allow: _Globs = []
    block: _Globs = []
    ask: _Globs = []

    def asks(self, tool: str) -> bool:
        """True if the operator must be asked before a call of this tool gets a new answer."""
        return any(fnmatchcase(tool, pattern) for pattern in self.ask)


class Budget(Schema):
    max_cost_usd: Dollars | None = None
    max_live_calls: CallCount | None = None
    max_steps: Annotated[int, Field(gt=0, lt=2**31)] | None = None
    deadline_s: Seconds | None = None


class Retries(Schema):
    """Attempt n waits min(initial_s * base^(n-1), cap_s); `Retry-After` wins."""

    max: Annotated[int, Field(ge=0, le=20)] = 3
    initial_s: Annotated[float, Field(ge=0, le=86_400)] = 1.0
    base: Annotated[float, Field(ge=1, le=100)] = 2.0
    cap_s: Annotated[float, Field(ge=0, le=86_400)] = 60.0


class Policy(Schema):
    """A replay's policy; every key is optional and has a default."""

    allow: Annotated[list[Literal["model", "tool", "retrieval"]], Field(max_length=3)] = ["model"]
    order: Literal["reuse", "reexecute"] = "reuse"
    fallback: Literal["simulate", "fail"] = "simulate"
    strict: bool = False
    semantic_threshold: Annotated[float, Field(ge=0, le=1)] = 0.85
    determinism_threshold: Annotated[float, Field(ge=0, le=1)] = 0.8
    tools: ToolRules = Field(default_factory=ToolRules)
    max_turns: Annotated[int, Field(gt=0, lt=2**31)] = 25
    budget: Budget = Field(default_factory=Budget)
    retries: Retries = Field(default_factory=Retries)

    @property
    def digest(self) -> str:
        """Digest of the keys that are set, so that later changes of defaults do not affect it."""
        return digest(self.model_dump(mode="json", exclude_unset=True))

    def reexecutes(self, type: StepType) -> bool:
        """True if steps of this type are called live even where a recorded output could be reused."""
        return self.order == "reexecute" and _LIVE_KINDS.get(type) in self.allow


def reexecute_by_default(request: Any) -> Any:
    """Let a request, as received, resolve calls again unless its policy says otherwise."""
    policy = request.get("policy", {}) if isinstance(request, dict) else None
    return {**request, "policy": {"order": "reexecute", **policy}} if isinstance(policy, dict) else request
