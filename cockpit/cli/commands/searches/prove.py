"""`prove`: price, start and follow the search for the change that made a difference."""

import time
from collections.abc import Iterator
from typing import Any, Final

from rich.table import Table
from rich.text import Text

from cockpit.cli import output
from cockpit.cli.client import Api, connected
from cockpit.cli.commands.diff import report_of
from cockpit.cli.commands.import_files import run_id
from cockpit.cli.commands.replay import asked as replay_asked
from cockpit.cli.commands.replay import with_local_model
from cockpit.cli.commands.searches.bisect import check
from cockpit.cli.errors import Exit, Failure
from replay.core.vocabulary import ProofStatus

_POLL_S: Final = 0.2
_QUESTIONS: Final = ("answer", "answer_exact", "answer_facts", "answer_alike", "tool_calls", "status", "check", "score")
_LEVELS: Final = {"low": 0, "medium": 1, "high": 2}
_SHOWN: Final = 12  # changes in the table
_FOUND: Final = {True: "yes", False: "no", None: "?"}
_SIDES: Final = ("base", "candidate")


def asked(
    *,
    question: str,
    checks: list[str],
    live_calls: int,
    max_cost: float | None,
    probes: int,
    repeats: int,
    policy: str | None,
    parts: bool,
    mediators: bool,
) -> dict[str, Any]:
    """The request from the options."""
    if question not in _QUESTIONS:
        raise Failure(f"{question!r} is no question: choose {', '.join(_QUESTIONS)}", exit=Exit.BAD_INPUT)
    shared = replay_asked(from_=None, overrides=None, policy=policy, strict=False)
    budget: dict[str, Any] = {"probes": probes, "live_calls": live_calls, "repeats": repeats, "cost_usd": max_cost}
    return {
        "question": question,
        "checks": [check(text) for text in checks],
        "budget": budget,
        "parts": parts,
        "mediators": mediators,
        "policy": shared["policy"],
    }


def required(level: str | None) -> str | None:
    if level is not None and level not in _LEVELS:
        raise Failure(f"{level!r} is no confidence: choose {', '.join(_LEVELS)}", exit=Exit.BAD_INPUT)
    return level


def preview(
    base: str, candidate: str, request: dict[str, Any], *, json: bool, url: str | None, token: str | None
) -> Exit:
    """Print what it would take; a refusal is bad input."""
    with connected(url, token) as api:
        if api.local:
            with_local_model()
        plan = api.post(f"/diffs/{_diff(api, base, candidate)}/prove/preview", request)
    if json:
        output.document({"plan": plan})
    else:
        _show_plan(plan)
    return Exit.BAD_INPUT if plan["refusals"] else Exit.OK


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
    """Start, follow, and print what was found; with a required confidence that is not reached, a failed gate."""
    with connected(url, token) as api:
        api.start_worker()
        found = _followed(api, api.post(f"/diffs/{_diff(api, base, candidate)}/prove", request))
    if json:
        output.document({"proof": found})
    elif found["findings"] is not None:
        _show(found["findings"])
    if found["status"] == ProofStatus.FAILED:
        output.error(found["error"])
        return Exit.ERROR
    reached = _LEVELS.get((found["findings"] or {}).get("confidence", ""), -1)
    return Exit.GATE if require is not None and reached < _LEVELS[require] else Exit.OK


def _diff(api: Api, base: str, candidate: str) -> str:
    return str(report_of(api, run_id(api, base), run_id(api, candidate))["id"])


def _followed(api: Api, found: dict[str, Any]) -> dict[str, Any]:
    """The proof at its end; interrupting it cancels it and keeps what it found."""
    told = ""
    try:
        while not ProofStatus(found["status"]).is_final:
            told = _tell(found, told)
            time.sleep(_POLL_S)
            found = api.get(f"/proofs/{found['id']}")
    except KeyboardInterrupt:
        found = api.post(f"/proofs/{found['id']}/cancel")
        output.note(f"proof {found['id']} is cancelled")
    return found


def _tell(found: dict[str, Any], told: str) -> str:
    """A line where it got on."""
    at = found["progress"]
    if not at["doing"]:
        return told
    said = f"{at['doing']}: {at['probes']} probes, {at['repeats']} repeats, {at['live_calls']} live calls"
    if said != told:
        output.note(said)
    return said


