"""Plans that differ only in the texts of overridden model answers. Pure.

A plan depends on such a text only if a request with it is built, or if the recording has the same answer. Otherwise all
texts have the same plan:

    cell 1     all models answer "Yes."     their requests are not built
    cell 2     all models answer "No."      same steps, labels and warnings
"""

from collections.abc import Hashable
from dataclasses import dataclass, field, replace

from replay.core.applied_profile import AppliedProfile
from replay.core.environment import ReplayEnvironment
from replay.core.graph import Graph
from replay.core.values.output_comparison import message_digest
from replay.overrides.edits import Edits
from replay.overrides.policy import Policy
from traces.core.vocabulary import StepType
from traces.payloads.messages import ModelAnswer
from traces.payloads.parts import MissingPart


@dataclass
class RecordedAnswers:
    """Digests of recorded model answers, by output reference; computed once per source."""

    _digests: dict[str, str] = field(default_factory=dict)

    def digest(self, ref: str, environment: ReplayEnvironment) -> str:
        if ref not in self._digests:
            self._digests[ref] = message_digest(environment.payload(ref))
        return self._digests[ref]


def alike_answers(
    graph: Graph, profile: AppliedProfile, policy: Policy, recordings: RecordedAnswers, environment: ReplayEnvironment
) -> Hashable | None:
    """Key of the plans that override the same steps with other texts; None if the profile does anything else."""
    if graph.witnesses or not graph.is_flat or not profile.by_step:
        return None
    digests = {id(edits): _digest_of_text(edits) for edits in profile.distinct}
    if None in digests.values():
        return None
    try:
        for no, edits in profile.by_step.items():
            node = graph.by_no[no]
            if node.type is not StepType.MODEL or node.losses or not node.output_ref:
                return None
            if recordings.digest(node.output_ref, environment) == digests[id(edits)]:
                return None
    except MissingPart:
        return None
    return policy.model_dump_json(), tuple(sorted((no, edits.entries) for no, edits in profile.by_step.items()))


def _digest_of_text(edits: Edits) -> str | None:
    """Digest of an overridden answer without tool calls, if the edits do nothing else."""
    if edits.output is None or replace(edits, entries=(), output=None) != Edits():
        return None
    output = edits.output.answer
    return None if ModelAnswer(output).calls else message_digest(output)
