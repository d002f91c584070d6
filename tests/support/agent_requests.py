"""Requests of an agent that runs again, as the gateway hands them over."""

from replay.reruns.requests.agent_requests import AgentRequest
from traces.core.json_access import as_object
from traces.core.json_types import JSONObject
from traces.core.vocabulary import StepType
from traces.models import Run, Step
from traces.storage import artifacts


def first_request(run: Run) -> AgentRequest:
    """Return the first model call of a run, as it was recorded."""
    return _request(Step.objects.filter(run=run, type=StepType.MODEL).earliest("sequence_no"))


def last_request(run: Run) -> AgentRequest:
    """Return the last model call of a run, as it was recorded."""
    return _request(Step.objects.filter(run=run, type=StepType.MODEL).latest("sequence_no"))


def _request(step: Step) -> AgentRequest:
    input: JSONObject = artifacts.available([step.input_ref])[step.input_ref]  # type: ignore[assignment]  # an object
    fields = dict(input)
    body: JSONObject = {"model": step.model, **as_object(fields.pop("parameters", None)), **fields}
    return AgentRequest(provider=step.provider, api="openai.chat", headers={}, read_body=lambda: body)
