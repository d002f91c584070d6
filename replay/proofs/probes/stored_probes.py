"""Probes as they are stored, and what several of them may spend together."""

from dataclasses import asdict
from typing import Any, Final
from uuid import UUID

from replay.core.vocabulary import COMPLETED
from replay.models import ProofProbe
from replay.proofs.core.types import Allowance, Ask, Seen, Stray
from replay.proofs.probes.setup import Setup
from traces.core.canonical import digest
from traces.core.json_types import JSONObject, JSONValue

COPIED: Final = "copied"  # what two recordings show to be copied, in the side that is replayed
UNPAID: Final = "unpaid"  # nothing but the budget keeps the probe from its answer


def dumped_ask(ask: Ask) -> JSONObject:
    return {"applied": list[JSONValue](sorted(ask.applied)), "side": ask.side, "clamp": ask.clamp, "repeat": ask.repeat}


def key_of(ask: Ask) -> str:
    return digest(dumped_ask(ask))


def dumped(seen: Seen) -> JSONObject:
    return {**asdict(seen), "run": None if seen.run is None else str(seen.run)}


def loaded(stored: dict[str, Any]) -> dict[str, Any]:
    known = {name: value for name, value in stored.items() if name != UNPAID}
    strays = [Stray(**stray) for stray in stored.get("strays", ())]
    return {**known, "run": None if stored["run"] is None else UUID(stored["run"]), "strays": strays}


def earlier_sample(ask: Ask, setup: Setup) -> ProofProbe | None:
    """The same fresh sample, drawn for another proof."""
    stored = ProofProbe.objects.filter(configuration=setup.configuration, repeat=ask.repeat, repeat__gt=0)
    return stored.filter(session__status__in=COMPLETED).select_related("session").order_by("id").first()


def shared(allowance: Allowance, count: int) -> Allowance:
    """What each of several probes may spend, so that together they keep to the allowance."""
    return Allowance(
        live_calls=None if allowance.live_calls is None else allowance.live_calls // count,
        cost_usd=None if allowance.cost_usd is None else allowance.cost_usd / count,
    )


def least(one: float | None, other: float | None) -> float | None:
    return min((value for value in (one, other) if value is not None), default=None)
