"""`calibrate`: find fields to exclude from signatures, from two recordings of the same task."""

import re
from typing import Any

from rich.text import Text

from cockpit.cli import output
from cockpit.cli.client import connect
from cockpit.cli.commands.import_files import run_id
from cockpit.cli.errors import Exit, Failure
from diffing.sentences.text import count_noun


def calibrate(base: str, candidate: str, *, accept: str | None, json: bool, url: str | None, token: str | None) -> None:
    """Compare two recordings, print the proposals, and accept the selected ones."""
    with connect(url, token) as api:
        api.start_worker()
        calibration = api.post("/calibrations", {"base": run_id(api, base), "candidate": run_id(api, candidate)})
        indexes = _selected_indexes(accept, calibration["proposals"])
        ignore_list = api.post(f"/calibrations/{calibration['id']}/accept", {"proposals": indexes}) if indexes else None
    if json:
        output.document({"calibration": calibration, "accepted": ignore_list})
        return
    _show(calibration)
    if ignore_list is not None:
        rules = count_noun(len(ignore_list["rules"]), "field")
        output.note(f"the ignore list of {calibration['app']} has {rules} (version {ignore_list['version']})")


def _selected_indexes(accept: str | None, proposals: list[dict[str, Any]]) -> list[int]:
    if accept is None:
        return []
    if accept == "recommended":
        return [index for index, proposal in enumerate(proposals) if proposal["recommended"]]
    if not re.fullmatch(r"[1-9]\d{0,5}(,[1-9]\d{0,5})*", accept):
        raise Failure(
            f"“{accept}” selects no proposals: use numbers, such as 1,3, or `recommended`", exit=Exit.BAD_INPUT
        )
    return [int(number) - 1 for number in accept.split(",")]


def _show(calibration: dict[str, Any]) -> None:
    console = output.people()
    counts = f"{calibration['compared']} calls compared, {calibration['differing']} differ"
    output.facts(console, [("calls", counts), ("matches gained", len(calibration["unified"]))])
    console.print()
    table = output.table(">no", "field", "kind", ">differences", ">matches gained", "false matches", "for example")
    for number, proposal in enumerate(calibration["proposals"], 1):
        rule, example = proposal["rule"], proposal["examples"][0]
        field = f"{rule['type']} {rule['name']} {rule['pointer']}" + (" (within the text)" if rule["within"] else "")
        collisions = "; ".join(
            f"steps {', '.join(map(str, collision['steps'][:4]))}" for collision in proposal["collisions"][:2]
        )
        sign = "✓ " if proposal["recommended"] else ""
        values = f"{example['base'][:40]} → {example['candidate'][:40]}"
        table.add_row(
            str(number),
            Text(sign + field),
            proposal["kind"],
            str(proposal["pairs"]),
            str(proposal["unifies"]),
            Text(collisions or "none"),
            Text(values),
        )
    console.print(table)
    if calibration["left_out"]:
        output.note(f"not examined: {count_noun(calibration['left_out'], 'more pair')} of different calls")
    if calibration["unchecked"]:
        output.note(f"not checked for false matches: {count_noun(calibration['unchecked'], 'more call')}")
    if calibration["left"]:
        output.note(f"{count_noun(len(calibration['left']), 'other difference')} cannot be ignored: the values matter")
