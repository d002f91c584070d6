"""Outputs set by overrides or answered by the operator. Pure."""

from dataclasses import replace

from replay.core.calls import Answer, Call, OperatorAnswer
from replay.core.environment import ReplayEnvironment
from replay.core.graph import Node
from replay.resolution.prompt_templates import render
from traces.core.canonical import digest
from traces.core.json_access import as_list, as_object, is_integer
from traces.core.json_types import JSONObject, JSONValue
from traces.core.vocabulary import Label, Reason, StepStatus, StepType


def answer_from_operator(reply: OperatorAnswer) -> Answer | None:
    """Operator's answer; None if the policy decides."""
    if reply.fallback:
        return None
    return Answer(
        action="simulate",
        label=Label.SIMULATED,
        reason=Reason.OPERATOR_OVERRIDE,
        output=reply.output,
        status=reply.status,
        detail={"asked": True},
    )


def operator_output(call: Call, environment: ReplayEnvironment) -> Answer | None:
    """Output that a step's overrides set or imply without a call."""
    edits = call.edits
    base = Answer(action="simulate", label=Label.SIMULATED, reason=Reason.OPERATOR_OVERRIDE)
    if edits.tool is not None:
        return replace(base, output=edits.tool.output, status=StepStatus(edits.tool.status))
    if edits.output is not None:
        return replace(base, output=as_output(call.type, edits.output.value))
    if call.type is StepType.RETRIEVAL and edits.retrieval:
        return _operator_documents(call, base, environment)
    if call.type is StepType.PROMPT and (edits.prompt or call.changed):
        return _rerender(call, base, environment)
    return None


def as_output(type: StepType, value: JSONValue) -> JSONValue:
    """Override output in the shape of its step type; a model's text becomes a message."""
    if type is not StepType.MODEL:
        return value
    fields = as_object(value)
    if "message" in fields:
        return value
    if "content" in fields or "tool_calls" in fields:
        return {"message": {"role": "assistant", **fields}}
    content = value if isinstance(value, str) or value is None else str(value)
    return {"message": {"role": "assistant", "content": content}}


def is_recorded_output(node: Node, output: JSONValue, environment: ReplayEnvironment) -> bool:
    """True if a step's recording has this output."""
    if not node.output_ref or node.losses:
        return False
    recorded_output = environment.payload(node.output_ref)
    if node.type is StepType.MODEL and isinstance(recorded_output, dict) and isinstance(output, dict):
        return answer_digest(recorded_output) == answer_digest(output)
    return digest(recorded_output) == digest(output)


def answer_digest(output: JSONValue) -> str:
    """Digest of a model answer's message; of other outputs as a whole."""
    return digest(output.get("message") if isinstance(output, dict) else output)


def _operator_documents(call: Call, base: Answer, environment: ReplayEnvironment) -> Answer | None:
    """Overridden documents, or the head of the recorded ones if only `top_k` was lowered."""
    edits = call.edits.retrieval
    if "documents" in edits:
        return replace(base, output={"documents": edits["documents"]})
    if set(edits) != {"top_k"} or call.node is None or not call.node.output_ref or call.differs != ("top_k",):
        return None
    recorded_output = as_object(environment.payload(call.node.output_ref))
    documents, count = as_list(recorded_output.get("documents")), edits["top_k"]
    if not is_integer(count) or count > len(documents):
        return None
    output: JSONObject = {**recorded_output, "documents": documents[:count]}
    return replace(base, output=output, detail={"from": "the recorded candidates", "kept": count})


def _rerender(call: Call, base: Answer, environment: ReplayEnvironment) -> Answer | None:
    node = call.node
    if node is None or not node.input_ref or not node.output_ref:
        return None
    output = render(environment.payload(node.input_ref), environment.payload(node.output_ref), call.input)
    return None if output is None else replace(base, output=output, detail={"rendered": True})
