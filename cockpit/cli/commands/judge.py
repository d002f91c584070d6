"""`judge`."""

from typing import Any

from rich.text import Text

from cockpit.cli import output
from cockpit.cli.client import connect, in_path
from cockpit.cli.commands.import_files import run_id


def judge(
    ref: str,
    kind: str,
    *,
    name: str,
    value: float | None,
    text: str,
    step: int | None,
    json: bool,
    url: str | None,
    token: str | None,
) -> None:
    """Judge a run or one of its steps, and print the run's outcome."""
    body: dict[str, Any] = {"kind": kind, "name": name, "value": value, "text": text, "step": step}
    with connect(url, token) as api:
        run = in_path(run_id(api, ref))
        judgement = api.post(f"/runs/{run}/judgements", body)
        if json:
            output.document(judgement)
            return
        run_page = api.get(f"/runs/{run}")
    line = Text("outcome  ", style="bright_black") + output.outcome(run_page["outcome"])
    output.people().print(line + Text(f"  {run_page['outcome_reason']}", style="bright_black"))
