"""`export`: send a run to another system and follow the progress."""

import time
from typing import Any, Final

from cockpit.cli import output
from cockpit.cli.client import Api, connect
from cockpit.cli.commands.import_files import run_id
from cockpit.cli.errors import Exit
from replay.core.vocabulary import ExportStatus

_POLL_S: Final = 0.1
_SLOWEST_POLL_S: Final = 2.0


def langfuse(ref: str, *, target: str | None, wait: bool, json: bool, url: str | None, token: str | None) -> Exit:
    """Start an export, and wait until it is complete."""
    with connect(url, token) as api:
        if wait:
            api.start_worker()
        run = run_id(api, ref)
        export = api.post(f"/runs/{run}/exports/langfuse", {"target": target})
        export = _follow(api, export) if wait else export
    if json:
        output.document({"export": export})
    else:
        _show(export)
    if export["status"] != ExportStatus.FAILED:
        return Exit.OK
    output.error(f"the export is incomplete: {export['error']}")
    return Exit.UNAVAILABLE


def _follow(api: Api, export: dict[str, Any]) -> dict[str, Any]:
    """Return the export when it ends or pauses; workers resume a paused export."""
    wait = _POLL_S
    while not ExportStatus(export["status"]).is_final:
        if export["retry_at"]:
            output.note(f"{export['error']}: resumes automatically at {export['retry_at']}")
            return export
        time.sleep(wait)
        wait = min(wait * 1.2, _SLOWEST_POLL_S)
        exports = api.get(f"/runs/{export['run']}/exports")["exports"]
        export = next(entry for entry in exports if entry["id"] == export["id"])
    return export


def _show(export: dict[str, Any]) -> None:
    output.facts(
        output.people(),
        [
            ("target", export["target"]),
            ("status", export["status"]),
            ("events", f"{export['done_events']} of {export['events']}"),
            ("refused", export["rejected"]),
            ("cut", export["cut"]),
            ("trace", export["url"]),
        ],
    )
