"""Results of golden runs, as text, JUnit and annotations of GitHub. Pure."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Final
from xml.etree import ElementTree

from forkpoint.bootstrap.rerun_report import report_text
from forkpoint.confinement.terminal_text import one_line

# Characters that XML cannot contain: controls, surrogates and two others.
_FORBIDDEN: Final = dict.fromkeys({*range(32), *range(0xD800, 0xE000), 0xFFFE, 0xFFFF} - {9, 10, 13}, "�")


class Verdict(StrEnum):
    """What became of a golden run. `error`: it could not be replayed."""

    SAME = "same"
    CHANGED = "changed"
    UPDATE = "updated"
    ERROR = "error"

    @property
    def is_failure(self) -> bool:
        return self in {Verdict.CHANGED, Verdict.ERROR}


@dataclass(frozen=True, kw_only=True, slots=True)
class Result:
    """A golden run, what its agent did, and where the difference is shown."""

    path: Path
    verdict: Verdict
    run: str = ""
    seconds: float = 0.0
    exit_code: int | None = None
    recorded_exit_code: int | None = None
    report: Mapping[str, Any] | None = None
    diff: str = ""
    problem: str = ""

    @property
    def text(self) -> str:
        """What the agent did, in a few lines."""
        lines = [report_text(self.report)] if self.report else []
        lines += [f"error: {self.problem}"] if self.problem else []
        lines += [f"  {self.end}"] if self.end else []
        return "\n".join(lines + ([f"  diff: {self.diff}"] if self.diff else []))

    @property
    def end(self) -> str:
        """How the agent ended, unless all went well."""
        if self.recorded_exit_code and self.exit_code != self.recorded_exit_code:
            return f"the agent ended with exit code {self.exit_code}, in the recording with {self.recorded_exit_code}"
        return f"the agent ended with exit code {self.exit_code}" if self.exit_code else ""

    @property
    def headline(self) -> str:
        """The first thing that differs, in one line."""
        report = self.report or {}
        if self.problem:
            return self.problem
        if difference := report.get("divergence"):
            return f"the agent differs from step {difference['step']} at {one_line(difference['path'])}"
        if refusals := [tool["name"] for tool in report.get("tools", ()) if tool["refusal"]]:
            return f"the agent calls {one_line(refusals[0])} in another way than recorded"
        if steps := report.get("unused_steps"):
            return f"the agent does not make the recorded call of step {steps[0]}"
        if steps := report.get("changed_checks"):
            return f"the agent's own check of step {steps[0]} decides differently"
        if report.get("misses"):
            return "a call of the agent is not in the recording"
        return self.end or self.verdict.value

    def as_json(self) -> dict[str, Any]:
        facts = {"path": str(self.path), "verdict": self.verdict.value, "run": self.run or None}
        outcome = {"exit_code": self.exit_code, "diff": self.diff or None, "problem": self.problem or None}
        return {**facts, **outcome, "report": self.report}


def junit(results: Sequence[Result]) -> str:
    """Return the results as a report of JUnit."""
    counts = {
        "tests": len(results),
        "failures": sum(result.verdict is Verdict.CHANGED for result in results),
        "errors": sum(result.verdict is Verdict.ERROR for result in results),
    }
    attributes = {name: str(count) for name, count in counts.items()}
    suite = ElementTree.Element("testsuite", {"name": "forkpoint", "time": _seconds(results), **attributes})
    for result in results:
        case = ElementTree.SubElement(
            suite, "testcase", classname="forkpoint.golden", name=_xml(str(result.path)), time=f"{result.seconds:.3f}"
        )
        if result.verdict.is_failure:
            kind = "error" if result.verdict is Verdict.ERROR else "failure"
            ElementTree.SubElement(case, kind, message=_xml(result.headline)).text = _xml(result.text)
    return ElementTree.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"


def annotations(results: Iterable[Result]) -> Iterator[str]:
    """Yield the failures as commands that GitHub's runner reads from the output."""
    for result in results:
        if result.verdict.is_failure:
            properties = {"file": str(result.path), "title": "Golden run"}
            fields = ",".join(f"{name}={_escape(value, ':,')}" for name, value in properties.items())
            lines = [result.headline, *([f"Diff: {result.diff}"] if result.diff else [])]
            yield f"::error {fields}::{_escape(chr(10).join(lines))}"


def _seconds(results: Iterable[Result]) -> str:
    return f"{sum(result.seconds for result in results):.3f}"


def _xml(text: str) -> str:
    return text.translate(_FORBIDDEN)


def _escape(text: str, more: str = "") -> str:
    """Escape a value of a command: percent signs and line breaks, and in properties also `more`."""
    for character in f"%\r\n{more}":
        text = text.replace(character, f"%{ord(character):02X}")
    return text
