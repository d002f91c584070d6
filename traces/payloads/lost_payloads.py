"""Recorded payloads that cannot be read: never recorded, gone from the store, or damaged there. Pure."""

from dataclasses import dataclass
from enum import StrEnum

from traces.core.json_types import JSONObject


class Loss(StrEnum):
    """Why a payload cannot be read."""

    NOT_RECORDED = "not_recorded"
    MISSING = "missing"
    DAMAGED = "damaged"


@dataclass(frozen=True, kw_only=True, slots=True)
class LostPayload:
    """A payload of a step that cannot be read, with the artifact at fault; without one it was not recorded."""

    field: str
    loss: Loss
    digest: str = ""

    @property
    def text(self) -> str:
        """The loss in words, for example "the artifact of its output is missing (3f0c...)"."""
        if self.loss is Loss.NOT_RECORDED:
            return f"its {self.field} was not recorded"
        return f"an artifact of its {self.field} is {self.loss} ({self.digest})"

    @property
    def document(self) -> JSONObject:
        return {"field": self.field, "loss": str(self.loss), "digest": self.digest}


LostPayloads = tuple[LostPayload, ...]


def in_words(lost: LostPayloads) -> str:
    """All losses of one step, for a sentence."""
    return "; ".join(payload.text for payload in lost)
