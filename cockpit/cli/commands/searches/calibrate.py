"""`calibrate`: find fields to exclude from signatures, from two recordings of the same task."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from rich.text import Text

from cockpit.cli import output
from cockpit.cli.agent_store import AgentStore, confinement, open_agent_store
from cockpit.cli.client import Api, connect
from cockpit.cli.commands.import_files import run_id
from cockpit.cli.errors import Exit, Failure
from diffing.sentences.text import count_noun
from forkpoint.bootstrap.gateway import CannotRun
from forkpoint.bootstrap.rerun import open_rerun, run_agent
from forkpoint.bootstrap.rerun_report import report_text

_STANDARD_ERROR: Final = 2


@dataclass(frozen=True)
class Program:
    """A program to run twice, and the tools and hosts that it may use besides the recording."""

    words: Sequence[str]
    tools: Sequence[str]
    hosts: Sequence[str]


def calibrate(
    base: str,
    candidate: str | None,
    program: Program | None,
    *,
    accept: str | None,
    json: bool,
    url: str | None,
    token: str | None,
) -> None:
    """Compare two recordings, or what a program does twice, print the proposals, and accept the selected ones."""
    if (candidate is None) == (program is None):
        raise Failure("name a second recording, or a program to run after --", exit=Exit.BAD_INPUT)
    with _runs(base, candidate, program, url, token) as (api, runs):
        calibration = api.post("/calibrations", dict(zip(("base", "candidate"), runs, strict=True)))
        indexes = _selected_indexes(accept, calibration["proposals"])
        ignore_list = api.post(f"/calibrations/{calibration['id']}/accept", {"proposals": indexes}) if indexes else None
    if json:
        output.document({"calibration": calibration, "accepted": ignore_list})
        return
    _show(calibration)
    if ignore_list is not None:
        rules = count_noun(len(ignore_list["rules"]), "field")
        output.note(f"the ignore list of {calibration['app']} has {rules} (version {ignore_list['version']})")


@contextmanager
def _runs(
    base: str, candidate: str | None, program: Program | None, url: str | None, token: str | None
) -> Iterator[tuple[Api, list[str]]]:
    """Yield the runs to compare, and the server that has them."""
    if program is None:
        with connect(url, token) as api:
            api.start_worker()
            yield api, [run_id(api, ref) for ref in (base, candidate or "")]
        return
    with open_agent_store(url, token) as store:
        run = run_id(store.api, base)
        yield store.api, [_rerun(store, run, program) for _ in range(2)]


def _rerun(store: AgentStore, run: str, program: Program) -> str:
    """Run the program with its calls answered from a recording, and return the run of what it did."""
    limits = confinement("listed", program.hosts, is_frozen=False)
    try:
        session = open_rerun(store.server, {"run": run, "allow_tools": [*program.tools], "compare": True})
        agent = store.agent(program.words)
        report, _ = run_agent(store.server, session, agent, limits, output=_STANDARD_ERROR, writes_run=True)
    except CannotRun as problem:
        raise Failure(str(problem), exit=Exit(problem.code)) from problem
    output.note(report_text(report))
    if not report["fork"]:
        raise Failure("the program made no model call, so there is nothing to compare", exit=Exit.BAD_INPUT)
    return str(report["fork"])


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
