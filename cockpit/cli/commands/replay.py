"""`replay`: show the plan, or start a session and follow it to its end."""

import shlex
import sys
import time
from typing import Any, Final

from rich.text import Text

from cockpit.cli import follow, output
from cockpit.cli.client import Api, connect
from cockpit.cli.commands import profiles
from cockpit.cli.commands.import_files import run_id
from cockpit.cli.commands.runs import pages
from cockpit.cli.errors import Exit, exit_for
from cockpit.cli.options import POLICIES, PROFILES
from replay.core.vocabulary import ACTIVE_STATUSES, COMPLETED, SessionStatus

_STRICT: Final = frozenset({"strict", "artifact_missing"})  # error codes of refusals by a strict policy
_POLL_S: Final = 0.05
_SLOWEST_POLL_S: Final = 1.0
_DIFF_WAIT_S: Final = 5.0


def request_body(
    *,
    fork_step: str | None,
    overrides: str | None,
    policy: str | None,
    strict: bool,
    shortcut: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Build the request from the options, without its run."""
    request: dict[str, Any] = {"overrides": profiles.profile(overrides), "policy": profiles.policy(policy)}
    if shortcut is not None:
        request["shortcut"] = shortcut
    if strict:
        request["strict"] = True
    if fork_step is not None:
        request["fork_step"] = int(fork_step) if fork_step.isdecimal() else fork_step
    return request


def preview(ref: str, request: dict[str, Any], *, json: bool, url: str | None, token: str | None) -> Exit:
    """Print the plan. A refusal is bad input, or a failed gate under --strict."""
    with connect(url, token) as api:
        if api.local:
            with_local_model()
        plan = api.post("/replays/preview", _request(api, request, ref))
    if json:
        output.document({"plan": plan})
    else:
        _show_plan(plan)
    refusals = plan["refusals"]
    if not refusals:
        return Exit.OK
    return Exit.GATE if all(refusal["where"] == "/policy/strict" for refusal in refusals) else Exit.BAD_INPUT


def shortcut(
    *, model: str | None, temperature: float | None, system_prompt: str | None, max_tokens: int | None
) -> dict[str, Any] | None:
    """Build an override entry for all model steps from the shortcut options."""
    settings = {"model": model, "temperature": temperature, "max_tokens": max_tokens}
    fields = {name: value for name, value in settings.items() if value is not None}
    entry: dict[str, Any] = {"model": fields} if fields else {}
    if system_prompt is not None:
        entry["prompt"] = {"system": system_prompt}
    return {"match": {"type": "model"}, **entry} if entry else None


def replay(ref: str, request: dict[str, Any], *, stream: bool, json: bool, url: str | None, token: str | None) -> Exit:
    """Run the replay and print every step; with `stream` also live answers as they arrive."""
    printer = follow.Printer(sys.stderr if json else sys.stdout) if stream else None
    with connect(url, token) as api:
        result = outcome(api, ref, request, printer, whole=not json)
    if printer is not None:
        printer.close()
    if json:
        output.document(result)
    else:
        _show_session(result["session"], result["steps"])
    return _exit(result["session"])


def outcome(
    api: Api, ref: str, request: dict[str, Any], on_text: follow.OnText | None, *, whole: bool = False
) -> dict[str, Any]:
    """Run the replay and return session and steps: complete if `whole`, or the stable subset for scripts."""
    api.start_worker()
    session = api.post("/replays", _request(api, request, ref))
    session = _follow(api, session, on_text)
    steps = list(pages(api, session["run"], "steps", None)) if session["run"] else []
    return _contract(session, steps) if not whole else {"session": session, "steps": steps}


def _request(api: Api, body: dict[str, Any], ref: str) -> dict[str, Any]:
    """Complete the request for a run. `--strict` is set in the policy, even in a saved one."""
    request = {**body, "run": run_id(api, ref)}
    if (entry := request.pop("shortcut", None)) is not None:
        profile = profiles.resolve(api, request["overrides"], PROFILES)
        request["overrides"] = {"overrides": [*profile["overrides"], entry]}
    if request.pop("strict", False):
        request["policy"] = {**profiles.resolve(api, request["policy"], POLICIES), "strict": True}
    return request


def _follow(api: Api, session: dict[str, Any], on_text: follow.OnText | None) -> dict[str, Any]:
    """Return the session at its end. An interrupt cancels it."""
    wait = _POLL_S
    try:
        if on_text is not None:
            session = follow.follow(api, session, on_text)
        while session["status"] in ACTIVE_STATUSES:
            time.sleep(wait)
            wait = min(wait * 1.2, _SLOWEST_POLL_S)
            session = api.get(f"/replays/{session['id']}")
        return _with_diff(api, session)
    except KeyboardInterrupt:
        api.post(f"/replays/{session['id']}/cancel")
        output.note(f"replay session {session['id']} was cancelled")
        raise


def _with_diff(api: Api, session: dict[str, Any]) -> dict[str, Any]:
    """Wait for the session's diff, which the worker computes after the end."""
    deadline = time.monotonic() + _DIFF_WAIT_S
    while session["status"] in COMPLETED and session["diff"] is None and time.monotonic() < deadline:
        time.sleep(_POLL_S)
        session = api.get(f"/replays/{session['id']}")
    return session


def _contract(session: dict[str, Any], steps: list[dict[str, Any]]) -> dict[str, Any]:
    fields = ("sequence_no", "type", "name", "status", "label", "reason", "source_step")
    rows = [{name: step[name] for name in fields} for step in steps]
    return {"session": session, "run": {"id": session["run"]} if session["run"] else None, "steps": rows}


def _exit(session: dict[str, Any]) -> Exit:
    if session["status"] in COMPLETED:
        return Exit.OK
    if session["status"] == SessionStatus.AWAITING_OPERATOR:
        output.error(_wait_reason(session))
        return Exit.ERROR
    if session["error"]:
        output.error(session["error"])
    if session["policy"]["strict"] and session["error_code"] in _STRICT:
        return Exit.GATE
    return exit_for(session["error_code"]) if session["status"] == SessionStatus.FAILED_VALIDATION else Exit.ERROR


def _wait_reason(session: dict[str, Any]) -> str:
    if tools := session["tools_to_allow"]:
        options = " ".join(f"--allow-tool {shlex.quote(name)}" for name in tools)
        return f"{session['current']}: start a runner with {options}"
    if session["question"] is None:
        return str(session["current"])
    return "the replay is waiting for your answer: enter it on its page in the cockpit"


def with_local_model() -> None:
    """Start the local model, so that the plan includes it."""
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
            ("assumed", _assumed_text(plan["assumed"])),
            ("typed messages", _typed_text(plan["steps"])),
            ("live calls", plan["live_calls"]),
            ("cost", output.money(plan["cost_usd"]) if plan["live_calls"] else output.money(0)),
            ("type", _type(plan)),
            ("determinism", _score(plan["determinism"])),
            ("loop", plan["loop"]),
        ],
    )
    console.print()
    table = output.table(">no", "", "action", "type", "name", "why")
    for step in plan["steps"]:
        sign = output.glyph(step["label"]) if step["label"] else Text("-")
        note = step["note"] or ", ".join(step["differs"]) or output.code_words(step["reason"])
        table.add_row(str(step["sequence_no"]), sign, step["action"], step["type"], Text(step["name"]), Text(note))
    console.print(table)
    for warning in output.plan_warnings(plan):
        output.note(f"warning: {warning}")
    for refusal in plan["refusals"]:
        output.error(f"{refusal['detail']} (at {refusal['where']})")


