"""Arguments and options that several commands share, and those that take many words to explain."""

from typing import Annotated, Final, NamedTuple

import typer

RUN = "An id, a unique beginning of one, a file (imported on the way), or `last`."
DOCUMENT = "A JSON file, - for standard input, or something stored: see `profiles` and `policies`."

Run = Annotated[str, typer.Argument(metavar="RUN", help=RUN)]
Base = Annotated[str, typer.Argument(metavar="BASE", help=RUN)]
Candidate = Annotated[str, typer.Argument(metavar="CANDIDATE", help=RUN)]
Original = Annotated[
    str | None, typer.Argument(metavar="[CANDIDATE]", help="The other run; without it the first one is a replay.")
]
Document = Annotated[str | None, typer.Option(metavar="FILE|NAME|DIGEST", help=DOCUMENT)]

Json = Annotated[bool, typer.Option("--json", help="Print exactly one JSON document on standard output.")]
Url = Annotated[str | None, typer.Option("--url", help="A server, instead of the store here. [env: FORKPOINT_URL]")]
Token = Annotated[str | None, typer.Option("--token", help="The server's API token. [env: FORKPOINT_TOKEN]")]

MaxCost = Annotated[float | None, typer.Option(min=0, help="At most so many dollars.")]
WhatItTakes = Annotated[bool, typer.Option("--preview", help="Show what it would take; nothing runs.")]
Score = Annotated[float | None, typer.Option(min=0, max=1)]

# Of `bisect`.
Fails = Annotated[
    list[str],
    typer.Option(
        "--check",
        metavar="KIND:WHAT",
        help="What the run fails: contains:TEXT, not_contains:TEXT, regex:PATTERN, json_schema:FILE, "
        "tool_called:NAME, tool_not_called:NAME, status:completed. Several must all pass.",
    ),
]
FirstStep = Annotated[str | None, typer.Option("--from", metavar="STEP", help="Answer nothing before it afresh.")]
Samples = Annotated[int | None, typer.Option(min=1, help="How often each step is tried. [default: 3]")]
MaxCalls = Annotated[int | None, typer.Option(min=1, help="At most so many live calls.")]

# Of `prove`.
Question = Annotated[
    str,
    typer.Option(
        metavar="WHAT",
        help="Which difference: answer, answer_exact, answer_facts, answer_alike, tool_calls, status, check or score.",
    ),
]
Checks = Annotated[
    list[str] | None,
    typer.Option("--check", metavar="KIND:WHAT", help="For check and score; as `bisect` takes them."),
]
LiveCalls = Annotated[int, typer.Option(min=0, help="At most so many live calls.")]
Probes = Annotated[int, typer.Option(min=1, help="At most so many counterfactual replays.")]
Repeats = Annotated[int, typer.Option(min=0, help="At most so many unchanged repeats of each side.")]
Parts = Annotated[bool, typer.Option("--parts/--no-parts", help="Look inside the cause.")]
Mediators = Annotated[bool, typer.Option("--mediators/--no-mediators", help="Find the steps through which it worked.")]
Require = Annotated[
    str | None, typer.Option(metavar="low|medium|high", help="Fail (5) unless it is at least that sure.")
]


class Kind(NamedTuple):
    """A kind of stored document: its address, its field, and what people call it."""

    path: str
    field: str
    words: str


PROFILES: Final = Kind("/profiles", "profile", "override profile")
POLICIES: Final = Kind("/policies", "policy", "policy")
