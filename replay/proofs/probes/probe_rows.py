"""The stored probes of a proof, each started by one worker only."""

from typing import Any

from django.db import IntegrityError

from replay.models import Proof, ProofProbe, ReplaySession
from replay.proofs.core.types import ProbeResult, ProbeSpec
from replay.proofs.counterfactual.copied_values import dump_links
from replay.proofs.probes.setup import Setup
from replay.proofs.probes.stored_probes import COPIES, UNPAID, dump_result, dump_spec, key_of


class ProbeRows:
    """The stored probes of a proof, by the key of their spec."""

    def __init__(self, proof: Proof) -> None:
        self._proof = proof
        self._rows = {row.key: row for row in ProofProbe.objects.filter(proof=proof).select_related("session")}

    def __len__(self) -> int:
        return len(self._rows)

    def all(self) -> list[ProofProbe]:
        return list(self._rows.values())

    def find(self, spec: ProbeSpec) -> ProofProbe | None:
        return self._rows.get(key_of(spec))

    def save(self, spec: ProbeSpec, setup: Setup, result: ProbeResult, *, unpaid: bool = False) -> ProbeResult:
        return self.store(self.row(spec, setup), result, unpaid=unpaid)

    def store(self, row: ProofProbe, result: ProbeResult, *, unpaid: bool = False) -> ProbeResult:
        row.seen = {**dump_result(result), UNPAID: unpaid}
        row.save(update_fields=["seen"])
        return result

    def row(self, spec: ProbeSpec, setup: Setup, session: ReplaySession | None = None) -> ProofProbe:
        """The stored probe, created if missing; raises `IntegrityError` if another worker has a session for it.

        A result that only the budget kept from its answer is replaced by that of the new session.
        """
        row = self.find(spec)
        is_open = row is not None and (row.session is None or bool((row.seen or {}).get(UNPAID)))
        if row is not None and is_open and session is not None:
            unchanged_rows = ProofProbe.objects.filter(id=row.id, session=row.session_id)
            if not unchanged_rows.update(session=session, seen=None):
                raise IntegrityError("the probe has a session already")
            row.session, row.seen = session, None
        elif row is None:
            row = self._create(spec, setup, session)
        self._rows[key_of(spec)] = row
        return row

    def _create(self, spec: ProbeSpec, setup: Setup, session: ReplaySession | None) -> ProofProbe:
        columns: dict[str, Any] = {
            "number": len(self._rows) + 1,
            "ask": {**dump_spec(spec), COPIES: dump_links(setup.copies)},
            "configuration": setup.configuration,
            "repeat": spec.repeat,
            "session": session,
        }
        # A session must belong to exactly one row, so a concurrent row is an error here.
        if session is not None:
            return ProofProbe.objects.create(proof=self._proof, key=key_of(spec), **columns)
        return ProofProbe.objects.get_or_create(proof=self._proof, key=key_of(spec), defaults=columns)[0]
