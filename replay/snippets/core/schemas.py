"""Schema of a step's snippets. Pure."""

from traces.core.schema import Schema


class StepSnippets(Schema):
    """A step's call as a shell command and as Python; null where there is none. `problem` says why none can be made."""

    curl: str | None = None
    python: str | None = None
    problem: str = ""
