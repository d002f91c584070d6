"""Safe output of consoles: control characters in recorded texts are shown instead of executed."""

from collections.abc import Iterator

from rich.console import Console, ConsoleOptions, ConsoleRenderable, RenderHook
from rich.segment import Segment

from forkpoint.confinement.terminal_text import harmless


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