def _show_plan(plan: dict[str, Any]) -> None:
    console = output.people()
    output.facts(
        console,
        [
            ("base", plan["base_outcome"]),
            ("candidate", plan["candidate_outcome"]),
            ("probes", f"up to {plan['probes']}"),
            ("repeats", f"up to {plan['repeats']}" if plan["sampled"] else "none needed"),
            ("live calls", f"up to {plan['live_calls']}"),
            ("cost", "unknown" if plan["cost_usd"] is None else f"up to {output.money(plan['cost_usd'])}"),
        ],
    )
    console.print()
    shown = output.table("category", ">live calls", "change")
    for atom in plan["atoms"]:
        calls = "-" if atom["live_calls"] is None else str(atom["live_calls"])
        why = f" ({atom['why_not'] or atom['certificate']})" if atom["why_not"] or atom["certificate"] else ""
        shown.add_row(atom["category"], calls, Text(f"{atom['title']}{why}"))
    console.print(shown)
    for remark in (*plan["warnings"], *plan["missing"], *(refusal["detail"] for refusal in plan["refusals"])):
        output.note(remark)


def _replays(found: dict[str, Any]) -> str:
    cached, live = found["replays_cached"], found["replays_live"]
    unmade = sum(probe["repeats"] for probe in found["probes"]) - cached - live
    more = f"; {unmade} more could not run" if unmade > 0 else ""
    return f"{cached} from the recordings, {live} live{more}"


def _kept(noise: dict[str, Any]) -> str:
    """How often repeats with nothing changed came out as recorded."""
    base, candidate = (f"{noise[f'{side}_n'] - noise[f'{side}_flips']} of {noise[f'{side}_n']}" for side in _SIDES)
    return f"{base} repeats of the base and {candidate} of the candidate came out as recorded"


def _show(found: dict[str, Any]) -> None:
    console = output.people()
    console.print(Text(found["conclusion"], style="bold"), soft_wrap=True)
    console.print()
    output.facts(console, _facts(found))
    console.print()
    console.print(_changes(found["atoms"][:_SHOWN]))
    for mediator in found["mediators"]:
        step = mediator["step"]
        said = f"  {mediator['role']}: step {step['sequence_no']} ({step['name']}), {mediator['text']}"
        console.print(Text(f"{said} [{mediator['evidence']}]"), soft_wrap=True)
    for doubt in _doubts(found):
        output.note(doubt)


def _facts(found: dict[str, Any]) -> list[tuple[str, Any]]:
    noise = found["noise"]
    return [
        ("verdict", found["verdict"].replace("_", " ")),
        ("confidence", f"{found['confidence']}: {found['rule']}"),
        ("chance", noise["reason"] if noise["p"] is None else f"p = {noise['p']:.3g}: {_kept(noise)}"),
        ("compared", found["question"]["text"]),
        ("replays", _replays(found)),
        ("steps run again", found["steps_executed"]),
        ("live calls", found["live_calls"]),
        ("cost", output.money(found["cost_usd"]) if found["live_calls"] else "$0"),
        ("holds", f"over {found['repeats']} repeats of each side" if found["repeats"] else found["scope"]),
    ]


def _changes(atoms: list[dict[str, Any]]) -> Table:
    """Whether each change is enough, and whether it is needed; parts of one are set in."""
    shown = output.table("category", "enough", "needed", "change")
    for atom in atoms:
        inside = "  " * atom["id"].count("/")
        cells = [_FOUND[atom[name]] for name in ("sufficient", "necessary")]
        shown.add_row(atom["category"], *cells, Text(f"{inside}{atom['title']}"))
    return shown


def _doubts(found: dict[str, Any]) -> Iterator[str]:
    """What was not tested or was assumed, and what would settle the rest."""
    for atom in found["atoms"]:
        if atom["why_not"]:
            yield f"Not tested: {atom['title']} ({atom['why_not']})"
    for assumption in found["assumptions"]:
        yield f"Assumed: {assumption}"
    if (cheapest := found["cheapest_experiment"]) is not None:
        price = f" About {cheapest['live_calls']} live calls, {output.money(cheapest['cost_usd'])}."
        yield f"What would settle it: {cheapest['text']}{price if cheapest['replays'] else ''}"
