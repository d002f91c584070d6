"""Output for people (tables and glyphs) and for programs (one JSON document)."""

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final, Literal

from rich.console import Console
from rich.table import Table
from rich.text import Text

from cockpit.cli.errors import Exit, Failure
from cockpit.cli.terminal_safety import Harmless
from forkpoint.bootstrap.rerun_report import real_tools_text
from forkpoint.confinement.terminal_text import harmless
from replay.core.vocabulary import Engine
from traces.core.vocabulary import Outcome, RunStatus, StepStatus

GLYPHS: Final = {
    "live": ("○", "bright_black"),
    "exact": ("●", "green"),
    "cached": ("◐", "blue"),
    "simulated": ("◌", "yellow"),
    "failed": ("✕", "red"),
}
_OUTCOMES: Final = {
    Outcome.PASSED: "green",
    Outcome.FAILED: "red",
    Outcome.UNVERIFIED: "yellow",
    Outcome.UNKNOWN: "bright_black",
}
# A pipe has no width.
_PIPED_WIDTH: Final = 160
_FAILED: Final = frozenset({StepStatus.ERROR, StepStatus.TIMEOUT, StepStatus.DENIED, RunStatus.FAILED})


def people() -> Console:
    """Console on standard output. Texts of recordings are never interpreted as markup."""
    width = None if sys.stdout.isatty() else _PIPED_WIDTH
    return _harmless(Console(markup=False, highlight=False, emoji=False, width=width))


def progress_console() -> Console:
    return _harmless(Console(stderr=True, markup=False, highlight=False, emoji=False))


def _harmless(console: Console) -> Console:
    console.push_render_hook(Harmless())
    return console


def document(value: Any) -> None:
    """Print the JSON document."""
    text(json.dumps(value, ensure_ascii=False, indent=2 if sys.stdout.isatty() else None))


def text(value: str, *, end: str = "\n") -> None:
    """Print a text: as it is for programs, without control characters on a terminal."""
    sys.stdout.write((harmless(value) if sys.stdout.isatty() else value) + end)
    sys.stdout.flush()


def save(target: Path, text: str) -> None:
    """Write a file and report its path."""
    try:
        target.write_text(text, "utf-8")
    except OSError as error:
        raise Failure(f"cannot write {target}: {error.strerror}", exit=Exit.BAD_INPUT) from error
    note(f"written to {target}")


def error(text: str) -> None:
    progress_console().print(Text("error: ", style="bold red") + Text(text), soft_wrap=True)


def note(text: str) -> None:
    progress_console().print(Text(text, style="bright_black"), soft_wrap=True)


def plan_warnings(plan: dict[str, Any]) -> list[str]:
    """Return what to know before a plan is carried out: which tools its agent really runs, and its warnings."""
    # Where the recording is followed, a warning says that they are the reason.
    runs_agent = plan.get("engine") != Engine.FOLLOW
    names = [tool["name"] for tool in plan["unintercepted_tools"] if runs_agent]
    return [*real_tools_text({"real_tools": names}), *plan["warnings"]]


def glyph(label: str, status: str = "") -> Text:
    """Glyph of a label, or of a failure, which takes precedence."""
    sign, style = GLYPHS["failed" if status in _FAILED else label]
    return Text(sign, style=style)


def outcome(name: str) -> Text:
    """Colored outcome of a run; only *passed* is green."""
    return Text(name, style=_OUTCOMES[Outcome(name)])


def run_title(run: dict[str, Any]) -> str:
    """Words by which people recognise a run: the name that users gave it, the change of a fork, or its own name."""
    change = change_text(run["change"])
    return " · ".join(filter(None, [run["title"], change, "" if run["title"] and change else run["name"]]))


def change_text(change: dict[str, Any] | None) -> str:
    """What a fork changes: `+ “Order totals are in cents” (system prompt) and 2 more`; empty if it is not known."""
    if change is None:
        return ""
    target = f" ({change['target']})" if change["target"] else ""
    more = f" and {change['count'] - 1} more" if change["count"] > 1 else ""
    return f"{change['text']}{target}{more}"


def code_words(code: str) -> str:
    """A status or reason in words: `completed mixed`."""
    return code.replace("_", " ")


def labels(counts: dict[str, int]) -> Text:
    """Number of steps per label: ● 5 ◐ 1 ◌ 3."""
    counts_by_label = [(name, counts.get(name, 0)) for name in ("live", "exact", "cached", "simulated")]
    parts = [Text(f"{GLYPHS[name][0]} {count}", style=GLYPHS[name][1]) for name, count in counts_by_label if count]
    return Text(" ").join(parts)


def table(*columns: str) -> Table:
    """Create a table with one line per row. A leading `>` aligns a column right; the last column shrinks first."""
    table_view = Table(box=None, pad_edge=False, header_style="bright_black", show_edge=False, expand=True)
    for column in columns[:-1]:
        right: Literal["left", "right"] = "right" if column.startswith(">") else "left"
        # Ids must be copyable, so they are never truncated. Names can be whole sentences, so they are.
        table_view.add_column(
            column.lstrip(">"),
            justify=right,
            no_wrap=True,
            overflow="ellipsis",
            min_width=36 if column == "run" else None,
            max_width=32 if column == "name" else None,
        )
    table_view.add_column(columns[-1], no_wrap=True, overflow="ellipsis", ratio=1)
    return table_view


def facts(console: Console, pairs: Iterable[tuple[str, Any]]) -> None:
    """Print names and values in two columns, omitting empty values."""
    present = [(name, value) for name, value in pairs if value not in (None, "")]
    width = max((len(name) for name, _ in present), default=0)
    for name, value in present:
        cell = value if isinstance(value, Text) else Text(str(value))
        console.print(Text(f"{name:<{width}}  ", style="bright_black") + cell, soft_wrap=True)


def money(cost: float | None) -> str:
    if cost is None:
        return "unknown"
    return f"${cost:.4f}" if cost else "$0.00"


def price(estimate: float | None, most: float | None) -> str:
    """Return an estimated cost and its maximum, either of which may be unknown."""
    if estimate is None:
        return "unknown"
    return f"about {money(estimate)}, " + ("maximum unknown" if most is None else f"at most {money(most)}")


def tokens(run: dict[str, Any]) -> str:
    """Tokens of a run: a model that was called has counted some, so that none are unknown ones."""
    return str(run["tokens_in"] + run["tokens_out"] or "–")


def duration(ms: float | None) -> str:
    if ms is None:
        return ""
    return f"{ms:.0f} ms" if ms < 1000 else f"{ms / 1000:.1f} s"