def _show_session(session: dict[str, Any], steps: list[dict[str, Any]]) -> None:
    console = output.people()
    output.facts(
        console,
        [
            ("session", session["id"]),
            ("status", output.code_words(session["status"])),
            ("run", session["run"]),
            ("labels", output.labels(session["counts"])),
            ("assumed", _assumed_text(sum(step["reason"] == "assumed_unaffected" for step in steps))),
            ("live calls", session["live_calls"]),
            ("cost", output.money(session["cost_usd"])),
            ("type", _type(session)),
            ("determinism", _score(session["determinism"])),
            ("diff", session["diff"]),
        ],
    )
    console.print()
    table = output.table(">no", "", "type", "name", "reason", "what")
    for step in steps:
        if step["sequence_no"] >= session["fork_sequence_no"]:
            sign = output.glyph(step["label"], step["status"])
            name, summary = Text(step["name"]), Text(step["summary"])
            table.add_row(
                str(step["sequence_no"]), sign, step["type"], name, output.code_words(step["reason"]), summary
            )
    console.print(table)
    for divergence in session["divergences"]:
        output.note(divergence)


def _assumed_text(count: int) -> str:
    """Number of steps that are assumed to keep their output."""
    return f"{count} {'step' if count == 1 else 'steps'} assumed unaffected" if count else ""


def _typed_text(steps: list[dict[str, Any]]) -> str:
    """Number of steps with messages that a person typed after a changed answer."""
    count = sum(bool(step["typed"]) for step in steps)
    return f"{count} {'step' if count == 1 else 'steps'} with messages typed after a changed answer" if count else ""


def _type(source: dict[str, Any]) -> str:
    """Replay type A or B, with its reason."""
    determinism = source["determinism"]
    critical, other_changes = determinism["critical_changes"], determinism["other_changes"]
    if source["replay_type"] == "A":
        return f"A, although {' and '.join(other_changes)} changed" if other_changes else "A"
    threshold = f"determinism below {determinism['threshold']:g}"
    return f"B: {' and '.join(critical)} changed" if critical else f"B: {threshold}"


def _score(determinism: dict[str, Any]) -> str:
    score = determinism["score"]
    return "unknown" if score is None else f"{score:.3f}"
