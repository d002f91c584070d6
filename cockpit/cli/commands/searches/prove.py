"""`prove`: preview, start and follow the search for the change that made a difference."""

import time
from collections.abc import Iterator
from typing import Any, Final

from rich.table import Table
from rich.text import Text

from cockpit.cli import output
from cockpit.cli.client import Api, connect
from cockpit.cli.commands.diff import report_of
from cockpit.cli.commands.import_files import run_id
from cockpit.cli.commands.replay import request_body as replay_request_body
from cockpit.cli.commands.searches.bisect import check
from cockpit.cli.commands.searches.previews import show_preview
from cockpit.cli.commands.searches.waiting import note_wait
from cockpit.cli.errors import Exit, Failure
from diffing.sentences.evidence_lines import VERDICTS
from diffing.sentences.text import count_noun
from replay.core.vocabulary import ProofStatus

_POLL_S: Final = 0.2
QUESTIONS: Final = (
    "answer",
    "answer_exact",
    "answer_facts",
    "answer_alike",
    "tool_calls",
    "status",
    "check",
    "score",
    "outcome",
    "judgement",
)
_LEVELS: Final = {"low": 0, "medium": 1, "high": 2}
_MAX_ROWS: Final = 12  # changes in the table
_ANSWERS: Final = {True: "yes", False: "no", None: "?"}
_SIDES: Final = ("base", "candidate")


def request_body(
    *,
    choice: dict[str, Any],
    checks: list[str],
    live_calls: int,
    max_cost: float | None,
    probes: int,
    repeats: int,
    engine: str | None,
    policy: str | None,
    parts: bool,
    mediators: bool,
) -> dict[str, Any]:
    """Build the request from the options."""
    fork = replay_request_body(fork_step=None, overrides=None, policy=policy, strict=False)
    budget: dict[str, Any] = {"probes": probes, "live_calls": live_calls, "repeats": repeats, "cost_usd": max_cost}
    return {
        **choice,
        "checks": [check(text) for text in checks],
        "budget": budget,
        "parts": parts,
        "mediators": mediators,
        "policy": fork["policy"],
        **({} if engine is None else {"engine": engine}),
    }


def confidence_level(level: str | None) -> str | None:
    if level is not None and level not in _LEVELS:
        raise Failure(f"“{level}” is not a confidence: choose {', '.join(_LEVELS)}", exit=Exit.BAD_INPUT)
    return level


def preview(
    base: str, candidate: str, request: dict[str, Any], *, json: bool, url: str | None, token: str | None
) -> Exit:
    """Print the plan and its cost. A refusal is bad input."""

    def make(api: Api) -> dict[str, Any]:
        return dict(api.post(f"/diffs/{_diff(api, base, candidate)}/prove/preview", request))

    return show_preview(make, _show_plan, json=json, url=url, token=token)


def prove(
    base: str,
    candidate: str,
    request: dict[str, Any],
    *,
    require: str | None,
    json: bool,
    url: str | None,
    token: str | None,
) -> Exit:
    """Run the proof and print its findings. A confidence below `require` is a failed gate."""
    with connect(url, token) as api:
        api.start_worker()
        proof = _follow(api, api.post(f"/diffs/{_diff(api, base, candidate)}/prove", request))
    if json:
        output.document({"proof": proof})
    elif proof["findings"] is not None:
        _show(proof["findings"])
    if proof["status"] == ProofStatus.FAILED:
        output.error(proof["error"])
        return Exit.ERROR
    level = _LEVELS.get((proof["findings"] or {}).get("confidence", ""), -1)
    return Exit.GATE if require is not None and level < _LEVELS[require] else Exit.OK


def _diff(api: Api, base: str, candidate: str) -> str:
    return str(report_of(api, run_id(api, base), run_id(api, candidate))["id"])


def _follow(api: Api, proof: dict[str, Any]) -> dict[str, Any]:
    """Return the proof at its end. An interrupt cancels it and keeps its findings."""
    last_line = waits_for = ""
    try:
        while not ProofStatus(proof["status"]).is_final:
            last_line = _print_progress(proof, last_line)
            waits_for = note_wait(proof, waits_for)
            time.sleep(_POLL_S)
            proof = api.get(f"/proofs/{proof['id']}")
    except KeyboardInterrupt:
        proof = api.post(f"/proofs/{proof['id']}/cancel")
        output.note(f"proof {proof['id']} was cancelled")
    return proof


def _print_progress(proof: dict[str, Any], last_line: str) -> str:
    """Print the progress if it changed; return the printed line."""
    progress = proof["progress"]
    if not progress["doing"]:
        return last_line
    nouns = {"probes": "probe", "repeats": "repeat", "live_calls": "live call"}
    counts = ", ".join(count_noun(progress[name], noun) for name, noun in nouns.items())
    line = f"{progress['doing']}: {counts}"
    if line != last_line:
        output.note(line)
    return line


