"""Results of golden runs in the formats of CI."""

from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from cockpit.cli.commands.golden.results import Result, Verdict, annotations, junit


def report(**values: Any) -> dict[str, Any]:
    counts = dict.fromkeys(("exact", "from_replay", "cached", "live", "overridden", "misses"), 0)
    names = ("names", "tools", "unused_steps", "unapplied_steps", "changed_checks")
    lists: dict[str, Any] = {name: [] for name in names}
    return {"id": "r1", "run": "b1", "is_fork": False, "divergence": None, **counts, **lists, **values}


SAME = Result(path=Path("runs/a.zip"), verdict=Verdict.SAME, run="b1", exit_code=0, seconds=1.5, report=report(exact=3))
REFUSAL = {"name": "refund", "exact": 1, "from_replay": 0, "cached": 0, "overridden": 0, "run": 0, "refusal": 1}


def test_forbidden_characters_do_not_break_junit() -> None:
    broken = Result(path=Path("runs/b.zip"), verdict=Verdict.ERROR, problem="a\x00\x1b\ud800\uffffb <&> is damaged")
    suite = ElementTree.fromstring(junit([SAME, broken]))
    assert [suite.get(name) for name in ("tests", "failures", "errors", "time")] == ["2", "0", "1", "1.500"]
    same, error = suite
    assert (same.get("name"), [*same]) == ("runs/a.zip", [])
    assert (error[0].tag, error[0].get("message")) == ("error", "a����b <&> is damaged")


def test_annotation_is_one_line() -> None:
    changed = Result(path=Path("a,b:c.zip"), verdict=Verdict.CHANGED, report=report(tools=[REFUSAL]), diff="http://d")
    problem = Result(path=Path("b.zip"), verdict=Verdict.ERROR, problem="100%\nlost")
    assert [*annotations([SAME, changed, problem])] == [
        "::error file=a%2Cb%3Ac.zip,title=Golden run::the agent calls refund in another way than recorded%0ADiff: http://d",
        "::error file=b.zip,title=Golden run::100%25%0Alost",
    ]


def test_headline_names_the_first_difference() -> None:
    def headline(code: int = 0, **values: Any) -> str:
        return Result(path=Path("a"), verdict=Verdict.CHANGED, exit_code=code, report=report(**values)).headline

    assert headline(divergence={"step": 2, "path": "/model"}) == "the agent differs from step 2 at /model"
    assert headline(unused_steps=[4, 6]) == "the agent does not make the recorded call of step 4"
    assert headline(changed_checks=[7, 9]) == "the agent's own check of step 7 decides differently"
    assert headline(misses=1) == "a call of the agent is not in the recording"
    assert headline(3) == "the agent ended with exit code 3"


def test_names_of_a_recording_make_no_lines_of_the_report() -> None:
    broken = {**REFUSAL, "name": "refund\n✓ runs/b.zip: same"}
    divergence = {"step": 2, "path": "/a\nb", "old": 1, "new": 2}
    facts = report(tools=[broken], divergence=divergence, covered_steps=[], live_calls=0, cost_usd=None, block="")
    result = Result(path=Path("a"), verdict=Verdict.CHANGED, report=facts)
    assert result.text.splitlines() == [
        "Rerun r1 of run b1: 0 calls exact",
        "  refund␊✓ runs/b.zip: same: 1 exact, 1 refused",
        "  first difference, from step 2 at /a␊b:",
        "    - 1",
        "    + 2",
    ]
    assert result.headline == "the agent differs from step 2 at /a␊b"
