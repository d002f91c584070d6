"""`bisect`: preview, start and follow the search for the step that decided a failure."""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from rich.text import Text

from cockpit.cli import output
from cockpit.cli.client import Api, connect, in_path
from cockpit.cli.commands.import_files import run_id
from cockpit.cli.commands.replay import request_body as replay_request_body
from cockpit.cli.commands.searches.previews import show_preview
from cockpit.cli.commands.searches.waiting import note_wait
from cockpit.cli.errors import Exit, Failure
from cockpit.cli.json_input import read_json
from replay.core.vocabulary import BisectionStatus, ProbeVerdict
from traces.core import duplicate_keys

_POLL_S: Final = 0.2
_TEXTS: Final = {"contains": "text", "not_contains": "text", "regex": "pattern", "status": "status"}
_TOOLS: Final = ("tool_called", "tool_not_called")
QUESTIONS: Final = ("check", "outcome", "judgement")
_FORMS: Final = (
    "contains:TEXT, not_contains:TEXT, regex:PATTERN, json_schema:FILE, tool_called:NAME, tool_not_called:NAME, "
    "status:completed|failed, each with NAME= before it to name the check"
)


def request_body(
    *,
    choice: dict[str, Any],
    checks: list[str],
    first: str | None,
    overrides: str | None,
    policy: str | None,
    samples: int | None,
    engine: str | None,
    max_calls: int | None,
    max_cost: float | None,
) -> dict[str, Any]:
    """Build the request from the options."""
    fork = replay_request_body(fork_step=None, overrides=overrides, policy=policy, strict=False)
    budget = {"max_live_calls": max_calls, "max_cost_usd": max_cost}
    request = {**fork, **choice, "checks": [check(text) for text in checks]}
    request["budget"] = {name: value for name, value in budget.items() if value is not None}
    if samples is not None:
        request |= {"samples": samples, "reproduce": samples, "confirm": max(samples, 5)}
    if engine is not None:
        request["engine"] = engine
    if first is not None:
        request["first_step"] = int(first) if first.isdecimal() else first
    return request


def choice(
    question: str, judgement: str | None, at_least: float | None, at_most: float | None, *, questions: Sequence[str]
) -> dict[str, Any]:
    """Build what passes a run from the options. Naming a judgement chooses the question `judgement`."""
    if judgement is not None:
        question = "judgement"
    if question not in questions:
        raise Failure(f"“{question}” is not a question: choose {', '.join(questions)}", exit=Exit.BAD_INPUT)
    options = {"judgement": judgement, "at_least": at_least, "at_most": at_most}
    return {"question": question, **{name: value for name, value in options.items() if value is not None}}


def check(text: str) -> dict[str, Any]:
    """Parse a check from `kind:value` or `name=kind:value`, or from JSON as in the REST API."""
    if text.lstrip().startswith("{"):
        try:
            document: Any = duplicate_keys.loads(text.encode())
            return dict(document)
        except ValueError as error:
            raise Failure(f"the check “{text}” is not JSON: {error}", exit=Exit.BAD_INPUT) from error
    head, colon, value = text.partition(":")
    if not colon or not value:
        raise Failure(f"“{text}” is not a check: use {_FORMS}", exit=Exit.BAD_INPUT)
    name, _, kind = head.rpartition("=")
    title = {"name": name} if name else {}
    if kind in _TEXTS:
        return {"kind": kind, **title, _TEXTS[kind]: value}
    if kind in _TOOLS:
        return {"kind": kind, **title, "tool": value}
    if kind == "json_schema":
        return {"kind": kind, **title, "document": read_json(Path(value), f"the schema {value}")}
    raise Failure(f"“{kind}” is not a kind of check: use {_FORMS}", exit=Exit.BAD_INPUT)


def preview(ref: str, request: dict[str, Any], *, json: bool, url: str | None, token: str | None) -> Exit:
    """Print the plan and its cost. A refusal is bad input."""

    def make(api: Api) -> dict[str, Any]:
        return dict(api.post("/bisections/preview", {**request, "run": run_id(api, ref)}))

    return show_preview(make, _show_plan, json=json, url=url, token=token)


