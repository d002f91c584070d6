"""Schemas of reruns."""

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field

from replay.core.vocabulary import RerunDecision
from replay.overrides.policy import CallCount, Dollars, Seconds
from traces.core.json_types import JSONObject, JSONValue
from traces.core.schema import Schema
from traces.core.vocabulary import StepType


class RerunDifference(Schema):
    """The first difference of a call from the nearest recorded one: a pointer into the request, and both values."""

    step: int
    path: str
    old: JSONValue
    new: JSONValue


class RerunName(Schema):
    """A volatile value of the recording, and the agent's value in its place."""

    kind: str
    old: str
    new: str


class ToolQuestion(Schema):
    """A call that the agent is about to make, with the arguments that the model sees.

    `is_shell`: it runs a shell command. Only the command counts, whatever the tool and its other arguments are called.
    `server` is what is known of the MCP server that has the tool, as attributes of a recorded call have it.
    `call` is an id that the caller chooses if it can wait for an operator: it asks again with the same id. `is_last`:
    it waits no longer, so that a call without an answer is refused. `has_stand_in`: the call with this id was answered,
    but the agent's process cannot restore all of the recorded output. `client_answers`: the call with this id was
    answered, and while its `messages` were given, the client responded so to the requests of its MCP server: to all
    that it got so far, in order. `lane` is the thread or task that makes the call, `call_id` what the model calls it.
    `ends_agent`: a refusal ends the agent.
    """

    type: Literal[StepType.TOOL, StepType.RETRIEVAL]
    is_shell: bool = False
    name: Annotated[str, Field(min_length=1, max_length=300)]
    arguments: JSONValue = None
    server: Annotated[dict[str, str], Field(max_length=2)] = {}
    call: Annotated[str, Field(max_length=64)] = ""
    is_last: bool = False
    has_stand_in: bool = False
    client_answers: Annotated[list[JSONObject], Field(max_length=1_000)] = []
    lane: Annotated[str, Field(max_length=64)] = ""
    call_id: Annotated[str, Field(max_length=1_000)] = ""
    ends_agent: bool = False


class ToolAnswer(Schema):
    """What becomes of a call.

    A call that is `exact` or `cached` has the recorded `output`, or raised the `error`; one that is `overridden` has
    those of an override. `output_form` is what the JSON of the output lost, for the SDK that recorded it. `is_text`
    says that the output is the text that the model got, which may be JSON. `step` is the recorded call. `reason` says
    why a call is refused, or what the operator is asked. `arguments` are those of an override, with which a call runs;
    null: with its own. `messages` are what an MCP server said meanwhile, in order: its notifications, and its requests,
    which have the `response` of its client. `failure` is the HTTP status and the body with which it refused the call.
    `delay_s` is the time that a call takes again, without which the agent had gone on meanwhile.
    """

    decision: RerunDecision
    output: JSONValue = None
    output_form: JSONValue = None
    error: str = ""
    is_text: bool = False
    step: int | None = None
    reason: str = ""
    arguments: JSONValue = None
    messages: list[JSONObject] = []
    failure: JSONObject = {}
    delay_s: float = 0.0


class RerunTool(Schema):
    """How often a tool or retriever was answered from the recording or by an override, ran, or was refused."""

    name: str
    exact: int
    # As recorded, where the recording is itself a replay and its output no agent's.
    from_replay: int
    cached: int
    overridden: int
    run: int
    refusal: int


class RerunBudget(Schema):
    """Limits of a rerun's live calls, over all starts of its agent; the time counts from the last start."""

    max_cost_usd: Dollars | None = None
    max_live_calls: CallCount | None = None
    deadline_s: Seconds | None = None


class RerunView(Schema):
    """A rerun: how many model calls were answered exactly, after volatile values were renamed, or not at all.

    A fork changes requests with overrides, or allows live calls. After its end, `fork` is its run and `diff` the
    comparison with the recording. `from_replay` are calls that were answered as recorded, where the recording is itself
    a replay and its output no agent's.
    `cost_usd` is that of the live calls of all starts of the agent, null if it is not known; it does not include
    `unpriced_calls`. `block` is why the budget did not allow a call.
    `misses` are calls that got no answer: they are not in the recording, or its answer cannot be given in the form that
    the agent asked for; `refusal` is why the first of them got none. `unused_steps` are recorded calls that the agent
    did not make, and `covered_steps` those that tools presumably made, whose outcome was given instead.
    `unapplied_steps` are those whose results the fork sets, but the agent did something else in their place.
    `changed_checks` are recorded checks of the agent that decided differently, where a run became of the rerun.
    """

    id: UUID
    run: UUID
    started_at: datetime
    ended_at: datetime | None
    exit_code: int | None
    exact: int
    from_replay: int
    cached: int
    live: int
    overridden: int
    budget: RerunBudget
    live_calls: int
    cost_usd: float | None
    unpriced_calls: int
    block: str
    misses: int
    # Of `cached`: answered from another run, because the recording does not have the call.
    from_other_runs: int
    refusal: str
    is_fork: bool
    fork: UUID | None
    diff: UUID | None
    divergence: RerunDifference | None
    unused_steps: list[int]
    covered_steps: list[int]
    unapplied_steps: list[int]
    changed_checks: list[int]
    names: list[RerunName]
    tools: list[RerunTool]
    # Outside the gateway, that the agent asked for.
    hosts: list[str]
