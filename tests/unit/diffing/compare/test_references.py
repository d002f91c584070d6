"""References to steps in a report."""

from dataclasses import replace

from tests.support.comparing import diff_of, failing_refund


def test_unnamed_step_shows_its_type() -> None:
    run = failing_refund()
    run[-1] = replace(run[-1], name="")
    assert [pair.base.name for pair in diff_of(run, run).pairs if pair.base][-1] == "output"
