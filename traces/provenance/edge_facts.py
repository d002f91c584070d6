"""One provenance edge: a consumer used what a producer made."""

from typing import Final

from traces.core.step_header import step_view
from traces.core.vocabulary import EdgeKind

SNIPPET: Final = 120  # characters


@step_view
class EdgeFact:
    """`consumer` used what `producer` made; both are sequence numbers. `edges` explains the kinds and paths."""

    producer: int
    consumer: int
    kind: EdgeKind
    consumer_path: str = ""
    producer_path: str = ""
    evidence: str = ""


def cut_evidence(text: str) -> str:
    """Shorten a text to the length of an edge's evidence."""
    return text if len(text) <= SNIPPET else text[: SNIPPET - 1] + "…"
