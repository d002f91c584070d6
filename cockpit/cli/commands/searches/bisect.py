"""`bisect`: price, start and follow the search for the step where a failing run committed itself."""

import time
from pathlib import Path
from typing import Any, Final

from rich.text import Text

from cockpit.cli import output
from cockpit.cli.client import Api, connected, in_path
from cockpit.cli.commands.import_files import run_id
from cockpit.cli.commands.replay import asked as replay_asked
from cockpit.cli.commands.replay import with_local_model
from cockpit.cli.errors import Exit, Failure
from replay.core.vocabulary import BisectionStatus, ProbeVerdict
from traces.core import duplicate_keys

_POLL_S: Final = 0.2
_TEXTS: Final = {"contains": "text", "not_contains": "text", "regex": "pattern", "status": "status"}
_TOOLS: Final = ("tool_called", "tool_not_called")
_FORMS: Final = (
    "contains:TEXT, not_contains:TEXT, regex:PATTERN, json_schema:FILE, tool_called:NAME, tool_not_called:NAME, "
    "status:completed|failed"
)


def asked(
    *,
    checks: list[str],
    first: str | None,
    overrides: str | None,
    policy: str | None,
    samples: int | None,
    max_calls: int | None,
    max_cost: float | None,
) -> dict[str, Any]:
    """The request from the options and the files that they name."""
    shared = replay_asked(from_=None, overrides=overrides, policy=policy, strict=False)
    budget = {"max_live_calls": max_calls, "max_cost_usd": max_cost}
    request = {**shared, "checks": [check(text) for text in checks]}
    request["budget"] = {name: value for name, value in budget.items() if value is not None}
    if samples is not None:
        request |= {"samples": samples, "reproduce": samples, "confirm": max(samples, 5)}
    if first is not None:
        request["first_step"] = int(first) if first.isdecimal() else first
    return request


def check(text: str) -> dict[str, Any]:
    """A check from `kind:what`, or a JSON object as REST takes it."""
    if text.lstrip().startswith("{"):
        try:
            given: Any = duplicate_keys.loads(text.encode())
            return dict(given)
        except ValueError as error:
            raise Failure(f"the check {text!r} is not JSON: {error}", exit=Exit.BAD_INPUT) from error
    kind, colon, what = text.partition(":")
    if not colon or not what:
        raise Failure(f"{text!r} is no check: write {_FORMS}", exit=Exit.BAD_INPUT)
    if kind in _TEXTS:
        return {"kind": kind, _TEXTS[kind]: what}
    if kind in _TOOLS:
        return {"kind": kind, "tool": what}
    if kind == "json_schema":
        return {"kind": kind, "document": _document(Path(what))}
    raise Failure(f"{kind!r} is no kind of check: write {_FORMS}", exit=Exit.BAD_INPUT)


def preview(ref: str, request: dict[str, Any], *, json: bool, url: str | None, token: str | None) -> Exit:
    """Print what it would take; a refusal is bad input."""
    with connected(url, token) as api:
        if api.local:
            with_local_model()
        plan = api.post("/bisections/preview", {**request, "run": run_id(api, ref)})
    if json:
        output.document({"plan": plan})
    else:
        _show_plan(plan)
    return Exit.BAD_INPUT if plan["refusals"] else Exit.OK


def bisect(ref: str, request: dict[str, Any], *, json: bool, url: str | None, token: str | None) -> Exit:
    """Start, follow, and print the three verdicts."""
    with connected(url, token) as api:
        api.start_worker()
        found = _followed(api, api.post(f"/runs/{in_path(run_id(api, ref))}/bisect", request))
    if json:
        output.document({"bisection": found})
    else:
        _show(found)
    if found["status"] == BisectionStatus.FAILED:
        output.error(found["error"])
    return Exit.OK if found["status"] == BisectionStatus.COMPLETED else Exit.ERROR


def _followed(api: Api, found: dict[str, Any]) -> dict[str, Any]:
    """The bisection at its end; interrupting it cancels it and keeps what it found."""
    told = 0
    try:
        while found["status"] == BisectionStatus.RUNNING:
            told = _tell(found, told)
            time.sleep(_POLL_S)
            found = api.get(f"/bisections/{found['id']}")
    except KeyboardInterrupt:
        found = api.post(f"/bisections/{found['id']}/cancel")
        output.note(f"bisection {found['id']} is cancelled")
    _tell(found, told)
    return found


def _tell(found: dict[str, Any], told: int) -> int:
    """A line for each probe that was judged since."""
    judged = [probe for probe in found["results"] if probe["verdict"] != ProbeVerdict.RUNNING]
    for probe in judged[told:]:
        change = " with the changes" if probe["changed"] else ""
        output.note(f"from step {probe['fork']['sequence_no']}{change}: {probe['verdict']}")
    return len(judged)


def _document(path: Path) -> Any:
    try:
        return duplicate_keys.loads(path.read_bytes())
    except OSError as error:
        raise Failure(f"cannot read the schema {path}: {error.strerror}", exit=Exit.BAD_INPUT) from error
    except ValueError as error:
        raise Failure(f"the schema {path} is not JSON: {error}", exit=Exit.BAD_INPUT) from error


def _show_plan(plan: dict[str, Any]) -> None:
    numbers = [str(fork["sequence_no"]) for fork in plan["forks"]]
    output.facts(
        output.people(),
        [
            ("forks at", f"{len(numbers)} steps: {', '.join(numbers[:12])}{' …' if len(numbers) > 12 else ''}"),
            ("probes", f"about {plan['probes']}, at most {plan['most_probes']} if the run turns once"),
            ("live calls", f"about {plan['live_calls']}, at most {plan['most_live_calls']}"),
            ("cost", f"about {output.money(plan['cost_usd'])}, at most {output.money(plan['most_cost_usd'])}"),
        ],
    )
    for warning in plan["warnings"]:
        output.note(f"warning: {warning}")
    for refusal in plan["refusals"]:
        output.error(f"{refusal['code']}: {refusal['detail']} (at {refusal['where']})")


def _show(found: dict[str, Any]) -> None:
    console, result = output.people(), found["result"]
    console.print(Text(result["sentence"], style="bold"), soft_wrap=True)
    console.print()
    commit = result["commit"]
    output.facts(
        console,
        [
            ("bisection", found["id"]),
            ("status", found["status"]),
            ("does it fail again", result["reproduction"].replace("_", " ")),
            ("does it help", result["rescue"].replace("_", " ")),
            ("committed at", f"step {commit['step']['sequence_no']}" if commit else None),
            ("confidence", f"{commit['confidence']}: {commit['why']}" if commit else None),
            ("live calls", found["live_calls"]),
            ("cost", output.money(found["cost_usd"])),
        ],
    )
    console.print()
    shown = output.table(">from step", "type", ">passed", ">failed", ">unclear", "name")
    for fork in result["forks"]:
        step, counted = fork["step"], fork["counted"]
        cells = [str(counted[name]) for name in (ProbeVerdict.PASSED, ProbeVerdict.FAILED, ProbeVerdict.UNCLEAR)]
        shown.add_row(str(step["sequence_no"]), step["type"], *cells, Text(step["name"]))
    console.print(shown)
    for remark in result["remarks"]:
        output.note(remark)
