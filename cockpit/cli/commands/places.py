"""`places`: suspicious steps of a failed run."""

from typing import Any, Final

from rich.text import Text

from cockpit.cli import output
from cockpit.cli.client import connect, in_path
from cockpit.cli.commands.import_files import run_id
from diffing.sentences.text import count_noun
from replay.core.wording import step_list

_NEARNESS: Final = {
    "same_task": "on the same task",
    "same_input": "with the same first input",
    "same_app": "in the same app",
}


def places(ref: str, *, json: bool, url: str | None, token: str | None) -> None:
    """Print suspicious steps with their evidence, and passing runs to compare with."""
    with connect(url, token) as api:
        result = api.get(f"/runs/{in_path(run_id(api, ref))}/places")
    if json:
        output.document(result)
        return
    console = output.people()
    if not result["places"]:
        console.print("Nothing suspicious found: no errors, repeats, failed checks or unsupported values.")
    else:
        console.print("Suspicious steps. None of them is a proven cause.")
        titles = {kind["kind"]: kind["title"] for kind in result["kinds"]}
        table = output.table(">step", "what", "evidence")
        for place in result["places"]:
            step = "" if place["step"] is None else str(place["step"])
            table.add_row(step, Text(f"{titles[place['kind']]}: {place['title']}"), Text(_evidence(place)))
        console.print(table)
    if result["left_out"]:
        output.note(f"not listed: {count_noun(result['left_out'], 'more place')}")
    if result["unread"]:
        output.note(
            f"{count_noun(result['unread'], 'step')} could not be read: parts of the content are missing or damaged"
        )
    for kind in result["kinds"]:
        for text in _precision(kind):
            output.note(text)
    for run in result["passing"]:
        output.note(f"passed {_NEARNESS[run['nearness']]}: forkpoint diff {run['id']} {result['run']}")


def _evidence(place: dict[str, Any]) -> str:
    return f"{place['text']} (see also {step_list(place['related'])})" if place["related"] else str(place["text"])


def _precision(kind: dict[str, Any]) -> list[str]:
    """Measured precision of a kind of place on labelled failures."""
    return [
        f"{kind['title']}: {figure['near']} of {figure['places']} were at or next to the step that people marked "
        f"({figure['source']}; 95 %: {figure['low']:.0%} to {figure['high']:.0%})"
        for figure in kind["measured"]
    ]
