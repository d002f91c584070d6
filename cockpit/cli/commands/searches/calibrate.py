"""`calibrate`: what signatures should leave out, found from two recordings of the same work."""

import re
from typing import Any

from rich.text import Text

from cockpit.cli import output
from cockpit.cli.client import connected
from cockpit.cli.commands.import_files import run_id
from cockpit.cli.errors import Exit, Failure


def calibrate(base: str, candidate: str, *, accept: str | None, json: bool, url: str | None, token: str | None) -> None:
    """Compare, print the proposals, and accept those that were asked for."""
    with connected(url, token) as api:
        api.start_worker()
        found = api.post("/calibrations", {"base": run_id(api, base), "candidate": run_id(api, candidate)})
        places = _places(accept, found["proposals"])
        made = api.post(f"/calibrations/{found['id']}/accept", {"proposals": places}) if places else None
    if json:
        output.document({"calibration": found, "accepted": made})
        return
    _show(found)
    if made is not None:
        output.note(f"{found['app']} has ignore list {made['version']}, with {len(made['rules'])} rules")


def _places(accept: str | None, proposals: list[dict[str, Any]]) -> list[int]:
    if accept is None:
        return []
    if accept == "recommended":
        return [at for at, each in enumerate(proposals) if each["recommended"]]
    if not re.fullmatch(r"[1-9]\d{0,5}(,[1-9]\d{0,5})*", accept):
        raise Failure(f"{accept!r}: give the numbers of proposals, as 1,3, or `recommended`", exit=Exit.BAD_INPUT)
    return [int(number) - 1 for number in accept.split(",")]


def _show(found: dict[str, Any]) -> None:
    console = output.people()
    counts = f"{found['compared']} calls compared, {found['differing']} differ"
    output.facts(console, [("calls", counts), ("unified by all", len(found["unified"]))])
    console.print()
    shown = output.table(">no", "field", "is", ">differs", ">unifies", "would confuse", "for example")
    for number, each in enumerate(found["proposals"], 1):
        rule, example = each["rule"], each["examples"][0]
        field = f"{rule['type']} {rule['name']} {rule['pointer']}" + (" (in the text)" if rule["within"] else "")
        confused = "; ".join(f"steps {', '.join(map(str, one['steps'][:4]))}" for one in each["collisions"][:2])
        sign = "✓ " if each["recommended"] else ""
        values = f"{example['base'][:40]} → {example['candidate'][:40]}"
        shown.add_row(
            str(number),
            Text(sign + field),
            each["kind"],
            str(each["pairs"]),
            str(each["unifies"]),
            Text(confused or "nothing"),
            Text(values),
        )
    console.print(shown)
    if found["left_out"]:
        output.note(f"{found['left_out']} more pairs of calls that differ were not looked at")
    if found["unchecked"]:
        output.note(f"{found['unchecked']} more calls were not looked at for what would be confused")
    if found["left"]:
        output.note(f"{len(found['left'])} other differences say something and are never left out")
