"""`gate`: compare scores with minimums. `tools`: the tool reviews as a file."""

from pathlib import Path
from typing import Any, Final

from cockpit.cli import output
from cockpit.cli.client import connect
from cockpit.cli.commands.diff import report_of
from cockpit.cli.commands.import_files import run_id
from cockpit.cli.errors import Exit, Failure

_SCORES: Final = {"ars": "ARS", "output_similarity": "answer similarity", "tool_accuracy": "tool accuracy"}


def gate(
    base: str, candidate: str, *, minimums: dict[str, float | None], json: bool, url: str | None, token: str | None
) -> Exit:
    """Compare two runs; fail if a score is below its minimum."""
    with connect(url, token) as api:
        report = report_of(api, run_id(api, base), run_id(api, candidate))
    scores = report["scores"]
    checks = [
        {"score": name, "least": minimum, "found": scores[name], "passed": scores[name] >= minimum}
        for name, minimum in minimums.items()
        if minimum is not None
    ]
    is_passing = all(check["passed"] for check in checks)
    if json:
        output.document({"diff": report["id"], "passed": is_passing, "scores": scores, "checks": checks})
    else:
        _show(report, checks)
    return Exit.OK if is_passing else Exit.GATE


def tools(target: Path | None, *, source: Path | None, url: str | None, token: str | None) -> None:
    """Print, write or import the tool reviews as Kurral's side_effects.yaml."""
    with connect(url, token) as api:
        if source is not None:
            api.upload("/tools.yaml", _read(source))
        text = api.text("/tools.yaml")
    if target is not None:
        output.save(target, text)
    else:
        output.text(text, end="")


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise Failure(f"cannot read {path}: {error.strerror}", exit=Exit.BAD_INPUT) from error


def _show(report: dict[str, Any], checks: list[dict[str, Any]]) -> None:
    console = output.people()
    for check in checks:
        sign = output.glyph("exact" if check["passed"] else "live", "ok" if check["passed"] else "error")
        summary = f" {_SCORES[check['score']]}: {check['found']:.4f}, minimum {check['least']:g}"
        console.print(sign + summary, soft_wrap=True)
    output.facts(console, [("ARS", f"{report['scores']['ars']:.4f}, {report['scores']['ars_reading']}")])
