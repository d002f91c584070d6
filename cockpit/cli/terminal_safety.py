"""Safe terminal output: control characters in recorded texts are shown instead of executed."""

from collections.abc import Iterator
from typing import Final

from rich.console import Console, ConsoleOptions, ConsoleRenderable, RenderHook
from rich.segment import Segment

_PICTURES: Final = 0x2400  # first of the Unicode control pictures
_SAFE_CONTROLS: Final = "\n\t"
_CONTROLS: Final = {code: chr(_PICTURES + code) for code in range(0x20) if chr(code) not in _SAFE_CONTROLS}
_INVISIBLE: Final = dict.fromkeys((*range(0x80, 0xA0), *range(0x202A, 0x202F), *range(0x2066, 0x206A)), "\ufffd")
_SIGNS: Final = {**_CONTROLS, 0x7F: "\u2421", **_INVISIBLE}


def harmless(text: str) -> str:
    """Replace control characters, and those that change the writing direction, with visible symbols."""
    return text.translate(_SIGNS)


class Harmless(RenderHook):
    """Render hook for consoles that print recorded texts."""

    def process_renderables(self, renderables: list[ConsoleRenderable]) -> list[ConsoleRenderable]:
        return [_HarmlessRenderable(renderable) for renderable in renderables]


class _HarmlessRenderable:
    def __init__(self, renderable: ConsoleRenderable) -> None:
        self._renderable = renderable

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Segment]:
        for segment in console.render(self._renderable, options):
            yield segment if segment.control else Segment(harmless(segment.text), segment.style)
