"""Instrumentations of client libraries: one module each, loaded when its library is imported."""

from forkpoint.instrumentations import anthropic, openai


def install() -> None:
    """Record the calls of known libraries, imported already or later."""
    for library in (openai, anthropic):
        library.register()
