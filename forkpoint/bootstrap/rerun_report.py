"""What `forkpoint rerun` prints: what the agent really runs, before it starts, and what it did."""

import json
from typing import Any, Final

from forkpoint.confinement.terminal_text import one_line

_LONGEST_VALUE: Final = 300
# Answered as recorded, where the recording is itself a replay.
_FROM_REPLAY: Final = "with the output of a replay"
# What is said of recorded steps, by their field of a report.
_STEPS: Final = {
    "unused_steps": "recorded calls that were not made",
    "unapplied_steps": "changes that were not applied, because the agent did not make the recorded call",
    "changed_checks": "checks that decide differently",
    "covered_steps": "not made, presumably because a tool that was answered had made them",
}


def real_tools_text(session: Any) -> list[str]:
    """Return the line that names the tools which the agent of an open rerun really runs; none if there are none."""
    tools = [*map(one_line, session.get("real_tools") or ())]
    return [f"Nothing intercepts these tools, so the agent really runs them: {', '.join(tools)}"] if tools else []


def report_text(report: Any) -> str:
    """Return what the agent did, in a few lines."""
    calls = "call" if report["exact"] == 1 else "calls"
    lines = [f"Rerun {report['id']} of run {report['run']}: {report['exact']} {calls} exact"]
    if report["from_replay"]:
        lines[0] += f", {report['from_replay']} {_FROM_REPLAY}"
    if report["cached"]:
        lines[0] += _cached_text(report)
        lines += _names_text(report)
    for name in ("live", "overridden"):
        if report[name]:
            lines[0] += f", {report[name]} {name}"
    if report["misses"]:
        lines[0] += f", {report['misses']} without an answer"
    lines += _budget_text(report)
    lines += [_tool_text(tool) for tool in report["tools"]]
    if report["divergence"]:
        difference = report["divergence"]
        lines.append(f"  first difference, from step {difference['step']} at {one_line(difference['path'])}:")
        lines += [f"    {side} {_value(difference[name])}" for side, name in (("-", "old"), ("+", "new"))]
    elif report["refusal"] and not report["block"]:
        lines.append(f"  no answer: {one_line(report['refusal'])}")
    lines += _steps_text(report)
    return "\n".join(lines)


def _steps_text(report: Any) -> list[str]:
    return [f"  {text}: steps {', '.join(map(str, report[name]))}" for name, text in _STEPS.items() if report[name]]


def _budget_text(report: Any) -> list[str]:
    """Return what the live calls cost, and why the budget blocked one."""
    cost = [f"  live calls of all starts: {report['live_calls']}, {_cost_text(report)}"]
    block = [f"  blocked: {one_line(report['block'])}"]
    return (cost if report["live_calls"] else []) + (block if report["block"] else [])


def _cost_text(report: Any) -> str:
    """Return the cost of live calls, as far as it is known."""
    if report["cost_usd"] is None:
        return "cost unknown"
    unpriced_count = report["unpriced_calls"]
    return f"${report['cost_usd']:.4f}" + (f" and {unpriced_count} of unknown cost" if unpriced_count else "")


def _tool_text(tool: Any) -> str:
    counts = {name: tool[name] for name in ("exact", "cached", "overridden")}
    counts[_FROM_REPLAY] = tool["from_replay"]
    counts |= {"not recorded, so run": tool["run"], "refused": tool["refusal"]}
    return f"  {one_line(tool['name'])}: " + ", ".join(f"{count} {name}" for name, count in counts.items() if count)


def _value(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _LONGEST_VALUE else text[:_LONGEST_VALUE] + "…"


def _cached_text(report: Any) -> str:
    """Return how many calls were answered after volatile values were renamed, or from another run."""
    other_count = report["from_other_runs"]
    source = f" ({other_count} from other runs of the app)" if other_count and not report["is_fork"] else ""
    return f", {report['cached']} cached{source}"


def _names_text(report: Any) -> list[str]:
    """Return in which values cached calls differ from the recorded ones."""
    if names := ", ".join(one_line(f"{name['old']} → {name['new']}") for name in report["names"][:5]):
        return [f"  volatile values: {names}"]
    # Cached answers may be those of other runs.
    is_same_call = not report["is_fork"] and report["cached"] > report["from_other_runs"]
    text = (
        "  only durations, ignored fields, what steps do not store, or the order of members or equal calls may differ"
    )
    return [text] if is_same_call else []
