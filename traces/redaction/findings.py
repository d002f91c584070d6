"""Findings of detectors, and the interface of a detector."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Finding:
    """A value to redact: bytes `start` to `end` of a text."""

    start: int
    end: int
    kind: str


class Detector(Protocol):
    """Finds values of some kinds. Any exception of a detector blocks the payload that it was looking at.

    `version` names the detector with its rules, without spaces: what it has looked at, it need not look at again.
    """

    @property
    def version(self) -> str: ...

    def suspects(self, data: bytes) -> bool:
        """Return whether the texts in marshalled data may contain a value: the quick first look."""

    def findings(self, text: bytes, name: str) -> Sequence[Finding]:
        """Return the values in a text in UTF-8; `name` is the key of the text in its object, or empty."""


def merge(findings: Iterable[Finding], exceptions: Sequence[tuple[int, int]]) -> list[Finding]:
    """Return findings in order, with overlapping ones as one of the first one's kind, without those in `exceptions`."""
    result: list[Finding] = []
    for finding in sorted(findings, key=lambda finding: (finding.start, -finding.end)):
        if any(finding.start < end and start < finding.end for start, end in exceptions):
            continue
        if result and finding.start < result[-1].end:
            last = result[-1]
            result[-1] = Finding(last.start, max(last.end, finding.end), last.kind)
        else:
            result.append(finding)
    return result
