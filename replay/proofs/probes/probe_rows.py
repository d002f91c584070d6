"""The probes of a proof as rows: found again by what was asked, and begun by one worker only."""

from typing import Any

from django.db import IntegrityError

from replay.models import Proof, ProofProbe, ReplaySession
from replay.proofs.core.types import Ask, Seen
from replay.proofs.counterfactual.copied_values import dumped_links
from replay.proofs.probes.setup import Setup
from replay.proofs.probes.stored_probes import COPIED, UNPAID, dumped, dumped_ask, key_of


class ProbeRows:
    """The stored probes of a proof, by the key of their ask."""

    def __init__(self, proof: Proof) -> None:
        self._proof = proof
        self._rows = {row.key: row for row in ProofProbe.objects.filter(proof=proof).select_related("session")}

    def __len__(self) -> int:
        return len(self._rows)

    def all(self) -> list[ProofProbe]:
        return list(self._rows.values())

    def find(self, ask: Ask) -> ProofProbe | None:
        return self._rows.get(key_of(ask))

    def keep(self, ask: Ask, setup: Setup, seen: Seen, *, unpaid: bool = False) -> Seen:
        return self.store(self.row(ask, setup), seen, unpaid=unpaid)

    def store(self, row: ProofProbe, seen: Seen, *, unpaid: bool = False) -> Seen:
        row.seen = {**dumped(seen), UNPAID: unpaid}
        row.save(update_fields=["seen"])
        return seen

    def row(self, ask: Ask, setup: Setup, session: ReplaySession | None = None) -> ProofProbe:
        """The stored probe, made where there is none; raises `IntegrityError` where another worker has a session."""
        known = self.find(ask)
        if known is not None and known.session is None and session is not None:
            won = ProofProbe.objects.filter(id=known.id, session=None).update(session=session, seen=None)
            if not won:
                raise IntegrityError("the probe has a session already")
            known.session, known.seen = session, None
        elif known is None:
            known, _ = self._created(ask, setup, session)
        self._rows[key_of(ask)] = known
        return known

    def _created(self, ask: Ask, setup: Setup, session: ReplaySession | None) -> tuple[ProofProbe, bool]:
        given: dict[str, Any] = {
            "number": len(self._rows) + 1,
            "ask": {**dumped_ask(ask), COPIED: dumped_links(setup.copied)},
            "configuration": setup.configuration,
            "repeat": ask.repeat,
            "session": session,
        }
        if session is not None:
            return ProofProbe.objects.create(proof=self._proof, key=key_of(ask), **given), True
        return ProofProbe.objects.get_or_create(proof=self._proof, key=key_of(ask), defaults=given)
