"""Differences that one change of the agent's own code may have made. Pure.

    base       request "Weight: 6.3 kg"    later request "Total: 18.45"
    candidate  request "Weight: 7.9 kg"    later request "Total: 20.85"    the total may follow from the weight

No recorded output explains either difference, so code made both, and a replay can apply each without the other. But the
runs do not show that they are two changes: what changed in the code may have made one of the other.

Nor do they show that a prompt was edited if another agent answers at that step: code may have asked another one.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from diffing.attribution import declared_code
from diffing.attribution.difference_origins import Origin
from diffing.attribution.unexplained_changes import Atom as Root
from diffing.attribution.unexplained_changes import is_agent_setting
from diffing.content.facet import SYSTEM_ROLES
from diffing.report.examination import Examination
from replay.proofs.changes.atoms import Change
from traces.payloads.step_summaries import one_line

_ARGUMENTS: Final = frozenset({"arguments", "query"})


def with_common_origins(changes: Iterable[tuple[Root, Change]], run_inputs: frozenset[str]) -> list[Change]:
    """Mark the differences made by code that come after another one, and those of another agent at a step.

    `run_inputs`: the texts that began the runs.
    """
    rows = list(changes)
    places = [root.places[0] for root, _ in rows if _is_made_by_code(root, run_inputs)]
    return [
        replace(change, atom=replace(change.atom, has_common_origin=True))
        if _asks_another_agent(root) or (_is_made_by_code(root, run_inputs) and min(places) < root.places[0])
        else change
        for root, change in rows
    ]


def is_code_different(examination: Examination) -> bool:
    """Return whether the runs declare that different code made them."""
    return declared_code.is_code_different(examination.comparison, examination.reasoning.atoms)


def is_code_equal(examination: Examination) -> bool:
    """Return whether the runs have recorded the same code."""
    return declared_code.is_code_equal(examination.comparison)


def _asks_another_agent(root: Root) -> bool:
    """Return whether the prompt, the model or the tools differ because two agents stand at one place of the runs."""
    roles = {step.role for step in root.pair.sides or ()}
    return is_agent_setting(root) and len(roles) > 1 and "" not in roles


def _is_made_by_code(root: Root, run_inputs: frozenset[str]) -> bool:
    """Return whether code composed what differs, neither of a recorded output nor of the run's input."""
    if root.origin is not Origin.EXOGENOUS or root.facet is None or root.input_place is not None:
        return False
    if root.facet.kind in _ARGUMENTS:
        return True
    return any(
        item.opening
        and item.source is None
        and item.role not in SYSTEM_ROLES
        and run_inputs.isdisjoint(map(one_line, (item.base, item.candidate)))
        for item in root.facet.messages
    )
