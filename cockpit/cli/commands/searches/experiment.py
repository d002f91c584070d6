"""`experiment`: preview, start and follow many forks of one run, and print the comparison."""

import time
from pathlib import Path
from typing import Any, Final

from rich.text import Text

from cockpit.cli import output
from cockpit.cli.client import Api, connect
from cockpit.cli.commands.import_files import run_id
from cockpit.cli.commands.searches.previews import show_preview
from cockpit.cli.commands.searches.waiting import note_wait
from cockpit.cli.errors import Exit, Failure
from cockpit.cli.json_input import read_json
from replay.core.vocabulary import COMPLETED, FINAL_STATUSES, ExperimentStatus

_POLL_S: Final = 0.2
_JUDGED_S: Final = 120.0  # timeout of the checks after the last row


def request_body(matrix: Path, *, fork_step: str | None, samples: int | None, engine: str | None) -> dict[str, Any]:
    """Load the request from a file, as in the REST API without the run. Options take precedence."""
    matrix_json = read_json(matrix, str(matrix))
    if not isinstance(matrix_json, dict):
        raise Failure(f"{matrix} does not contain an object with `axes` and `checks`", exit=Exit.BAD_INPUT)
    fork = int(fork_step) if fork_step and fork_step.isdecimal() else fork_step
    options = {"fork_step": fork, "samples": samples, "engine": engine}
    return {**matrix_json, **{name: value for name, value in options.items() if value is not None}}


def preview(ref: str, request: dict[str, Any], *, json: bool, url: str | None, token: str | None) -> Exit:
    """Print the plan and its cost. A refusal is bad input."""

    def make(api: Api) -> dict[str, Any]:
        return dict(api.post("/experiments/preview", {**request, "run": run_id(api, ref)}))

    return show_preview(make, _show_plan, json=json, url=url, token=token)


def experiment(ref: str, request: dict[str, Any], *, json: bool, url: str | None, token: str | None) -> Exit:
    """Run the experiment and print every combination. Failed rows are an error."""
    with connect(url, token) as api:
        api.start_worker()
        experiment = _follow(api, api.post("/experiments", {**request, "run": run_id(api, ref)}))
    if json:
        output.document({"experiment": experiment})
    else:
        _show(experiment)
    return Exit.OK if experiment["status"] == ExperimentStatus.COMPLETED and not experiment["failed"] else Exit.ERROR


def _follow(api: Api, experiment: dict[str, Any]) -> dict[str, Any]:
    """Return the experiment once every row was checked. An interrupt cancels it and keeps its results."""
    printed_rows: set[int] = set()
    deadline = time.monotonic() + _JUDGED_S
    waits_for = ""
    try:
        while experiment["status"] == ExperimentStatus.RUNNING or any(map(_is_unjudged, experiment["results"])):
            _print_progress(experiment, printed_rows)
            waits_for = note_wait(experiment, waits_for)
            if experiment["status"] == ExperimentStatus.RUNNING:
                deadline = time.monotonic() + _JUDGED_S
            elif time.monotonic() > deadline:
                raise Failure(f"experiment {experiment['id']} has ended, but not every answer was checked")
            time.sleep(_POLL_S)
            experiment = api.get(f"/experiments/{experiment['id']}")
    except KeyboardInterrupt:
        experiment = api.post(f"/experiments/{experiment['id']}/cancel")
        output.note(f"experiment {experiment['id']} was cancelled")
    _print_progress(experiment, printed_rows)
    return experiment


def _is_unjudged(row: dict[str, Any]) -> bool:
    return row["status"] in COMPLETED and row["checks"] is None


def _print_progress(experiment: dict[str, Any], printed_rows: set[int]) -> None:
    """Print a line for each newly finished row."""
    for row in experiment["results"]:
        if row["number"] not in printed_rows and row["status"] in FINAL_STATUSES:
            printed_rows.add(row["number"])
            error = f" ({row['error']})" if row["error"] else ""
            output.note(f"{_settings_text(row)}, sample {row['sample']}: {row['status'].replace('_', ' ')}{error}")


def _settings_text(row: dict[str, Any]) -> str:
    return ", ".join(f"{setting['axis']} {setting['value']}" for setting in row["settings"]) or "as recorded"


def _show_plan(plan: dict[str, Any]) -> None:
    console = output.people()
    counts = f"{plan['rows']} of {len(plan['cells'])} combinations"
    output.facts(
        console,
        [
            ("rows", counts),
            *([("agent starts", plan["agent_starts"])] if plan["agent_starts"] else []),
            ("live calls", plan["live_calls"]),
            ("cost", output.money(plan["cost_usd"])),
        ],
    )
    for warning in output.plan_warnings(plan):
        output.note(f"warning: {warning}")
    for refusal in plan["refusals"]:
        output.error(f"{refusal['detail']} (at {refusal['where']})")


def _show(experiment: dict[str, Any]) -> None:
    console = output.people()
    output.facts(
        console,
        [
            ("experiment", experiment["id"]),
            ("status", experiment["status"]),
            ("rows", f"{experiment['finished']} of {experiment['rows']} finished, {experiment['failed']} failed"),
            ("live calls", experiment["live_calls"]),
            ("cost", output.money(experiment["cost_usd"])),
        ],
    )
    console.print()
    table = output.table(">rows", ">failed", ">passed", ">95 % interval", ">ARS", ">similarity", ">cost", "combination")
    for cell in experiment["aggregates"]:
        table.add_row(
            str(cell["finished"]),
            str(cell["failed"]),
            _passes(cell),
            _interval(cell["pass_interval"]),
            _mean(cell["ars"]),
            _mean(cell["output_similarity"]),
            output.money(cell["cost_usd"] and cell["cost_usd"]["mean"]),
            Text(_settings_text(cell)),
        )
    console.print(table)


def _passes(cell: dict[str, Any]) -> str:
    parts = [f"{cell['passed']} of {cell['verdicts']}"] if cell["verdicts"] else []
    return ", ".join(parts + ([f"{cell['unverified']} unverified"] if cell["unverified"] else []))


def _interval(interval: dict[str, float] | None) -> str:
    return "" if interval is None else f"{interval['low']:.0%} to {interval['high']:.0%}"


def _mean(spread: dict[str, float] | None) -> str:
    return "" if spread is None else f"{spread['mean']:.2f}"
