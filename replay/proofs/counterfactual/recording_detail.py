"""Two runs recorded in different detail: what one of them lacks may be there all the same. Pure.

    base       user -> retrieval -> model (system prompt) -> tool -> model -> answer
    candidate  user ->                                       tool ->          answer     a tracer of tools only

A replay that reaches the state of such a run continues with whatever it does not show. An agent that really makes no
such calls looks the same, so this is no obstacle, but a doubt.
"""

from dataclasses import dataclass
from typing import Final

from diffing.report.examination import Examination
from traces.core.vocabulary import StepType

_SYSTEM_PROMPT: Final = "system prompt"
# An agent may be given its first system prompt. That several lose theirs in one change is unlikely.
_LEAST_PROMPTS: Final = 2
_LOOKUPS: Final = frozenset({StepType.RETRIEVAL, StepType.PROMPT})


@dataclass(frozen=True, kw_only=True, slots=True)
class RecordingDetail:
    """What one of two runs may not have recorded.

    lacks_models   no call of a model, or the system prompt of none, although the other run has several
    lacks_lookups  no search or no template of a prompt, although the other run has some
    """

    lacks_models: bool = False
    lacks_lookups: bool = False


def recording_detail(examination: Examination) -> RecordingDetail:
    """Return what one run of a comparison may not have recorded; nothing for a run and its replay."""
    comparison = examination.comparison
    if comparison.derived:
        return RecordingDetail()
    base, candidate = ({step.type for step in side.steps} for side in (comparison.base, comparison.candidate))
    one_sided_types = base ^ candidate
    return RecordingDetail(
        lacks_models=StepType.MODEL in one_sided_types or _lacks_system_prompts(examination),
        lacks_lookups=not _LOOKUPS.isdisjoint(one_sided_types),
    )


def _lacks_system_prompts(examination: Examination) -> bool:
    """Return whether one run has no system prompt where the other has several different ones."""
    facets = [root.facet for root in examination.reasoning.atoms if root.facet is not None]
    prompts = [(facet.base, facet.candidate) for facet in facets if facet.kind == _SYSTEM_PROMPT]
    if len({str(text) for text in prompts}) < _LEAST_PROMPTS:
        return False
    return any(all(texts[1 - side] and not texts[side] for texts in prompts) for side in (0, 1))
