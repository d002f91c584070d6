"""`gate`: whether a run is near enough to another one. `tools`: the side-effect review as a file."""

from pathlib import Path
from typing import Any

from cockpit.cli import output
from cockpit.cli.client import connected
from cockpit.cli.commands.diff import report_of
from cockpit.cli.commands.import_files import run_id
from cockpit.cli.errors import Exit, Failure


def gate(
    base: str, candidate: str, *, least: dict[str, float | None], json: bool, url: str | None, token: str | None
) -> Exit:
    """Compare, and fail when a score is below what it must be at least."""
    with connected(url, token) as api:
        report = report_of(api, run_id(api, base), run_id(api, candidate))
    scores = report["scores"]
    checks = [
        {"score": name, "least": bound, "found": scores[name], "passed": scores[name] >= bound}
        for name, bound in least.items()
        if bound is not None
    ]
    passed = all(check["passed"] for check in checks)
    if json:
        output.document({"diff": report["id"], "passed": passed, "scores": scores, "checks": checks})
    else:
        _show(report, checks)
    return Exit.OK if passed else Exit.GATE


def tools(target: Path | None, *, given: Path | None, url: str | None, token: str | None) -> None:
    """Print or write the review as Kurral's side_effects.yaml, or take one over."""
    with connected(url, token) as api:
        if given is not None:
            api.put("/tools.yaml", _read(given))
        text = api.text("/tools.yaml")
    if target is not None:
        output.save(target, text)
    else:
        print(text, end="")


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise Failure(f"cannot read {path}: {error.strerror}", exit=Exit.BAD_INPUT) from error


def _show(report: dict[str, Any], checks: list[dict[str, Any]]) -> None:
    console = output.people()
    for check in checks:
        sign = output.glyph("exact" if check["passed"] else "live", "ok" if check["passed"] else "error")
        said = f" {check['score']}: {check['found']:.4f}, at least {check['least']:g}"
        console.print(sign + said, soft_wrap=True)
    output.facts(console, [("ARS", f"{report['scores']['ars']:.4f}, {report['scores']['ars_reading']}")])
