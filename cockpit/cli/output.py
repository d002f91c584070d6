"""What people and programs see: tables and glyphs, or one JSON document."""

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
_PIPED_WIDTH: Final = 160  # a pipe has no width, and its reader cuts for themselves
_FAILED: Final = frozenset({StepStatus.ERROR, StepStatus.TIMEOUT, StepStatus.DENIED, RunStatus.FAILED})


def people() -> Console:
    """Standard output, for people; texts of recordings are never taken for markup."""
    width = None if sys.stdout.isatty() else _PIPED_WIDTH
    return _harmless(Console(markup=False, highlight=False, emoji=False, width=width))


def progress_console() -> Console:
    return _harmless(Console(stderr=True, markup=False, highlight=False, emoji=False))


def _harmless(console: Console) -> Console:
    console.push_render_hook(Harmless())
    return console


def document(value: Any) -> None:
    """The one JSON document."""
    sys.stdout.write(json.dumps(value, ensure_ascii=False, indent=2 if sys.stdout.isatty() else None) + "\n")
    sys.stdout.flush()


def save(target: Path, text: str) -> None:
    """Write to a file, and say so."""
    try:
        target.write_text(text, "utf-8")
    except OSError as error:
        raise Failure(f"cannot write {target}: {error.strerror}", exit=Exit.BAD_INPUT) from error
    note(f"written to {target}")


def error(text: str) -> None:
    progress_console().print(Text("error: ", style="bold red") + Text(text), soft_wrap=True)


def note(text: str) -> None:
    progress_console().print(Text(text, style="bright_black"), soft_wrap=True)


def glyph(label: str, status: str = "") -> Text:
    """The sign of a label; a failed step shows that first."""
    sign, style = GLYPHS["failed" if status in _FAILED else label]
    return Text(sign, style=style)


def outcome(name: str) -> Text:
    """Whether a run did its task; only a run that passed is green."""
    return Text(name, style=_OUTCOMES[Outcome(name)])


def labels(counts: dict[str, int]) -> Text:
    """How many steps have which label: ● 5 ◐ 1 ◌ 3."""
    shown = [(name, counts.get(name, 0)) for name in ("live", "exact", "cached", "simulated")]
    parts = [Text(f"{GLYPHS[name][0]} {count}", style=GLYPHS[name][1]) for name, count in shown if count]
    return Text(" ").join(parts)


def table(*columns: str) -> Table:
    """A quiet table of one line each. A leading `>` holds numbers; the last column gives way when space is short."""
    made = Table(box=None, pad_edge=False, header_style="bright_black", show_edge=False, expand=True)
    for column in columns[:-1]:
        right: Literal["left", "right"] = "right" if column.startswith(">") else "left"
        # Ids are there to be copied: they are never cut. Some recordings name a step by a whole sentence.
        made.add_column(
            column.lstrip(">"),
            justify=right,
            no_wrap=True,
            overflow="ellipsis",
            min_width=36 if column == "run" else None,
            max_width=32 if column == "name" else None,
        )
    made.add_column(columns[-1], no_wrap=True, overflow="ellipsis", ratio=1)
    return made


def facts(console: Console, pairs: Iterable[tuple[str, Any]]) -> None:
    """Names and values, one on a line, the names in a column."""
    said = [(name, value) for name, value in pairs if value not in (None, "")]
    width = max((len(name) for name, _ in said), default=0)
    for name, value in said:
        shown = value if isinstance(value, Text) else Text(str(value))
        console.print(Text(f"{name:<{width}}  ", style="bright_black") + shown, soft_wrap=True)


def money(cost: float | None) -> str:
    return "unknown" if cost is None else f"${cost:.4f}"


def duration(ms: float | None) -> str:
    if ms is None:
        return ""
    return f"{ms:.0f} ms" if ms < 1000 else f"{ms / 1000:.1f} s"
