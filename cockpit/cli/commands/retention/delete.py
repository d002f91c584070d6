"""`delete` and `restore`."""

from collections.abc import Sequence

from cockpit.cli import output
from cockpit.cli.client import connect, in_path
from cockpit.cli.errors import Exit


def delete(
    refs: Sequence[str], *, includes_citations: bool, at_once: bool, json: bool, url: str | None, token: str | None
) -> Exit:
    """Delete runs; print until when each can be restored, or why it was refused."""
    with connect(url, token) as api:
        result = api.post(
            "/runs/delete", {"runs": [*refs], "includes_citations": includes_citations, "at_once": at_once}
        )
    if json:
        output.document(result)
    else:
        people = output.people()
        for run in result["deletions"]:
            people.print(
                f"{run['id']}  " + ("removed" if at_once else f"deleted; can be restored until {run['due_at']}")
            )
        for run in result["refusals"]:
            people.print(f"{run['id']}  refused: {run['detail']}")
    return Exit.ERROR if result["refusals"] else Exit.OK


def restore(run_id: str, *, json: bool, url: str | None, token: str | None) -> None:
    """Restore a deleted run."""
    with connect(url, token) as api:
        result = api.post(f"/runs/{in_path(run_id)}/restore")
    if json:
        output.document(result)
    else:
        output.people().print(f"{result['id']}  restored")
