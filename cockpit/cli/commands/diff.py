"""`diff` and `share`."""

import json as jsonlib
import re
import time
from pathlib import Path
from typing import Any, Final

from rich.console import Console
from rich.text import Text

from cockpit.cli import output
from cockpit.cli.client import Api, connect, in_path
from cockpit.cli.commands.import_files import run_id
from cockpit.cli.errors import Exit, Failure
from diffing.sentences.changes import METHODS

_FORMS: Final = ("json", "md", "html")
_SECTIONS: Final = ("prompt", "retrieval", "tool", "model", "output", "run")
_BRIEF: Final = (
    ("compared", "compared"),
    ("changed", "changed"),
    ("confidence", "confidence"),
    ("why", "why"),
    ("next", "what next"),
)
_UNITS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}
_POLL_S: Final = 0.2
_LONGEST_S: Final = 600


def diff(
    base: str,
    candidate: str | None,
    *,
    form: str | None,
    target: Path | None,
    json: bool,
    url: str | None,
    token: str | None,
) -> None:
    """Compare two runs; print the report in the requested format, or write it to a file."""
    if form not in (None, *_FORMS):
        raise Failure(f"“{form}” is not a report format: choose json, md or html", exit=Exit.BAD_INPUT)
    if json and target is None and form not in (None, "json"):
        raise Failure(f"--json cannot print {form}: omit one of the options, or write to a file", exit=Exit.BAD_INPUT)
    with connect(url, token) as api:
        report = report_of(api, *_runs(api, base, candidate))
        text = api.text(f"/diffs/{report['id']}", format=form) if form in {"md", "html"} else ""
    if target is not None:
        output.save(target, text or jsonlib.dumps(report, ensure_ascii=False, indent=2))
        if json:
            output.document({"id": report["id"], "path": str(target)})
    elif text:
        output.text(text)
    elif json or form:
        output.document(report)
    else:
        _show(report)


def _runs(api: Api, base: str, candidate: str | None) -> tuple[str, str]:
    """Return base and candidate. A single replay is the candidate of its source run."""
    if candidate is not None:
        return run_id(api, base), run_id(api, candidate)
    replay = run_id(api, base)
    run = api.get(f"/runs/{in_path(replay)}")
    source = run["source_run"] or run["original"]
    if source is None:
        detail = f"{base} is not a replay with a known source run: name the run to compare it with"
        raise Failure(detail, exit=Exit.BAD_INPUT)
    return str(source), replay


def share(diff: str, terms: dict[str, Any], *, json: bool, url: str | None, token: str | None) -> None:
    """Create a share link and print it. It cannot be shown again."""
    with connect(url, token) as api:
        link = api.post(f"/diffs/{_diff_id(api, diff)}/shares", terms)
    if json:
        output.document({"url": link["url"], "expires_at": link["expires_at"], "id": link["id"]})
    else:
        output.people().print(link["url"], soft_wrap=True)


def report_of(api: Api, base: str, candidate: str) -> dict[str, Any]:
    """Return the report; wait if a worker has to compute it."""
    report: dict[str, Any] = api.post("/diffs", {"base": base, "candidate": candidate})
    if "summary" in report:
        return report
    api.start_worker()
    report = api.post("/diffs", {"base": base, "candidate": candidate}) if api.local else report
    deadline = time.monotonic() + _LONGEST_S
    while "summary" not in report:
        if time.monotonic() > deadline:
            raise Failure(
                "the report was not ready after 10 minutes: check that a worker is running", exit=Exit.UNAVAILABLE
            )
        time.sleep(_POLL_S)
        report = api.get(f"/diffs/{report['id']}")
    return report


def _diff_id(api: Api, ref: str) -> str:
    """Resolve `last` or the prefix of an id among the newest reports; a complete id is returned as it is."""
    if re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", ref):
        return ref
    ids = [entry["id"] for entry in api.get("/diffs")["diffs"]]
    matches = ids[:1] if ref == "last" else [id for id in ids if id.startswith(ref)]
    if not matches:
        raise Failure(f"there is no diff “{ref}”", exit=Exit.NOT_FOUND, code="not_found")
    if len(matches) > 1:
        raise Failure(
            f"“{ref}” is ambiguous: it matches {', '.join(matches)}. Use a longer prefix.", exit=Exit.BAD_INPUT
        )
    return str(matches[0])


def terms(
    *, expires: str | None, people: list[str], signed_in: bool, views: int | None, comments: bool
) -> dict[str, Any]:
    """Terms of a share link: audience (by default anyone), lifetime, number of views, and whether visitors comment."""
    if people and signed_in:
        raise Failure("choose one audience: named people or signed-in users", exit=Exit.BAD_INPUT)
    audience = "people" if people else "signed_in" if signed_in else "anyone"
    seconds = _seconds(expires) if expires else None
    return {
        "expires_in_s": seconds,
        "audience": audience,
        "people": people,
        "max_views": views,
        "allows_comments": comments,
    }


def _seconds(text: str) -> int:
    match = re.fullmatch(r"(\d{1,6})([smhdw])", text.strip())
    if match is None or int(match[1]) == 0:
        raise Failure(f"“{text}” is not a duration: use 30m, 12h, 7d or 2w", exit=Exit.BAD_INPUT)
    return int(match[1]) * _UNITS[match[2]]


def _show(report: dict[str, Any]) -> None:
    console = output.people()
    attribution, scores = report["attribution"], report["scores"]
    console.print(Text(attribution["sentence"] or report["summary"], style="bold"), soft_wrap=True)
    console.print()
    brief = report["brief"] or {}
    output.facts(console, [(words, brief.get(name)) for name, words in _BRIEF])
    console.print()
    similarity = f"{scores['output_similarity']:.4f} ({METHODS[scores['similarity_method']]})"
    output.facts(
        console,
        [
            ("diff", report["id"]),
            ("ARS", f"{scores['ars']:.4f}, {scores['ars_reading']}"),
            ("answer similarity", similarity),
            ("tool accuracy", f"{scores['tool_accuracy']:.4f}"),
        ],
    )
    for name in _SECTIONS:
        if report["sections"][name]["items"]:
            _show_section(console, name, report["sections"][name])
    if attribution["path"]:
        console.print()
        console.print(Text("path", style="bold"))
        for link in attribution["path"]:
            step, note = link["step"], "".join(span["text"] for span in link["note"])
            console.print(f"  {link['side']} {step['sequence_no']} {step['name']}: {note}", soft_wrap=True)


def _show_section(console: Console, name: str, section: dict[str, Any]) -> None:
    console.print()
    console.print(Text(name, style="bold") + Text(f"  {section['summary']}", style="bright_black"))
    for item in section["items"]:
        console.print(_item(item), soft_wrap=True)


def _item(item: dict[str, Any]) -> Text:
    sides = [str(item[side]["sequence_no"]) if item[side] else "-" for side in ("base", "candidate")]
    return Text(f"  {sides[0]} → {sides[1]}  {item['relation']:<8} {item['title']}")
