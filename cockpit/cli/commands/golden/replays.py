"""`ci`: replay golden runs with the agent of this machine."""

import os
import secrets
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from cockpit.cli import output
from cockpit.cli.agent_store import AgentStore, open_agent_store
from cockpit.cli.commands import import_files
from cockpit.cli.commands.golden.results import Result, Verdict, annotations, junit
from cockpit.cli.errors import Exit, Failure
from forkpoint.bootstrap.clients import CLIENTS
from forkpoint.bootstrap.gateway import CannotRun, refuse_addresses
from forkpoint.bootstrap.rerun import open_rerun, run_agent
from forkpoint.confinement.limits import Confinement
from traces.bundles.archive import is_bundle
from traces.core.vocabulary import RunStatus
from traces.importers.formats.tracing.event_lines import EXIT_CODE

_STANDARD_ERROR: Final = 2
# Files of a folder that must be recordings. Others, such as a README, may be something else.
_RECORDINGS: Final = frozenset(
    {".zip", ".json", ".jsonl", ".ndjson", ".gz", ".tgz", ".tar", ".db", ".sqlite", ".eval", ".pb", ".csv", ".parquet"}
)


@dataclass(frozen=True, kw_only=True)
class Settings:
    """How the agents run, and what becomes of the results."""

    words: Sequence[str]
    client: str
    confinement: Confinement
    tools_to_run: Sequence[str]
    is_accepting: bool
    junit: Path | None
    reports: Path | None
    json: bool


def run(golden: Sequence[Path], settings: Settings, *, url: str | None, token: str | None) -> Exit:
    """Replay every golden run, and report; fail if an agent does something else than its recording."""
    if settings.client not in {"", *CLIENTS}:
        raise Failure(f"“{settings.client}” is not a client: choose {' or '.join(CLIENTS)}", exit=Exit.BAD_INPUT)
    files = import_files.files_in(golden)
    if not files:
        raise Failure(f"{golden[0]} contains no recording", exit=Exit.BAD_INPUT)
    with open_agent_store(url, token) as store:
        replays = _Replays(store, settings)
        results = [result for path in files for result in replays.run(path, is_named=path in golden)]
    if not results:
        raise Failure(f"{golden[0]} contains no recording", exit=Exit.BAD_INPUT)
    _report(results, settings)
    return Exit.GATE if any(result.verdict.is_failure for result in results) else Exit.OK


@dataclass(frozen=True, kw_only=True)
class _End:
    """How a recorded agent ended. The exit code is null for 0, and for an agent that the gateway did not start."""

    has_failed: bool
    exit_code: int | None = None

    def admits(self, exit_code: int) -> bool:
        """Return whether an agent that ends so does nothing else."""
        return exit_code == self.exit_code if self.exit_code else self.has_failed or not exit_code


