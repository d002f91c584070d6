"""The terms of the recording format. A test compares them with those of the server."""

from enum import StrEnum
from typing import Final


class StepType(StrEnum):
    """The kind of a step."""

    PROMPT = "prompt"
    RETRIEVAL = "retrieval"
    TOOL = "tool"
    MODEL = "model"
    AGENT = "agent"
    TURN = "turn"
    PLANNER = "planner"
    VALIDATOR = "validator"
    SAFETY = "safety"
    OUTPUT = "output"


class StepStatus(StrEnum):
    """Result of a step, as events state it."""

    SUCCESS = "success"
    ERROR = "error"
    TIMEOUT = "timeout"
    PARTIAL = "partial"
    DENIED = "denied"


class RunStatus(StrEnum):
    """Result of a run, as hooks receive it."""

    COMPLETED = "completed"
    FAILED = "failed"


class HookEvent(StrEnum):
    """The events of an agent loop for which hooks are called, with Krabs's names."""

    AGENT_START = "agent_start"
    TURN_START = "turn_start"
    PRE_TOOL_USE = "pre_tool_use"
    POST_TOOL_USE = "post_tool_use"
    POST_TOOL_USE_FAILURE = "post_tool_use_failure"
    TURN_END = "turn_end"
    AGENT_STOP = "agent_stop"


TOOL_EVENTS: Final = frozenset({HookEvent.PRE_TOOL_USE, HookEvent.POST_TOOL_USE, HookEvent.POST_TOOL_USE_FAILURE})


# Among the metadata of an MCP request: the SDK in the agent has recorded the call, or asked about it.
SDK_MARK: Final = "forkpoint_sdk"


# The mark of a tool call that a rerun can answer instead of making it. The body of a `with` statement has none.
INTERCEPTION_MARK: Final = "intercepted"


# Attributes of the call of an MCP server with what tells its server from others that have a tool of the same name: its
# name for the gateway or the shim, or, where the SDK records the call, the name that it gives itself.
MCP_SERVER: Final = "mcp_server"
MCP_SERVER_TITLE: Final = "mcp_server_title"

# The attribute of the call of an MCP server with what the server said during it, in order: the method and the
# parameters of each notification, without the token of those about progress, and of each request to the client, which
# also has the client's `response`.
MCP_MESSAGES: Final = "mcp_messages"

# What of an MCP dialogue passed through another process than its call: a step of this name, until the run is read.
# Attributes of the call and of such a step: the client, as a digest, and the ids of questions without a response.
MCP_STRAY: Final = "mcp.message"
MCP_CLIENT: Final = "mcp_client"
MCP_QUESTIONS: Final = "mcp_questions"

# The attribute of the call of an MCP server that the server's transport refused: the HTTP status and the body.
MCP_FAILURE: Final = "mcp_failure"

# The attribute of a tool or a search, and the field of a response, with the thread or task that made the call.
LANE: Final = "lane"

# The attribute of a step in a rerun with the id under which it was asked about.
RERUN_CALL: Final = "rerun_call"

# The attribute of a step, and the field of its event, with what the JSON of its output loses.
OUTPUT_FORM: Final = "output_form"


class ValueTool(StrEnum):
    """The tool steps of `forkpoint.now()`, `.random()` and `.uuid()`. They change nothing."""

    NOW = "forkpoint.now"
    RANDOM = "forkpoint.random"
    UUID = "forkpoint.uuid"
