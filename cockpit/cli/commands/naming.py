"""`tag` and `rename`."""

from collections.abc import Iterable
from typing import Any

from rich.text import Text

from cockpit.cli import output
from cockpit.cli.client import connect, in_path
from cockpit.cli.commands.import_files import run_id
from cockpit.cli.errors import Exit, Failure


def tag(ref: str, changes: Iterable[str], *, json: bool, url: str | None, token: str | None) -> None:
    """Add and remove tags, such as `+urgent -beta`, and print those of the run."""
    additions, removals = _parse(changes)
    with connect(url, token) as api:
        run = api.get(f"/runs/{in_path(run_id(api, ref))}")
        if additions or removals:
            change = {"runs": [run["id"]], "add": additions, "remove": removals}
            api.post("/runs/tags", {"changes": [change]})
            run = api.get(f"/runs/{run['id']}")
    if json:
        output.document({"run": run["id"], "tags": run["tags"]})
    else:
        output.people().print(Text(", ".join(run["tags"]) or "no tags"), soft_wrap=True)


def rename(ref: str, name: str | None, *, note: str | None, json: bool, url: str | None, token: str | None) -> None:
    """Give a run a name or a note, and print its title."""
    body: dict[str, Any] = {key: text for key, text in (("title", name), ("note", note)) if text is not None}
    if not body:
        raise Failure("give a name, or a note with --note", exit=Exit.BAD_INPUT)
    with connect(url, token) as api:
        run = api.patch(f"/runs/{in_path(run_id(api, ref))}", body)
    if json:
        output.document({"run": run["id"], "title": run["title"], "note": run["note"]})
    else:
        output.people().print(Text(output.run_title(run)), soft_wrap=True)


def _parse(changes: Iterable[str]) -> tuple[list[str], list[str]]:
    additions: list[str] = []
    removals: list[str] = []
    for change in changes:
        sign, text = change[:1], change[1:]
        if sign not in ("+", "-") or not text.strip():
            raise Failure(f"“{change}” is not a change of tags: use +TAG or -TAG", exit=Exit.BAD_INPUT)
        (additions if sign == "+" else removals).append(text)
    return additions, removals