def _show_plan(plan: dict[str, Any]) -> None:
    console = output.people()
    starts = [("agent starts", f"up to {plan['agent_starts']}")] if plan["agent_starts"] else []
    output.facts(
        console,
        [
            ("base", plan["base_outcome"]),
            ("candidate", plan["candidate_outcome"]),
            ("probes", f"up to {plan['probes']}"),
            ("repeats", f"up to {plan['repeats']}" if plan["sampled"] else "none needed"),
            *starts,
            ("live calls", f"up to {plan['live_calls']}"),
            ("cost", "unknown" if plan["cost_usd"] is None else f"up to {output.money(plan['cost_usd'])}"),
        ],
    )
    console.print()
    table = output.table("category", ">live calls", "change")
    for atom in plan["atoms"]:
        calls = "-" if atom["live_calls"] is None else str(atom["live_calls"])
        note = f" ({atom['why_not'] or atom['certificate']})" if atom["why_not"] or atom["certificate"] else ""
        table.add_row(atom["category"], calls, Text(f"{atom['title']}{note}"))
    console.print(table)
    for remark in (*output.plan_warnings(plan), *plan["missing"], *(refusal["detail"] for refusal in plan["refusals"])):
        output.note(remark)


def _replays(findings: dict[str, Any]) -> str:
    cached, live = findings["replays_cached"], findings["replays_live"]
    unmade = sum(probe["repeats"] for probe in findings["probes"]) - cached - live
    more = f"; {unmade} more could not run" if unmade > 0 else ""
    return f"{cached} from the recordings, {live} live{more}"


def _unchanged_repeats(noise: dict[str, Any]) -> str:
    """Number of unchanged repeats with the recorded outcome."""
    base, candidate = (f"{noise[f'{side}_n'] - noise[f'{side}_flips']} of {noise[f'{side}_n']}" for side in _SIDES)
    return f"{base} repeats of the base and {candidate} of the candidate had the recorded outcome"


def _show(findings: dict[str, Any]) -> None:
    console = output.people()
    console.print(Text(findings["conclusion"], style="bold"), soft_wrap=True)
    console.print()
    output.facts(console, _facts(findings))
    console.print()
    console.print(_changes(findings["atoms"][:_MAX_ROWS]))
    for mediator in findings["mediators"]:
        step = mediator["step"]
        text = f"  {mediator['role']}: step {step['sequence_no']} ({step['name']}), {mediator['text']}"
        console.print(Text(f"{text} [{mediator['evidence']}]"), soft_wrap=True)
    for doubt in _doubts(findings):
        output.note(doubt)


def _facts(findings: dict[str, Any]) -> list[tuple[str, Any]]:
    noise = findings["noise"]
    return [
        ("verdict", VERDICTS[findings["verdict"]]),
        ("confidence", f"{findings['confidence']}: {findings['rule']}"),
        ("chance", noise["reason"] if noise["p"] is None else f"p = {noise['p']:.3g}: {_unchanged_repeats(noise)}"),
        ("compared", findings["question"]["text"]),
        ("replays", _replays(findings)),
        ("by", "the agent itself" if findings["agent_ran"] else "following the recordings"),
        ("steps run again", findings["steps_executed"]),
        ("live calls", findings["live_calls"]),
        ("cost", output.money(findings["cost_usd"] if findings["live_calls"] else 0)),
        ("holds", f"over {findings['repeats']} repeats of each side" if findings["repeats"] else findings["scope"]),
    ]


def _changes(atoms: list[dict[str, Any]]) -> Table:
    """Table of changes: whether each is sufficient and necessary; parts are indented."""
    table = output.table("category", "sufficient", "necessary", "change")
    for atom in atoms:
        indent = "  " * atom["id"].count("/")
        cells = [_ANSWERS[atom[name]] for name in ("sufficient", "necessary")]
        table.add_row(atom["category"], *cells, Text(f"{indent}{atom['title']}"))
    return table


def _doubts(findings: dict[str, Any]) -> Iterator[str]:
    """Yield untested changes, assumptions, and the cheapest way to settle open questions."""
    for atom in findings["atoms"]:
        if atom["why_not"]:
            yield f"Not tested: {atom['title']} ({atom['why_not']})"
    for assumption in findings["assumptions"]:
        yield f"Assumed: {assumption}"
    if (cheapest := findings["cheapest_experiment"]) is not None:
        cost = "at unknown cost" if cheapest["cost_usd"] is None else output.money(cheapest["cost_usd"])
        price = f" About {count_noun(cheapest['live_calls'], 'live call')}, {cost}."
        yield f"Next test: {cheapest['text']}{price if cheapest['replays'] else ''}"
