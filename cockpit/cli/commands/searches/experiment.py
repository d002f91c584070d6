"""`experiment`: price, start and follow many forks of one run, and print them side by side."""

import time
from pathlib import Path
from typing import Any, Final

from rich.text import Text

from cockpit.cli import output
from cockpit.cli.client import Api, connected
from cockpit.cli.commands.import_files import run_id
from cockpit.cli.commands.replay import with_local_model
from cockpit.cli.errors import Exit, Failure
from replay.core.vocabulary import COMPLETED, FINAL_STATUSES, ExperimentStatus
from traces.core import duplicate_keys

_POLL_S: Final = 0.2
_JUDGED_S: Final = 120.0  # how long the last answers may take to be judged


def asked(matrix: Path, *, from_: str | None, samples: int | None) -> dict[str, Any]:
    """The request from a file, as REST takes it but for the run; options win."""
    try:
        given = duplicate_keys.loads(matrix.read_bytes())
    except OSError as error:
        raise Failure(f"cannot read {matrix}: {error.strerror}", exit=Exit.BAD_INPUT) from error
    except ValueError as error:
        raise Failure(f"{matrix} is not JSON: {error}", exit=Exit.BAD_INPUT) from error
    if not isinstance(given, dict):
        raise Failure(f"{matrix} holds no object with `axes` and `checks`", exit=Exit.BAD_INPUT)
    options = {"fork_step": int(from_) if from_ and from_.isdecimal() else from_, "samples": samples}
    return {**given, **{name: value for name, value in options.items() if value is not None}}


def preview(ref: str, request: dict[str, Any], *, json: bool, url: str | None, token: str | None) -> Exit:
    """Print what the whole would take; a refusal is bad input."""
    with connected(url, token) as api:
        if api.local:
            with_local_model()
        plan = api.post("/experiments/preview", {**request, "run": run_id(api, ref)})
    if json:
        output.document({"plan": plan})
    else:
        _show_plan(plan)
    return Exit.BAD_INPUT if plan["refusals"] else Exit.OK


def experiment(ref: str, request: dict[str, Any], *, json: bool, url: str | None, token: str | None) -> Exit:
    """Start, follow, and print every combination; rows that failed are an error."""
    with connected(url, token) as api:
        api.start_worker()
        found = _followed(api, api.post("/experiments", {**request, "run": run_id(api, ref)}))
    if json:
        output.document({"experiment": found})
    else:
        _show(found)
    return Exit.OK if found["status"] == ExperimentStatus.COMPLETED and not found["failed"] else Exit.ERROR


def _followed(api: Api, found: dict[str, Any]) -> dict[str, Any]:
    """The experiment once every row has ended and was judged; interrupting it cancels it and keeps what there is."""
    told: set[int] = set()
    until = time.monotonic() + _JUDGED_S
    try:
        while found["status"] == ExperimentStatus.RUNNING or any(map(_is_unjudged, found["results"])):
            _tell(found, told)
            if found["status"] == ExperimentStatus.RUNNING:
                until = time.monotonic() + _JUDGED_S
            elif time.monotonic() > until:
                raise Failure(f"experiment {found['id']} has ended, but not every answer was judged")
            time.sleep(_POLL_S)
            found = api.get(f"/experiments/{found['id']}")
    except KeyboardInterrupt:
        found = api.post(f"/experiments/{found['id']}/cancel")
        output.note(f"experiment {found['id']} is cancelled")
    _tell(found, told)
    return found


def _is_unjudged(row: dict[str, Any]) -> bool:
    return row["status"] in COMPLETED and row["checks"] is None


def _tell(found: dict[str, Any], told: set[int]) -> None:
    """A line for each row that has ended since."""
    for row in found["results"]:
        if row["number"] not in told and row["status"] in FINAL_STATUSES:
            told.add(row["number"])
            output.note(f"{_named(row)}, sample {row['sample']}: {row['status'].replace('_', ' ')}")


def _named(row: dict[str, Any]) -> str:
    return ", ".join(f"{each['axis']} {each['value']}" for each in row["settings"]) or "as recorded"


def _show_plan(plan: dict[str, Any]) -> None:
    console = output.people()
    counts = f"{plan['rows']} of {len(plan['cells'])} combinations"
    output.facts(
        console, [("rows", counts), ("live calls", plan["live_calls"]), ("cost", output.money(plan["cost_usd"]))]
    )
    for warning in plan["warnings"]:
        output.note(f"warning: {warning}")
    for refusal in plan["refusals"]:
        output.error(f"{refusal['code']}: {refusal['detail']} (at {refusal['where']})")


def _show(found: dict[str, Any]) -> None:
    console = output.people()
    output.facts(
        console,
        [
            ("experiment", found["id"]),
            ("status", found["status"]),
            ("rows", f"{found['finished']} of {found['rows']} ended, {found['failed']} failed"),
            ("live calls", found["live_calls"]),
            ("cost", output.money(found["cost_usd"])),
        ],
    )
    console.print()
    shown = output.table(">rows", ">failed", ">pass", ">ARS", ">similar", ">cost", "combination")
    for cell in found["aggregates"]:
        shown.add_row(
            str(cell["finished"]),
            str(cell["failed"]),
            _percent(cell["pass_rate"]),
            _mean(cell["ars"]),
            _mean(cell["output_similarity"]),
            output.money(cell["cost_usd"] and cell["cost_usd"]["mean"]),
            Text(_named(cell)),
        )
    console.print(shown)


def _percent(rate: float | None) -> str:
    return "" if rate is None else f"{rate:.0%}"


def _mean(spread: dict[str, float] | None) -> str:
    return "" if spread is None else f"{spread['mean']:.2f}"
