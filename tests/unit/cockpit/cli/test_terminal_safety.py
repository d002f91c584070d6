"""What recordings say to a terminal is shown and not obeyed."""

import io

import pytest
from rich.console import Console
from rich.table import Table
from rich.text import Text

from cockpit.cli import follow
from cockpit.cli.terminal_safety import Harmless
from diffing.render.markdown import escape_text
from forkpoint.confinement.terminal_text import harmless

EVIL = "a\x1b]0;title\x07b\x1b[2Jc\x9b31md\u202ee\x00f\x7f"


def written(renderable: object, *, terminal: bool) -> str:
    console = Console(file=io.StringIO(), width=80, force_terminal=terminal, markup=False, highlight=False)
    console.push_render_hook(Harmless())
    console.print(renderable)
    file = console.file
    assert isinstance(file, io.StringIO)
    return file.getvalue()


@pytest.mark.parametrize("terminal", [False, True])
def test_texts_and_tables_hold_signs_instead(terminal: bool) -> None:
    table = Table("name")
    table.add_row(Text(EVIL))
    for renderable in (EVIL, Text(EVIL, style="red"), table):
        said = written(renderable, terminal=terminal)
        assert "\x1b]0" not in said
        assert "\x1b[2J" not in said
        assert not {"\x07", "\x9b", "\u202e", "\x00", "\x7f"} & set(said)
        assert "␛]0;title" in said  # a bell is dropped by the console itself


def test_colours_of_our_own_stay() -> None:
    assert "\x1b[31m" in written(Text("x", style="red"), terminal=True)


def test_lines_and_tabs_stay() -> None:
    assert harmless("a\n\tb") == "a\n\tb"


def test_live_text_is_shown_too() -> None:
    to = io.StringIO()
    follow.Printer(to)(1, EVIL)
    assert "\x1b" not in to.getvalue()


def test_a_report_in_markdown_holds_none_of_it() -> None:
    assert not {"\x1b", "\x07", "\x9b", "\u202e", "\x00", "\x7f"} & set(escape_text(EVIL))
