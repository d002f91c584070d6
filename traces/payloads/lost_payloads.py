"""Unreadable payloads: never recorded, missing from the store, or damaged. Pure."""

from dataclasses import dataclass
from enum import StrEnum

from traces.core.json_types import JSONObject


class Loss(StrEnum):
    """Why a payload cannot be read."""

    NOT_RECORDED = "not_recorded"
    MISSING = "missing"
    CORRUPT = "damaged"


@dataclass(frozen=True, kw_only=True, slots=True)
class LostPayload:
    """An unreadable payload of a step; `digest` names the missing or damaged artifact, if it was recorded.

    A container without an output of its own has losses of steps inside it; `inner` is the number of such a step.
    """

    field: str
    loss: Loss
    digest: str = ""
    inner: int | None = None

    @property
    def text(self) -> str:
        """The loss as a phrase, for example "an artifact of its output is missing (3f0c...)"."""
        place = f"its {self.field}" if self.inner is None else f"the {self.field} of step {self.inner} inside it"
        if self.loss is Loss.NOT_RECORDED:
            return f"{place} was not recorded"
        return f"an artifact of {place} is {self.loss} ({self.digest})"

    def is_of(self, field: str) -> bool:
        """True if the payload is this one of the step itself."""
        return self.field == field and self.inner is None

    @property
    def document(self) -> JSONObject:
        document: JSONObject = {"field": self.field, "loss": str(self.loss), "digest": self.digest}
        return document if self.inner is None else {**document, "step": self.inner}


LostPayloads = tuple[LostPayload, ...]


def describe_losses(losses: LostPayloads) -> str:
    """Join the losses of a step into one phrase."""
    return "; ".join(payload.text for payload in losses)
