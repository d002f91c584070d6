"""The input of a recorded run, with which its agent can be started again."""

from traces.core.json_access import as_objects, member
from traces.core.json_types import JSONValue
from traces.core.vocabulary import StepType
from traces.importers.common.messages import message_text
from traces.models import Run, Step
from traces.storage import artifacts


def recorded_input(run: Run) -> JSONValue:
    """Return what the program recorded as its input, else the last user message of the first model call, else null.

    An object with a single text, such as the only argument of a decorated function, is that text.
    """
    if (value := run.metadata.get("input")) is not None:
        return _only_text(value)
    step = Step.objects.filter(run=run, type=StepType.MODEL).order_by("sequence_no").first()
    if step is None:
        return None
    messages = as_objects(member(artifacts.available([step.input_ref]).get(step.input_ref), "messages"))
    texts = (message_text(message) for message in reversed(messages) if message.get("role") == "user")
    return next((text for text in texts if text.strip()), None)


def _only_text(value: JSONValue) -> JSONValue:
    texts = [*value.values()] if isinstance(value, dict) else []
    return texts[0] if len(texts) == 1 and isinstance(texts[0], str) else value
