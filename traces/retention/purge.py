"""The purge: remove what is due, then the artifacts that nothing uses any more."""

from dataclasses import dataclass

from traces.retention import removal
from traces.storage import sweep
from traces.storage.sweep import SweepReport


@dataclass(frozen=True, kw_only=True, slots=True)
class PurgeReport:
    """What a purge removed."""

    runs: int
    sweep_report: SweepReport


def remove_due() -> PurgeReport:
    """Remove the contents of runs whose time has come. An interrupted purge is continued by the next one."""
    return PurgeReport(runs=removal.remove_due(), sweep_report=sweep.sweep())
