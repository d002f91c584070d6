"""The declared version of the agent's code: whether the same or different code made two runs. Pure.

    SDK             code: {"logic": "9c1f...", "source": "77ab..."}    digests, the first one without prose and comments
    other sources   commit, service.version, vcs.ref.head.revision     a version of everything that was deployed

Prompts, schemas and parameters are usually written in the same files. So another version shows another code only if
nothing that may be written there differs in the recorded requests.
"""

from collections.abc import Iterable
from typing import Final

from diffing.attribution.declared_config import CODE_VERSIONS
from diffing.attribution.difference_origins import Origin
from diffing.attribution.unexplained_changes import Atom
from diffing.compare.comparison import Comparison
from diffing.compare.run_side import RunFacts
from traces.core.json_access import as_object
from traces.core.json_types import JSONValue

# Numbers and names in the code of an agent that its requests show.
_SETTINGS: Final = frozenset({"model", "parameters", "settings", "tool schemas"})
_PROSE: Final = frozenset({"system prompt", "template", "template version and variables"})


def is_code_different(comparison: Comparison, changes: Iterable[Atom]) -> bool:
    """Return whether the runs declare different code, and no recorded change accounts for that."""
    if comparison.derived:
        return False
    base, candidate = comparison.base.run, comparison.candidate.run
    kinds = {atom.facet.kind for atom in changes if atom.facet is not None and atom.origin is not Origin.DERIVED}
    logic = _logic(comparison)
    if all(logic):
        return logic[0] != logic[1] and not kinds & _SETTINGS
    return _is_another_version(base, candidate) and not kinds & (_SETTINGS | _PROSE)


def is_code_equal(comparison: Comparison) -> bool:
    """Return whether both runs have recorded the same logic of the agent's code."""
    base, candidate = _logic(comparison)
    return base is not None and base == candidate


def _logic(comparison: Comparison) -> list[JSONValue]:
    """The digests of the code's logic, of either run."""
    return [as_object(run.metadata.get("code")).get("logic") for run in (comparison.base.run, comparison.candidate.run)]


def _is_another_version(base: RunFacts, candidate: RunFacts) -> bool:
    """Return whether both runs declare the same kind of version, with different values."""
    for name in CODE_VERSIONS:
        values: list[JSONValue] = [run.metadata.get(name) for run in (base, candidate)]
        if all(values):
            return values[0] != values[1]
    return False
