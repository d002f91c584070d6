"""`runs`, `show` and `tree`."""

import json as jsonlib
from collections.abc import Iterator
from typing import Any, Final

from rich.text import Text

from cockpit.cli import output
from cockpit.cli.client import Api, connect, in_path
from cockpit.cli.commands.import_files import run_id
from diffing.sentences.text import count_noun
from traces.core.vocabulary import Outcome, RunStatus

_PAGE: Final = 200


def runs(*, limit: int, app: str | None, outcome: str | None, json: bool, url: str | None, token: str | None) -> None:
    """Print the newest runs."""
    with connect(url, token) as api:
        entries = list(_runs(api, limit, {"app": app, "outcome": outcome}))
    if json:
        output.document({"runs": entries})
        return
    if not entries and (app or outcome):
        output.people().print("No run matches.")
        return
    if not entries:
        output.people().print(
            "There are no runs yet. Import some with `forkpoint import PATH`, or load the demo with `forkpoint serve`."
        )
        return
    table = output.table("", "run", "app", "outcome", ">steps", ">tokens", ">cost", "labels", "name")
    for run in entries:
        status = RunStatus.FAILED if run["outcome"] == Outcome.FAILED else run["status"]
        sign, cost = output.glyph("live", status), output.money(run["cost_usd"])
        labels = output.labels(run["labels"])
        outcome_text = output.outcome(run["outcome"])
        table.add_row(
            sign,
            run["id"],
            run["app"],
            outcome_text,
            str(run["steps"]),
            output.tokens(run),
            cost,
            labels,
            Text(output.run_title(run)),
        )
    output.people().print(table)
    if problem_ids := [run["id"] for run in entries if run["problem"]]:
        count = count_noun(len(problem_ids), "recording")
        output.note(f"{count} with a problem: see `forkpoint show {problem_ids[0]}`.")


def show(ref: str, *, find: str | None, json: bool, url: str | None, token: str | None) -> None:
    """Print a run: an overview, or everything as JSON; with `find` only steps that contain these words."""
    with connect(url, token) as api:
        run = api.get(f"/runs/{in_path(run_id(api, ref))}")
        if json:
            _print_whole(run, pages(api, run["id"], "full-steps", _PAGE, q=find))
        else:
            _overview(run, list(pages(api, run["id"], "steps", None, q=find)))


def tree(ref: str, *, json: bool, url: str | None, token: str | None) -> None:
    """Print the fork tree of a run."""
    with connect(url, token) as api:
        forks = api.get(f"/runs/{in_path(run_id(api, ref))}/tree")
    if json:
        output.document(forks)
        return
    scores_header = (">ARS", ">answers", ">tools", ">checks")
    table = output.table("", "run", ">from", "labels", *scores_header, ">tokens", ">cost", ">time", "what")
    for run in forks["runs"]:
        scores = [_figure(run[name]) for name in ("ars", "output_similarity", "tool_accuracy")]
        checks = "" if run["checks"] is None else f"{sum(c['passed'] for c in run['checks'])}/{len(run['checks'])}"
        fork = "" if run["fork_sequence_no"] is None else str(run["fork_sequence_no"])
        title = run["title"] or run["origin_name"] or output.change_text(run["change"]) or run["name"]
        table.add_row(
            output.glyph("live", run["status"]),
            run["id"],
            fork,
            output.labels(run["labels"]),
            *scores,
            checks,
            output.tokens(run),
            output.money(run["cost_usd"]),
            output.duration(run["latency_ms"]),
            Text("  " * run["depth"] + title),
        )
    output.people().print(table)
    if forks["left_out"]:
        output.note(f"not listed: {count_noun(forks['left_out'], 'more fork')}")


def _figure(score: float | None) -> str:
    return "" if score is None else f"{score:.2f}"


def _runs(api: Api, limit: int, filters: dict[str, str | None]) -> Iterator[dict[str, Any]]:
    cursor = None
    while limit > 0:
        page = api.get("/runs", limit=min(limit, _PAGE), cursor=cursor, **filters)
        yield from page["runs"]
        limit -= len(page["runs"])
        cursor = page["next"]
        if cursor is None:
            return


def pages(api: Api, run: str, kind: str, limit: int | None, q: str | None = None) -> Iterator[dict[str, Any]]:
    after: int | None = 0
    while after is not None:
        page = api.get(f"/runs/{run}/{kind}", after=after, limit=limit, q=q)
        yield from page["steps"]
        after = page["next"]


def _print_whole(run: dict[str, Any], steps: Iterator[dict[str, Any]]) -> None:
    """Write the JSON document step by step: the payloads of a long run may not fit into memory."""
    output.text(f'{{"run":{jsonlib.dumps(run, ensure_ascii=False)},"steps":[', end="")
    for number, step in enumerate(steps):
        output.text(("," if number else "") + "\n" + jsonlib.dumps(step, ensure_ascii=False), end="")
    output.text("]}")


def _overview(run: dict[str, Any], steps: list[dict[str, Any]]) -> None:
    console = output.people()
    console.print(Text(run["title"] or run["name"], style="bold"), soft_wrap=True)
    counts = f"{run['steps']} steps, {run['errors']} failed"
    origin = f"{run['source_run']} from step {run['fork_sequence_no']}" if run["source_run"] else ""
    outcome = output.outcome(run["outcome"]) + Text(f"  {run['outcome_reason']}".rstrip(), style="bright_black")
    facts: list[tuple[str, Any]] = [("run", run["id"]), ("revision", _revision(run))]
    facts += [("app", run["app"]), ("status", run["status"])]
    facts += [("problem", Text(run["problem"], style="yellow") if run["problem"] else "")]
    facts += [("outcome", outcome), ("forked from", origin), ("change", output.change_text(run["change"]))]
    facts += [("note", run["note"]), ("answer", run["answer"])]
    facts += [("steps", counts), ("labels", output.labels(run["labels"]))]
    facts += [("cost", output.money(run["cost_usd"])), ("duration", output.duration(run["duration_ms"]))]
    output.facts(console, facts)
    console.print()
    console.print(_steps(steps))


def _revision(run: dict[str, Any]) -> str:
    """Return the place of a run among its revisions, for example `1 of 3 (newest: ID)`; empty if it has only one."""
    if not run["revisions"]:
        return ""
    place = f"{run['revision']} of {run['revisions'][0]['revision']}"
    is_conflict = run["supersedes"] is None and run["revision"] > 1
    remarks = ["conflicting recording"] if is_conflict else []
    if run["latest"]:
        remarks.append(f"newest: {run['latest']}")
    return f"{place} ({', '.join(remarks)})" if remarks else place


def _steps(steps: list[dict[str, Any]]) -> Any:
    table = output.table(">no", "", "type", "name", ">time", ">tokens", "what")
    depths: dict[int | None, int] = {None: -1}
    for step in steps:
        depth = depths[step["sequence_no"]] = depths.get(step["parent"], -1) + 1
        name = Text("  " * min(depth, 8) + (step["tool_name"] or step["model"] or step["name"]))
        counts = [count for count in (step["tokens_in"], step["tokens_out"]) if count is not None]
        tokens = str(sum(counts)) if counts else ""
        sign, time = output.glyph(step["label"], step["status"]), output.duration(step["duration_ms"])
        table.add_row(str(step["sequence_no"]), sign, step["type"], name, time, tokens, Text(step["summary"]))
    return table
