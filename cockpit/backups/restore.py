"""Restore a backup into an empty store."""

from collections.abc import Callable
from pathlib import Path

from django.core.management import call_command

from cockpit.backups.archive_reader import open_archive
from cockpit.backups.keys import check_keys, restore_keys
from cockpit.backups.manifest import Manifest
from cockpit.backups.state import database, require_fit, require_no_runs
from cockpit.backups.stored_files import restore_files
from diffing.sentences.text import count_noun
from replay.bisection import services as bisections
from replay.core.vocabulary import BisectionStatus, ProofStatus
from replay.experiments import services as experiments
from replay.models import Bisection, ExperimentRow, Proof, ReplaySession
from replay.proofs import services as proofs
from replay.sessions import services as replays


def restore(source: Path, report: Callable[[str], None]) -> Manifest:
    """Restore a backup; raise `BackupError`, before anything is written.

    The database is last: what an interrupted restore leaves is an empty store, into which it can be restored again.
    """
    require_no_runs()
    report("verifying the backup")
    with open_archive(source) as archive:
        require_fit(archive.manifest)
        check_keys(archive)
        report("restoring the files")
        restore_files(archive)
        restore_keys(archive)
        report("restoring the database")
        database().restore(archive)
    call_command("migrate", verbosity=0)
    _cancel_replays(report)
    return archive.manifest


def _cancel_replays(report: Callable[[str], None]) -> None:
    """Cancel what was running: it does not know the calls that it made after the backup, and would repeat them."""
    open_sessions = ReplaySession.objects.filter(ended_at=None)
    if count := open_sessions.count():
        report(f"cancelling {count_noun(count, 'unfinished replay')}")
    # Before their sessions, in whose place they would start others.
    for key in set(ExperimentRow.objects.filter(session__ended_at=None).values_list("experiment_id", flat=True)):
        experiments.cancel(key)
    for key in Bisection.objects.filter(status=BisectionStatus.RUNNING).values_list("id", flat=True):
        bisections.cancel(key)
    for key in Proof.objects.filter(status=ProofStatus.RUNNING).values_list("id", flat=True):
        proofs.cancel(key)
    for key in open_sessions.values_list("id", flat=True):
        replays.cancel(key)
