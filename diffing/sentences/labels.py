"""Headings and labels of a rendered report, and the notes beside its figures. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from diffing.schemas.report import Attribution, ToolAccuracy
from diffing.schemas.terms import AttributionVerdict
from diffing.sentences.changes import METHODS
from traces.core.vocabulary import EdgeKind

# How a link of the path is known.
LINK_KINDS: Final[Mapping[EdgeKind | Literal["cause"], str]] = {
    "cause": "the difference begins here",
    EdgeKind.TOOL_CALL_ID: "linked by the id of the tool call",
    EdgeKind.LINK: "linked in the recording",
    EdgeKind.HISTORY: "the next request repeats it in its history",
    EdgeKind.DIGEST: "the same content appears again",
    EdgeKind.TEXT: "the same words appear again",
    EdgeKind.VALUE: "a value of it appears again",
}
LINK_EVIDENCE: Final[Mapping[str, str]] = {"inferred": "inferred from the recordings", "tested": "tested by replaying"}

COMPARED_RUNS: Final = "What is compared"
CHANGES: Final = "What changed"
CONFIDENCE: Final = "Confidence"
REASON: Final = "Why"
NEXT: Final = "What next"
PATH: Final = "From cause to effect"
EVIDENCE: Final = "Evidence"
OPEN_CHANGES: Final = "Not ruled out"
EXPERIMENT: Final = "Next test"
MEDIATORS: Final = "How it worked"
INTERACTIONS: Final = "How the changes act together"
ASSUMPTIONS: Final = "Assumptions"
LANE: Final = "Without the changes"
FIGURES: Final = "In numbers"
STEPS: Final = "Steps that differ"
GLOSSARY: Final = "Terms in this report"
NOT_COMPARED: Final = "Not compared"
ALL_STEPS_SAME: Final = "Every step is the same in both runs."
ALSO_UNCHANGED_STEP: Final = "This step also differs without the changes."
TRUNCATION: Final = "Only the beginning of a very long text is compared."
HEADINGS: Final[Mapping[str, str]] = {
    "compared": COMPARED_RUNS,
    "changes": CHANGES,
    "certainty": CONFIDENCE,
    "next": NEXT,
    "path": PATH,
    "evidence": EVIDENCE,
    "open_changes": OPEN_CHANGES,
    "experiment": EXPERIMENT,
    "mediators": MEDIATORS,
    "interactions": INTERACTIONS,
    "assumptions": ASSUMPTIONS,
    "lane": LANE,
    "steps": STEPS,
    "glossary": GLOSSARY,
    "not_compared": NOT_COMPARED,
    "all_steps_same": ALL_STEPS_SAME,
    "truncated": TRUNCATION,
}

_VERDICTS: Final[Mapping[AttributionVerdict, str]] = {
    AttributionVerdict.NO_DIFFERENCE: "No difference",
    AttributionVerdict.NO_EFFECT: "No effect on the answer",
    AttributionVerdict.NOISE: "Noise",
    AttributionVerdict.INCONCLUSIVE: "Inconclusive",
}
_CAUSES: Final[Mapping[str | None, str]] = {"low": "Suspected cause", "medium": "Likely cause"}


def verdict_title(attribution: Attribution) -> str:
    """The title of a verdict; a cause is called no more certain than it is."""
    if attribution.verdict != AttributionVerdict.CAUSE:
        return _VERDICTS[attribution.verdict]
    return _CAUSES.get(attribution.confidence, "Cause")


def more_steps_differ(count: int) -> str:
    """Differing steps beyond those listed."""
    return f"{count:,} more steps differ."


def more_lane_steps(count: int) -> str:
    """Steps beyond those listed that differ without the changes."""
    return f"{count:,} more steps differ without the changes."


def more_items(count: int) -> str:
    """Differences of a section beyond those listed."""
    return f"{count:,} more differences are in the JSON report."


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A figure of the report, with its meaning."""

    name: str
    value: str
    note: str


DELTA_NOTE: Final = "candidate minus base"
ARS: Final = "Overall similarity (ARS)"
ANSWERS: Final = "Answer similarity"
TOOLS: Final = "Tools"


def ars_note(reading: str) -> str:
    """The meaning of the Agent Regression Score."""
    return f"{reading}; 1 is the same. Agent Regression Score: 0.7 × answer similarity + 0.3 × tool accuracy"


def answers_note(method: str) -> str:
    """The meaning of the answers' similarity."""
    return f"average similarity of the answers of all turns ({METHODS[method]})"


def tools_note(tools: ToolAccuracy) -> str:
    """The tool calls behind the tool accuracy."""
    if not tools.total_original and not tools.new:
        return "no run calls a tool"
    return (
        f"{tools.used_original} of {tools.total_original} tool calls made again, {tools.new} new, {tools.unused} unused"
    )


def steps_note(total: int) -> str:
    """The steps behind the number of differing steps."""
    return f"of {total:,}, listed below; agents and turns, which only contain steps, are not counted"
