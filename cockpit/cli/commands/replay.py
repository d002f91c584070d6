"""`replay`: ask for the plan, or launch a session and follow it to its end."""

import sys
import time
from typing import Any, Final

from rich.text import Text

from cockpit.cli import follow, output
from cockpit.cli.client import Api, connected
from cockpit.cli.commands import profiles
from cockpit.cli.commands.import_files import run_id
from cockpit.cli.commands.runs import pages
from cockpit.cli.errors import Exit, exit_for
from cockpit.cli.options import POLICIES, PROFILES
from replay.core.vocabulary import ACTIVE_STATUSES, COMPLETED, SessionStatus

_STRICT: Final = frozenset({"strict", "artifact_missing"})  # error codes of what a strict policy refuses
_POLL_S: Final = 0.05
_SLOWEST_POLL_S: Final = 1.0
_DIFF_WAIT_S: Final = 5.0


def asked(
    *,
    from_: str | None,
    overrides: str | None,
    policy: str | None,
    strict: bool,
    shortcut: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """The request without its run, from the options and what they name: a file, or something stored."""
    request: dict[str, Any] = {"overrides": profiles.profile(overrides), "policy": profiles.policy(policy)}
    if shortcut is not None:
        request["shortcut"] = shortcut
    if strict:
        request["strict"] = True
    if from_ is not None:
        request["fork_step"] = int(from_) if from_.isdecimal() else from_
    return request


def preview(ref: str, request: dict[str, Any], *, json: bool, url: str | None, token: str | None) -> Exit:
    """Print the plan; one that refuses the replay is bad input, and under --strict a failed gate."""
    with connected(url, token) as api:
        if api.local:
            with_local_model()
        plan = api.post("/replays/preview", _request(api, request, ref))
    if json:
        output.document({"plan": plan})
    else:
        _show_plan(plan)
    refused = plan["refusals"]
    if not refused:
        return Exit.OK
    return Exit.GATE if all(refusal["where"] == "/policy/strict" for refusal in refused) else Exit.BAD_INPUT


def shortcut(
    *, model: str | None, temperature: float | None, system_prompt: str | None, max_tokens: int | None
) -> dict[str, Any] | None:
    """One entry for every model step, from the options that most forks need."""
    given = {"model": model, "temperature": temperature, "max_tokens": max_tokens}
    fields = {name: value for name, value in given.items() if value is not None}
    entry: dict[str, Any] = {"model": fields} if fields else {}
    if system_prompt is not None:
        entry["prompt"] = {"system": system_prompt}
    return {"match": {"type": "model"}, **entry} if entry else None


def replay(ref: str, request: dict[str, Any], *, stream: bool, json: bool, url: str | None, token: str | None) -> Exit:
    """Launch, follow, and print what became of every step; with `stream` also the text of live answers as it comes."""
    printer = follow.Printer(sys.stderr if json else sys.stdout) if stream else None
    with connected(url, token) as api:
        found = outcome(api, ref, request, printer, whole=not json)
    if printer is not None:
        printer.close()
    if json:
        output.document(found)
    else:
        _show_session(found["session"], found["steps"])
    return _exit(found["session"])


def outcome(
    api: Api, ref: str, request: dict[str, Any], on_text: follow.OnText | None, *, whole: bool = False
) -> dict[str, Any]:
    """Launch and follow to the end: the session, its run, and its steps, `whole` or as scripts rely on them."""
    api.start_worker()
    session = api.post("/replays", _request(api, request, ref))
    session = _followed(api, session, on_text)
    steps = list(pages(api, session["run"], "steps", None)) if session["run"] else []
    return _contract(session, steps) if not whole else {"session": session, "steps": steps}


def _request(api: Api, asked: dict[str, Any], ref: str) -> dict[str, Any]:
    """The request for one run; `--strict` is put into the policy, also into a stored one."""
    request = {**asked, "run": run_id(api, ref)}
    if (entry := request.pop("shortcut", None)) is not None:
        profile = profiles.written(api, request["overrides"], PROFILES)
        request["overrides"] = {"overrides": [*profile["overrides"], entry]}
    if request.pop("strict", False):
        request["policy"] = {**profiles.written(api, request["policy"], POLICIES), "strict": True}
    return request


def _followed(api: Api, session: dict[str, Any], on_text: follow.OnText | None) -> dict[str, Any]:
    """The session at its end; interrupting it cancels it."""
    wait = _POLL_S
    try:
        if on_text is not None:
            session = follow.follow(api, session, on_text)
        while session["status"] in ACTIVE_STATUSES:
            time.sleep(wait)
            wait = min(wait * 1.2, _SLOWEST_POLL_S)
            session = api.get(f"/replays/{session['id']}")
        return _compared(api, session)
    except KeyboardInterrupt:
        api.post(f"/replays/{session['id']}/cancel")
        output.note(f"session {session['id']} is cancelled")
        raise


def _compared(api: Api, session: dict[str, Any]) -> dict[str, Any]:
    """The session with its diff, which the worker makes right after the end."""
    deadline = time.monotonic() + _DIFF_WAIT_S
    while session["status"] in COMPLETED and session["diff"] is None and time.monotonic() < deadline:
        time.sleep(_POLL_S)
        session = api.get(f"/replays/{session['id']}")
    return session


def _contract(session: dict[str, Any], steps: list[dict[str, Any]]) -> dict[str, Any]:
    fields = ("sequence_no", "type", "name", "status", "label", "reason", "source_step")
    shown = [{name: step[name] for name in fields} for step in steps]
    return {"session": session, "run": {"id": session["run"]} if session["run"] else None, "steps": shown}


def _exit(session: dict[str, Any]) -> Exit:
    if session["status"] in COMPLETED:
        return Exit.OK
    if session["status"] == SessionStatus.AWAITING_OPERATOR:
        output.error("the replay waits for an answer: give it in the cockpit, on the page of the session")
        return Exit.ERROR
    if session["error"]:
        output.error(session["error"])
    if session["policy"]["strict"] and session["error_code"] in _STRICT:
        return Exit.GATE
    return exit_for(session["error_code"]) if session["status"] == SessionStatus.FAILED_VALIDATION else Exit.ERROR


def with_local_model() -> None:
    """The plan must know the local model that the replay will have."""
    from cockpit.demo.local_model import provider

    provider.start()


def _show_plan(plan: dict[str, Any]) -> None:
    console = output.people()
    counts = ", ".join(f"{count} {action}" for action, count in plan["actions"].items() if count)
    output.facts(
        console,
        [
            ("forks at", f"step {plan['fork_sequence_no']}"),
            ("steps", counts),
            ("labels", output.labels(plan["counts"])),
            ("assumed", _assumed(plan["assumed"])),
            ("typed", _typed(plan["steps"])),
            ("live calls", plan["live_calls"]),
            ("cost", output.money(plan["cost_usd"]) if plan["live_calls"] else "nothing"),
            ("type", _type(plan)),
            ("determinism", _score(plan["determinism"])),
            ("loop", plan["loop"]),
        ],
    )
    console.print()
    shown = output.table(">no", "", "action", "type", "name", "why")
    for step in plan["steps"]:
        sign = output.glyph(step["label"]) if step["label"] else Text("-")
        why = step["note"] or ", ".join(step["differs"]) or step["reason"]
        shown.add_row(str(step["sequence_no"]), sign, step["action"], step["type"], Text(step["name"]), Text(why))
    console.print(shown)
    for warning in plan["warnings"]:
        output.note(f"warning: {warning}")
    for refusal in plan["refusals"]:
        output.error(f"{refusal['code']}: {refusal['detail']} (at {refusal['where']})")


def _show_session(session: dict[str, Any], steps: list[dict[str, Any]]) -> None:
    console = output.people()
    output.facts(
        console,
        [
            ("session", session["id"]),
            ("status", session["status"]),
            ("run", session["run"]),
            ("labels", output.labels(session["counts"])),
            ("assumed", _assumed(sum(step["reason"] == "assumed_unaffected" for step in steps))),
            ("live calls", session["live_calls"]),
            ("cost", output.money(session["cost_usd"])),
            ("type", _type(session)),
            ("determinism", _score(session["determinism"])),
            ("diff", session["diff"]),
        ],
    )
    console.print()
    shown = output.table(">no", "", "type", "name", "reason", "what")
    for step in steps:
        if step["sequence_no"] >= session["fork_sequence_no"]:
            sign = output.glyph(step["label"], step["status"])
            name, what = Text(step["name"]), Text(step["summary"])
            shown.add_row(str(step["sequence_no"]), sign, step["type"], name, step["reason"], what)
    console.print(shown)
    for divergence in session["divergences"]:
        output.note(divergence)


def _assumed(count: int) -> str:
    """How many steps keep their output without proof."""
    return f"{count} {'step' if count == 1 else 'steps'} assumed unaffected" if count else ""


def _typed(steps: list[dict[str, Any]]) -> str:
    """How many steps hold what a person typed after an answer that changes."""
    count = sum(bool(step["typed"]) for step in steps)
    return f"{count} {'step' if count == 1 else 'steps'} with messages typed after a changed answer" if count else ""


def _type(shown: dict[str, Any]) -> str:
    """A or B, with what makes it one."""
    determinism = shown["determinism"]
    critical, other = determinism["critical_changes"], determinism["other_changes"]
    if shown["replay_type"] == "A":
        return f"A, although {' and '.join(other)} changed" if other else "A"
    below = f"determinism below {determinism['threshold']:g}"
    return f"B: {' and '.join(critical)} changed" if critical else f"B: {below}"


def _score(determinism: dict[str, Any]) -> str:
    score = determinism["score"]
    return "unknown" if score is None else f"{score:.3f}"
