"""`places`: where to look in a run that failed."""

from typing import Any, Final

from rich.text import Text

from cockpit.cli import output
from cockpit.cli.client import connected, in_path
from cockpit.cli.commands.import_files import run_id

_NEARNESS: Final = {"same_task": "the same task", "same_input": "the same first input", "same_app": "the same app"}


def places(ref: str, *, json: bool, url: str | None, token: str | None) -> None:
    """Places worth a look, with their evidence, and the passing runs to compare with."""
    with connected(url, token) as api:
        found = api.get(f"/runs/{in_path(run_id(api, ref))}/places")
    if json:
        output.document(found)
        return
    console = output.people()
    if not found["places"]:
        console.print("No place stands out: no errors, repeats, failed checks, or values without support.")
    else:
        console.print("Places to look at. None of them is a proven cause.")
        titles = {kind["kind"]: kind["title"] for kind in found["kinds"]}
        shown = output.table(">step", "what", "evidence")
        for place in found["places"]:
            step = "" if place["step"] is None else str(place["step"])
            shown.add_row(step, Text(f"{titles[place['kind']]}: {place['title']}"), Text(_evidence(place)))
        console.print(shown)
    if found["left_out"]:
        output.note(f"{found['left_out']} more places are not listed")
    if found["unread"]:
        output.note(f"{found['unread']} steps were not read: a part of their content is missing or damaged")
    for kind in found["kinds"]:
        for text in _known(kind):
            output.note(text)
    for run in found["passing"]:
        output.note(f"passed, {_NEARNESS[run['nearness']]}: forkpoint diff {run['id']} {found['run']}")


def _evidence(place: dict[str, Any]) -> str:
    steps = ", ".join(str(no) for no in place["related"])
    return f"{place['text']} (with step {steps})" if steps else str(place["text"])


def _known(kind: dict[str, Any]) -> list[str]:
    """How much a kind of place has helped on labelled failures."""
    return [
        f"{kind['title']}: {each['near']} of {each['places']} were at the step that people blamed, or next to it "
        f"({each['source']}; 95 %: {each['low']:.0%} to {each['high']:.0%})"
        for each in kind["measured"]
    ]