def bisect(ref: str, request: dict[str, Any], *, json: bool, url: str | None, token: str | None) -> Exit:
    """Run the bisection and print its three results."""
    with connect(url, token) as api:
        api.start_worker()
        bisection = _follow(api, api.post(f"/runs/{in_path(run_id(api, ref))}/bisect", request))
    if json:
        output.document({"bisection": bisection})
    else:
        _show(bisection)
    if bisection["status"] == BisectionStatus.FAILED:
        output.error(bisection["error"])
    return Exit.OK if bisection["status"] == BisectionStatus.COMPLETED else Exit.ERROR


def _follow(api: Api, bisection: dict[str, Any]) -> dict[str, Any]:
    """Return the bisection at its end. An interrupt cancels it and keeps its results."""
    printed_count, waits_for = 0, ""
    try:
        while bisection["status"] == BisectionStatus.RUNNING:
            printed_count = _print_progress(bisection, printed_count)
            waits_for = note_wait(bisection, waits_for)
            time.sleep(_POLL_S)
            bisection = api.get(f"/bisections/{bisection['id']}")
    except KeyboardInterrupt:
        bisection = api.post(f"/bisections/{bisection['id']}/cancel")
        output.note(f"bisection {bisection['id']} was cancelled")
    _print_progress(bisection, printed_count)
    return bisection


def _print_progress(bisection: dict[str, Any], printed_count: int) -> int:
    """Print a line for each new verdict; return the number of verdicts."""
    finished = [probe for probe in bisection["results"] if probe["verdict"] != ProbeVerdict.RUNNING]
    for probe in finished[printed_count:]:
        change = " with the changes" if probe["changed"] else ""
        verdict = _VERDICTS.get(probe["verdict"], probe["verdict"])
        reason = f" ({probe['note']})" if probe["note"] else ""
        output.note(f"from step {probe['fork']['sequence_no']}{change}: {verdict}{reason}")
    return len(finished)


def _show_plan(plan: dict[str, Any]) -> None:
    numbers = [str(fork["sequence_no"]) for fork in plan["forks"]]
    starts = f"about {plan['agent_starts']}, at most {plan['most_agent_starts']}"
    output.facts(
        output.people(),
        [
            ("forks at", f"{len(numbers)} steps: {', '.join(numbers[:12])}{' …' if len(numbers) > 12 else ''}"),
            ("replays", f"about {plan['probes']}, at most {plan['most_probes']} with one turning point"),
            *([("agent starts", starts)] if plan["most_agent_starts"] else []),
            ("live calls", f"about {plan['live_calls']}, at most {plan['most_live_calls']}"),
            ("cost", output.price(plan["cost_usd"], plan["most_cost_usd"])),
        ],
    )
    for warning in output.plan_warnings(plan):
        output.note(f"warning: {warning}")
    for refusal in plan["refusals"]:
        output.error(f"{refusal['detail']} (at {refusal['where']})")


_REPRODUCTIONS: Final = {
    "reproduces": "comes back every time",
    "flaky": "comes back sometimes",
    "does_not_reproduce": "did not come back",
    "unclear": "not known yet",
}
_VERDICTS: Final = {ProbeVerdict.UNCLEAR: "undecided"}
_RESCUES: Final = {"rescued": "helps", "not_rescued": "does not help", "unclear": "not known yet"}


def _show(bisection: dict[str, Any]) -> None:
    console, result = output.people(), bisection["result"]
    console.print(Text(result["sentence"], style="bold"), soft_wrap=True)
    console.print()
    commit = result["commit"]
    output.facts(
        console,
        [
            ("bisection", bisection["id"]),
            ("status", bisection["status"]),
            ("failure", _REPRODUCTIONS[result["reproduction"]]),
            ("re-running", _RESCUES[result["rescue"]]),
            ("point of no return", f"step {commit['step']['sequence_no']}" if commit else None),
            ("confidence", f"{commit['confidence']}: {commit['why']}" if commit else None),
            ("live calls", bisection["live_calls"]),
            ("cost", output.money(bisection["cost_usd"])),
        ],
    )
    console.print()
    table = output.table(">from step", "type", ">passed", ">failed", ">undecided", "name")
    for fork in result["forks"]:
        step, counts = fork["step"], fork["counted"]
        cells = [str(counts[name]) for name in (ProbeVerdict.PASSED, ProbeVerdict.FAILED, ProbeVerdict.UNCLEAR)]
        table.add_row(str(step["sequence_no"]), step["type"], *cells, Text(step["name"]))
    console.print(table)
    for remark in result["remarks"]:
        output.note(remark)
