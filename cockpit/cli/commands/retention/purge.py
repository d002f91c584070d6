"""`purge`."""

from typing import Any

from rich.table import Table

from cockpit.cli import output
from cockpit.cli.client import connect
from cockpit.cli.errors import Exit, Failure
from cockpit.cli.in_process import open_store
from diffing.sentences.text import count_noun

_KEPT_BY = (("pinned_runs", "pinned"), ("held_runs", "legal hold"), ("cited_runs", "cited"))


def purge(*, dry_run: bool, json: bool, url: str | None, token: str | None) -> None:
    """Apply the retention policies, or print what that would delete and what keeps other runs."""
    with connect(url, token) as api:
        report = api.post("/retention/plan") if dry_run else api.post("/retention/purge")
    if json:
        output.document(report)
    elif dry_run:
        _show_plan(report)
    else:
        counts = f"{count_noun(report['runs'], 'run')} and {count_noun(report['artifacts'], 'artifact')}"
        output.people().print(f"deleted {counts}, {_megabytes(report['size'])}")


def remove_unused_files(*, dry_run: bool, json: bool, url: str | None) -> None:
    """Remove the files of the artifact storage that no artifact has, or print how many there are."""
    if url:
        detail = "--unused-files needs direct access to the store: run this command on the server, without --url"
        raise Failure(detail, exit=Exit.BAD_INPUT, code="validation_error")
    with open_store():
        from traces.retention import unused_files

        count = len(unused_files.find()) if dry_run else unused_files.remove()
    if json:
        output.document({"unused_files": count})
    else:
        output.people().print(f"{'would delete' if dry_run else 'deleted'} {count_noun(count, 'file')}")


def _show_plan(plan: dict[str, Any]) -> None:
    people = output.people()
    table = Table("app", "tag", "days", "would delete", *(f"kept: {title}" for _, title in _KEPT_BY), box=None)
    for effect in plan["effects"]:
        counts = (str(effect[name]) for name in ("runs", *(name for name, _ in _KEPT_BY)))
        table.add_row(effect["app"] or "all apps", effect["tag"] or "all", str(effect["days"]), *counts)
    if plan["effects"]:
        people.print(table)
    people.print(f"would delete {count_noun(plan['runs'], 'run')}, {_megabytes(plan['size'])}; nothing was deleted")


def _megabytes(size: int) -> str:
    return f"{size / 1e6:.1f} MB"
