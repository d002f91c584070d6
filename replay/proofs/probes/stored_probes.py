"""Stored form of probes, and how several probes share an allowance."""

from dataclasses import asdict
from typing import Any, Final
from uuid import UUID

from diffing.schemas.evidence import ProbeOutcome
from replay.core.vocabulary import COMPLETED
from replay.models import Proof, ProofProbe
from replay.proofs.core.types import Allowance, ProbeResult, ProbeSpec, Stray
from replay.proofs.probes.setup import Setup
from traces.core.canonical import digest
from traces.core.json_types import JSONObject, JSONValue

# The stored copies of values that both recordings together show, on the side that is replayed.
COPIES: Final = "copied"
# Only the budget keeps the probe from its answer.
UNPAID: Final = "unpaid"


def dump_spec(spec: ProbeSpec) -> JSONObject:
    atoms = list[JSONValue](sorted(spec.atoms))
    control: JSONObject = {"control": True} if spec.control else {}
    return {"applied": atoms, "side": spec.side, "clamp": spec.clamp, "repeat": spec.repeat, **control}


def key_of(spec: ProbeSpec) -> str:
    return digest(dump_spec(spec))


def dump_result(result: ProbeResult) -> JSONObject:
    return {**asdict(result), "run": None if result.run is None else str(result.run)}


def load_result(dump: dict[str, Any]) -> ProbeResult:
    fields = {name: value for name, value in dump.items() if name != UNPAID}
    fields["outcome"] = ProbeOutcome(dump["outcome"])
    fields["run"] = None if dump["run"] is None else UUID(dump["run"])
    fields["strays"] = [Stray(**stray) for stray in dump.get("strays", ())]
    return ProbeResult(**fields)


def earlier_sample(proof: Proof, spec: ProbeSpec, setup: Setup) -> ProofProbe | None:
    """The same new sample, drawn for another proof than this one."""
    other_probes = ProofProbe.objects.exclude(proof=proof).filter(configuration=setup.configuration)
    samples = other_probes.filter(repeat=spec.repeat, repeat__gt=0, session__status__in=COMPLETED)
    return samples.select_related("session").order_by("id").first()


def divide(allowance: Allowance, count: int) -> Allowance:
    """An equal share of the allowance for each of several probes."""
    return Allowance(
        live_calls=None if allowance.live_calls is None else allowance.live_calls // count,
        cost_usd=None if allowance.cost_usd is None else allowance.cost_usd / count,
    )


def tighter_limit(first: float | None, second: float | None) -> float | None:
    """The lower of two limits; None: no limit."""
    return min((limit for limit in (first, second) if limit is not None), default=None)
