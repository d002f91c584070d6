"""Labels of copies: an output that no agent produced keeps its label in every replay that reuses it. Pure."""

from typing import Final

from traces.core.json_access import as_text, member
from traces.core.json_types import JSONValue
from traces.core.vocabulary import Label

# Labels that a copy keeps; a copy of any other step is exact.
REPLAY_LABELS: Final = (Label.CACHED, Label.SIMULATED)
# Detail of a copy that keeps its label: the reason that the step had where its output came about.
RECORDED_AS: Final = "recorded_as"


def origin_reason(reason: str, detail: JSONValue) -> str:
    """Return the reason with which the output of a step came about, also if the step is a copy."""
    return as_text(member(detail, RECORDED_AS)) or reason
