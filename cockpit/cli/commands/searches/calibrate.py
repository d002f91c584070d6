"""`calibrate`: find fields to exclude from signatures, from two recordings of the same task."""

import re
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from rich.text import Text

from cockpit.cli import output
from cockpit.cli.agent_store import AgentStore, confinement, open_agent_store
from cockpit.cli.client import Api, connect, in_path
from cockpit.cli.commands.import_files import run_id
from cockpit.cli.commands.searches.waiting import note_wait
from cockpit.cli.errors import Exit, Failure
from diffing.sentences.text import count_noun
from forkpoint.bootstrap.gateway import CannotRun
from forkpoint.bootstrap.rerun import open_rerun, run_agent
from forkpoint.bootstrap.rerun_report import real_tools_text, report_text
from replay.core.vocabulary import CalibrationStatus, Engine

_STANDARD_ERROR: Final = 2
_POLL_S: Final = 0.2


@dataclass(frozen=True)
class Program:
    """A program to run twice, and the tools and hosts that it may use besides the recording."""

    words: Sequence[str]
    tools: Sequence[str]
    hosts: Sequence[str]


def program_of(words: Sequence[str], *, tools: Sequence[str], hosts: Sequence[str]) -> Program | None:
    """Return the program after `--`; raise `Failure` for options of one where there is none."""
    if words:
        return Program(words, tools=tools, hosts=hosts)
    if tools or hosts:
        detail = "--allow-tool and --allow-host are for a program after --; a runner has its own, on its command line"
        raise Failure(detail, exit=Exit.BAD_INPUT)
    return None


@dataclass(frozen=True, kw_only=True)
class Subject:
    """What is compared with what: two recordings, or what an agent does twice with the calls of one."""

    base: str
    candidate: str | None
    program: Program | None
    engine: str | None

    def check(self) -> None:
        """Raise `Failure` unless exactly one thing is named that makes two runs."""
        if self.engine not in (None, *Engine):
            raise Failure(f"“{self.engine}” is no engine: use follow or agent", exit=Exit.BAD_INPUT)
        if sum((self.candidate is not None, self.program is not None, self.needs_runner)) != 1:
            detail = "name one of these: a second recording, a program to run after --, or --engine agent"
            raise Failure(detail, exit=Exit.BAD_INPUT)

    @property
    def needs_runner(self) -> bool:
        """Whether a runner starts the agent."""
        return self.engine == Engine.AGENT


def calibrate(subject: Subject, *, accept: str | None, json: bool, url: str | None, token: str | None) -> None:
    """Compare two recordings, or what an agent does twice, print the proposals, and accept the selected ones."""
    subject.check()
    with _comparison(subject, url, token) as (api, calibration):
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
def _comparison(subject: Subject, url: str | None, token: str | None) -> Iterator[tuple[Api, dict[str, Any]]]:
    """Yield the calibration, and the server that has it."""
    if subject.program is not None:
        with open_agent_store(url, token) as store:
            run = run_id(store.api, subject.base)
            yield store.api, _compare(store.api, [_rerun(store, run, subject.program) for _ in range(2)])
        return
    with connect(url, token) as api:
        api.start_worker()
        if subject.needs_runner:
            yield api, _await_runner(api, run_id(api, subject.base))
        else:
            yield api, _compare(api, [run_id(api, ref) for ref in (subject.base, subject.candidate or "")])


def _compare(api: Api, runs: Sequence[str]) -> dict[str, Any]:
    return dict(api.post("/calibrations", dict(zip(("base", "candidate"), runs, strict=True))))


def _await_runner(api: Api, run: str) -> dict[str, Any]:
    """Let a runner start the agent twice, and return the comparison. An interrupt cancels both starts."""
    progress = api.post(f"/runs/{in_path(run)}/calibrate")
    for line in real_tools_text({"real_tools": [tool["name"] for tool in progress["unintercepted_tools"]]}):
        output.note(line)
    waits_for = ""
    try:
        while progress["status"] == CalibrationStatus.RUNNING:
            waits_for = note_wait(progress, waits_for)
            time.sleep(_POLL_S)
            progress = api.get(f"/calibrations/by-agent/{progress['id']}")
    except KeyboardInterrupt:
        for start in progress["starts"]:
            api.post(f"/replays/{start['session']}/cancel")
        raise
    if progress["error"]:
        raise Failure(progress["error"])
    return dict(api.get(f"/calibrations/{progress['calibration']}"))


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
    numbers = [int(number) for number in accept.split(",")]
    if max(numbers) > len(proposals):
        detail = f"there is no proposal {max(numbers)}: the comparison has {count_noun(len(proposals), 'proposal')}"
        raise Failure(detail, exit=Exit.BAD_INPUT)
    return [number - 1 for number in numbers]


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
