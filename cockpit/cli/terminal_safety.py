"""Texts of recordings on a terminal: what would move its cursor or turn its writing is shown, not done."""

from collections.abc import Iterator
from typing import Final

from rich.console import Console, ConsoleOptions, ConsoleRenderable, RenderHook
from rich.segment import Segment

_PICTURES: Final = 0x2400  # the signs of the control characters, in their order
_KEPT: Final = "\n\t"
_CONTROLS: Final = {code: chr(_PICTURES + code) for code in range(0x20) if chr(code) not in _KEPT}
_OTHERS: Final = dict.fromkeys((*range(0x80, 0xA0), *range(0x202A, 0x202F), *range(0x2066, 0x206A)), "\ufffd")
_SIGNS: Final = {**_CONTROLS, 0x7F: "\u2421", **_OTHERS}


def harmless(text: str) -> str:
    """The text with signs in the place of control characters and of those that turn the direction of writing."""
    return text.translate(_SIGNS)


class Harmless(RenderHook):
    """For a console that prints texts of others."""

    def process_renderables(self, renderables: list[ConsoleRenderable]) -> list[ConsoleRenderable]:
        return [_Rendered(renderable) for renderable in renderables]


class _Rendered:
    def __init__(self, renderable: ConsoleRenderable) -> None:
        self._renderable = renderable

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Segment]:
        for segment in console.render(self._renderable, options):
            yield segment if segment.control else Segment(harmless(segment.text), segment.style)
