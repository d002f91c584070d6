"""`export`: send a run to another system, and follow it there."""

import time
from typing import Any, Final

from cockpit.cli import output
from cockpit.cli.client import Api, connected
from cockpit.cli.commands.import_files import run_id
from cockpit.cli.errors import Exit
from replay.core.vocabulary import ExportStatus

_POLL_S: Final = 0.1
_SLOWEST_POLL_S: Final = 2.0


def langfuse(ref: str, *, target: str | None, wait: bool, json: bool, url: str | None, token: str | None) -> Exit:
    """Ask for an export, and wait until Langfuse has everything."""
    with connected(url, token) as api:
        if wait:
            api.start_worker()
        run = run_id(api, ref)
        export = api.post(f"/runs/{run}/exports/langfuse", {"target": target})
        export = _followed(api, export) if wait else export
    if json:
        output.document({"export": export})
    else:
        _show(export)
    if export["status"] != ExportStatus.FAILED:
        return Exit.OK
    output.error(f"Langfuse has only a part of the run: {export['error']}")
    return Exit.UNAVAILABLE


def _followed(api: Api, export: dict[str, Any]) -> dict[str, Any]:
    """The export at its end, or as it is when it pauses, which the workers go on with by themselves."""
    wait = _POLL_S
    while not ExportStatus(export["status"]).is_final:
        if export["retry_at"]:
            output.note(f"{export['error']}: goes on by itself at {export['retry_at']}")
            return export
        time.sleep(wait)
        wait = min(wait * 1.2, _SLOWEST_POLL_S)
        listed = api.get(f"/runs/{export['run']}/exports")["exports"]
        export = next(found for found in listed if found["id"] == export["id"])
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