class _Replays:
    """Runs the agent of each golden run again."""

    def __init__(self, store: AgentStore, settings: Settings) -> None:
        self._store = store
        self._settings = settings
        self._agent = store.agent(settings.words, settings.client)

    def run(self, path: Path, *, is_named: bool) -> Iterator[Result]:
        """Import a file, and replay the runs in it; pass over a file of a folder that need not be a recording."""
        report = import_files.import_files(self._store.api, [path])
        if not report["runs"]:
            reason = report["skipped"][0]["reason"] if report["skipped"] else "it contains no run"
            if not is_named and path.suffix.lower() not in _RECORDINGS:
                output.note(f"{path}: passed over, {reason}")
                return
            yield Result(path=path, verdict=Verdict.ERROR, problem=f"it was not imported: {reason}")
        for entry in report["runs"]:
            output.note(f"{path}: run {entry['id']}")
            start = time.monotonic()
            result = self._replay(path, entry)
            yield replace(result, seconds=time.monotonic() - start)

    def _replay(self, path: Path, entry: Mapping[str, Any]) -> Result:
        result = Result(path=path, verdict=Verdict.ERROR, run=str(entry["id"]))
        try:
            result = self._ran(result, {"compare": True}, end=self._recorded_end(entry))
            if result.verdict is Verdict.CHANGED and self._settings.is_accepting:
                return self._accept(result)
        except CannotRun as problem:
            return replace(result, verdict=Verdict.ERROR, problem=str(problem))
        self._save_diff(result)
        return result

    def _recorded_end(self, entry: Mapping[str, Any]) -> _End:
        """Return how the recorded agent ended."""
        metadata = self._store.api.get(f"/runs/{entry['id']}")["metadata"]
        return _End(has_failed=entry["status"] == RunStatus.FAILED, exit_code=metadata.get(EXIT_CODE))

    def _ran(self, result: Result, kind: Mapping[str, bool], *, end: _End) -> Result:
        """Run the agent again, and return the result with its report."""
        server = self._store.server
        tools = [*self._settings.tools_to_run]
        session = open_rerun(server, {"run": result.run, "allow_tools": tools, **kind})
        report, code = run_agent(server, session, self._agent, self._settings.confinement, output=_STANDARD_ERROR)
        verdict = Verdict.SAME if _is_same(report) and end.admits(code) else Verdict.CHANGED
        diff = f"{self._store.link_address}/diffs/{report['diff']}" if report["diff"] else ""
        result = replace(result, exit_code=code, recorded_exit_code=end.exit_code)
        return replace(result, verdict=verdict, report=report, diff=diff)

    def _accept(self, result: Result) -> Result:
        """Run the agent with live calls, and write what it does as the new golden run."""
        if problem := _replacement_refusal(result.path):
            return replace(result, verdict=Verdict.ERROR, problem=problem)
        if not self._store.is_local:
            refuse_addresses(os.environ)
        update = self._ran(result, {"live": True}, end=_End(has_failed=True))
        report = update.report or {}
        if update.exit_code or _has_refusals(report) or not report["fork"]:
            return replace(update, verdict=Verdict.CHANGED)
        self._store.api.download("/bundles/export", {"run": report["fork"]}, result.path)
        return replace(update, verdict=Verdict.UPDATE)

    def _save_diff(self, result: Result) -> None:
        """Write the comparison with the recording to a file."""
        folder, report = self._settings.reports, result.report
        if folder is not None and report is not None and report["diff"]:
            folder.mkdir(parents=True, exist_ok=True)
            text = self._store.api.text(f"/diffs/{report['diff']}", format="html")
            output.save(folder / f"{result.path.stem}-{report['diff']}.html", text)


def _replacement_refusal(path: Path) -> str:
    """Return why a golden run cannot be replaced; empty if it can."""
    with path.open("rb") as file:
        is_replaceable = is_bundle(file)
    return "" if is_replaceable else "--accept replaces bundles only: write one with `forkpoint bundle export`"


def _is_same(report: Mapping[str, Any]) -> bool:
    has_changed = report["divergence"] or report["unused_steps"] or report["changed_checks"]
    return not (_has_refusals(report) or has_changed)


def _has_refusals(report: Mapping[str, Any]) -> bool:
    return bool(report["misses"] or any(tool["refusal"] for tool in report["tools"]))


def _report(results: Sequence[Result], settings: Settings) -> None:
    """Print the results, and write the files that were asked for."""
    if settings.junit is not None:
        output.save(settings.junit, junit(results))
    if settings.json:
        output.document({"golden": [result.as_json() for result in results]})
        return
    console = output.people()
    is_github = os.environ.get("GITHUB_ACTIONS") == "true"
    # GitHub's runner obeys lines of recorded texts that look like its commands, unless they are between such words.
    word = secrets.token_hex(16)
    if is_github:
        console.print(f"::stop-commands::{word}")
    for result in results:
        sign = output.glyph("exact", "error" if result.verdict.is_failure else "")
        console.print(sign + f" {result.path}: {result.verdict}", soft_wrap=True)
        if result.verdict is not Verdict.SAME:
            console.print(result.text, soft_wrap=True)
    if is_github:
        console.print(f"::{word}::")
        for line in annotations(results):
            console.print(line, soft_wrap=True)
