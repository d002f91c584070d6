"""Outputs set by overrides or answered by the operator. Pure."""

from dataclasses import replace

from replay.core.calls import Answer, Call, OperatorAnswer
from replay.core.environment import ReplayEnvironment
from replay.core.graph import Node
from replay.core.values.output_comparison import References, is_same_answer
from replay.resolution.prompt_templates import render
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
    if edits.tool is not None:
        return _override(edits.tool.output, status=StepStatus(edits.tool.status))
    if edits.output is not None:
        return _override(edits.output.for_step(call.type))
    if call.type is StepType.RETRIEVAL and edits.retrieval:
        return _operator_documents(call, environment)
    if call.type is StepType.PROMPT and (edits.prompt or call.changed):
        return _rerender(call, environment)
    return None


def _override(output: JSONValue, *, status: StepStatus = StepStatus.OK, detail: JSONObject | None = None) -> Answer:
    return Answer(
        action="simulate",
        label=Label.SIMULATED,
        reason=Reason.OPERATOR_OVERRIDE,
        output=output,
        status=status,
        detail=detail or {},
    )


def is_recorded_output(node: Node, output: JSONValue, environment: ReplayEnvironment, references: References) -> bool:
    """True if a step's recording has this output."""
    if not node.output_ref or node.losses:
        return False
    if node.type is StepType.MODEL and isinstance(output, dict):
        recorded_output = environment.payload(node.output_ref)
        if isinstance(recorded_output, dict):
            return is_same_answer(recorded_output, output)
    return references.reference_of(output) == node.output_ref


def _operator_documents(call: Call, environment: ReplayEnvironment) -> Answer | None:
    """Overridden documents, or the head of the recorded ones if only `top_k` was lowered."""
    edits = call.edits.retrieval
    if "documents" in edits:
        return _override({"documents": edits["documents"]})
    if set(edits) != {"top_k"} or call.node is None or not call.node.output_ref or call.differs != ("top_k",):
        return None
    recorded_output = as_object(environment.payload(call.node.output_ref))
    documents, count = as_list(recorded_output.get("documents")), edits["top_k"]
    if not is_integer(count) or count > len(documents):
        return None
    output: JSONObject = {**recorded_output, "documents": documents[:count]}
    return _override(output, detail={"from": "the recorded candidates", "kept": count})


def _rerender(call: Call, environment: ReplayEnvironment) -> Answer | None:
    node = call.node
    if node is None or not node.input_ref or not node.output_ref or call.unknown_producers:
        return None
    output = render(environment.payload(node.input_ref), environment.payload(node.output_ref), call.input)
    if output is None:
        return None
    answer = _override(output, detail={"rendered": True})
    # Without an override, values of earlier steps changed it.
    return answer if call.edits.prompt else replace(answer, reason=Reason.DERIVED)
