"""Verdict on a fault: the list of problems, empty if replays are durable."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from tests.faults import desk


def broken(reports: list[Any], request_counts: Counter[str]) -> list[str]:
    """Find lost or duplicate steps, repeated calls and unfinished sessions. `asked` contains the server's counts."""
    return [
        f"session {report['customer']}: {text}" for report in reports for text in _of_session(report, request_counts)
    ]


def delivery_problems(report: Any, messages: list[dict[str, Any]]) -> list[str]:
    """Find messages that a reconnecting client missed or received twice."""
    seqs = [message["seq"] for message in messages]
    expected_seqs = {seq for seq, kind in report["messages"] if kind != "session"}
    problems = [] if seqs == sorted(set(seqs)) else [f"messages came twice or out of order: {seqs}"]
    # Of several changes of the session itself only the last is sent.
    if missing := expected_seqs - {message["seq"] for message in messages if message["type"] != "session"}:
        problems.append(f"messages {sorted(missing)} never came")
    return problems


def _of_session(report: Any, request_counts: Counter[str]) -> Iterator[str]:
    if not report["status"].startswith("completed") or not report["sealed"]:
        yield f"is {report['status']}: {report['error']}"
    if [step[0] for step in report["steps"]] != list(range(1, desk.STEPS + 1)):
        yield f"has the steps {[step[0] for step in report['steps']]}"
    if [seq for seq, _ in report["messages"]] != list(range(1, report["last_seq"] + 1)):
        yield "has gaps in what its watchers were told"
    if set(report["source"]) != {"live"}:
        yield "its source run was touched"
    yield from _of_attempts(report)
    yield from _of_requests(report, request_counts)


def _of_attempts(report: Any) -> Iterator[str]:
    by_step: dict[int, list[tuple[str, str]]] = {}
    for step, _, status, code in report["attempts"]:
        by_step.setdefault(step, []).append((status, code))
    if len(by_step) != desk.CALLS or report["live_calls"] != desk.CALLS:
        yield f"made the calls {sorted(by_step)}, and counts {report['live_calls']}"
    for step, attempts in by_step.items():
        statuses = [status for status, _ in attempts]
        if statuses.count("succeeded") > 1 or "succeeded" in statuses[:-1]:
            yield f"step {step} was called again after it had succeeded: {attempts}"
        if "intended" in statuses:
            yield f"step {step} has a call without an outcome"


def _of_requests(report: Any, request_counts: Counter[str]) -> Iterator[str]:
    """Compare requests with attempts; a worker may die between intent and call, so requests can be fewer."""
    attempts = Counter(step for step, *_ in report["attempts"])
    succeeded_steps = {step for step, _, status, _ in report["attempts"] if status == "succeeded"}
    for turn in range(1, desk.TURNS + 1):
        for offset, name in enumerate(desk.requests_of(report["customer"], turn)):
            step = 3 + 4 * (turn - 1) + offset
            most = 1 if desk.CHARGES in name else attempts[step]
            if not (step in succeeded_steps) <= request_counts[name] <= most:
                yield f"step {step} ({name}) was asked {request_counts[name]} times in {attempts[step]} attempts"
