"""How the comparison of servers asks Forkpoint for the number of its spans."""

from pathlib import Path
from typing import Any

from tests.bench.peers.servers import Forkpoint

_PAGE = 2


class Listing(Forkpoint):
    """A server whose list is in memory, newest runs first; it counts the pages that are read."""

    def __init__(self) -> None:
        super().__init__(Path("home"))
        self.runs: dict[str, int] = {}
        self.pages = 0

    def ask(self, method: str, path: str, **options: Any) -> Any:
        self.pages += 1
        start = int(options["params"]["cursor"] or 0)
        runs = [{"external_id": name, "steps": steps} for name, steps in reversed(self.runs.items())]
        end = start + _PAGE
        return {"runs": runs[start:end], "next": str(end) if end < len(runs) else None}


def test_spans_are_counted_without_reading_known_pages_again() -> None:
    server = Listing()
    server.runs = {f"run {number}": 6 for number in range(10)}
    assert (server.count_spans(), server.pages) == (60, 5)
    server.runs["run 10"] = 4
    assert (server.count_spans(), server.pages) == (64, 7)


def test_spans_of_old_runs_are_found_once_no_new_run_arrives() -> None:
    server = Listing()
    server.runs = {f"run {number}": 6 for number in range(10)}
    server.count_spans()
    server.runs["run 0"] = 8
    assert server.count_spans() == 62
