"""Arguments and options of the commands."""

from typing import Annotated, Final, NamedTuple

import typer

RUN = "Run id, unique prefix of an id, file (imported first), or `last`."
DOCUMENT = "JSON file, - for standard input, or a saved document (see `profiles` and `policies`)."

Run = Annotated[str, typer.Argument(metavar="RUN", help=RUN)]
Base = Annotated[str, typer.Argument(metavar="BASE", help=RUN)]
Candidate = Annotated[str, typer.Argument(metavar="CANDIDATE", help=RUN)]
Original = Annotated[
    str | None, typer.Argument(metavar="CANDIDATE", help="Second run; can be omitted if BASE is a replay.")
]
Document = Annotated[str | None, typer.Option(metavar="FILE|NAME|DIGEST", help=DOCUMENT)]

Json = Annotated[bool, typer.Option("--json", help="Print one JSON document to standard output.")]
Url = Annotated[
    str | None,
    typer.Option("--url", metavar="URL", help="Use this server instead of the local store. [env: FORKPOINT_URL]"),
]
Token = Annotated[
    str | None, typer.Option("--token", metavar="TOKEN", help="API token of the server. [env: FORKPOINT_TOKEN]")
]

MaxCost = Annotated[float | None, typer.Option(min=0, metavar="USD", help="Maximum cost in US dollars.")]
Preview = Annotated[bool, typer.Option("--preview", help="Show the plan and its cost without running it.")]
Score = Annotated[float | None, typer.Option(min=0, max=1, metavar="NUMBER", help="Minimum tool accuracy.")]

# Commands that run an agent
AllowTools = Annotated[
    list[str] | None,
    typer.Option(
        "--allow-tool",
        metavar="NAME",
        help="Tool that may run where the recording has no such call, and consent to one that nothing intercepts, so "
        "that it really runs in each start. Repeatable.",
    ),
]
AllowHosts = Annotated[
    list[str] | None,
    typer.Option("--allow-host", metavar="HOST[:PORT]", help="Host to which a Python agent may connect."),
]

EngineName = Annotated[
    str | None,
    typer.Option(
        "--engine",
        metavar="follow|agent",
        help="Follow the recording, or let a runner of the app start the agent for every replay. [default: follow]",
    ),
]

# `bisect`
FailedChecks = Annotated[
    list[str] | None,
    typer.Option(
        "--check",
        metavar="KIND:WHAT",
        help="Check that the run fails: contains:TEXT, not_contains:TEXT, regex:PATTERN, json_schema:FILE, "
        "tool_called:NAME, tool_not_called:NAME, status:completed. Repeatable; all must pass. For `outcome` and "
        "`judgement`, NAME=KIND:WHAT stands in for a judgement.",
    ),
]
FirstStep = Annotated[str | None, typer.Option("--from", metavar="STEP", help="Do not fork before this step.")]
Samples = Annotated[int | None, typer.Option(min=1, metavar="N", help="Samples per step. [default: 3]")]
MaxCalls = Annotated[int | None, typer.Option(min=1, metavar="N", help="Maximum number of live calls.")]

# `prove`
Question = Annotated[
    str,
    typer.Option(
        metavar="WHAT",
        help="What to compare: answer, answer_exact, answer_facts, answer_alike, tool_calls, status, check, score, "
        "outcome (by the app's outcome rule), judgement.",
    ),
]
PassQuestion = Annotated[
    str,
    typer.Option(
        "--question",
        metavar="WHAT",
        help="What decides whether a run passes: check (all checks), outcome (the app's outcome rule), judgement.",
    ),
]
Judgement = Annotated[
    str | None, typer.Option(metavar="NAME", help="The judgement that decides, for example `reward`.")
]
AtLeast = Annotated[float | None, typer.Option(metavar="NUMBER", help="Lowest score with which the judgement passes.")]
AtMost = Annotated[float | None, typer.Option(metavar="NUMBER", help="Highest score with which the judgement passes.")]
Checks = Annotated[
    list[str] | None,
    typer.Option(
        "--check",
        metavar="KIND:WHAT",
        help="Checks, as in `bisect`; for `outcome` and `judgement`, NAME=KIND:WHAT stands in for a judgement.",
    ),
]
LiveCalls = Annotated[int, typer.Option(min=0, metavar="N", help="Maximum number of live calls.")]
Probes = Annotated[int, typer.Option(min=1, metavar="N", help="Maximum number of replays that test changes.")]
Repeats = Annotated[int, typer.Option(min=0, metavar="N", help="Maximum number of unchanged repeats of each run.")]
Parts = Annotated[bool, typer.Option("--parts/--no-parts", help="Narrow the cause down to its parts.")]
Mediators = Annotated[bool, typer.Option("--mediators/--no-mediators", help="Find the steps that carried the effect.")]
Require = Annotated[str | None, typer.Option(metavar="low|medium|high", help="Exit with 5 if the confidence is lower.")]


class Kind(NamedTuple):
    """A kind of saved document: its API path, its field and its display name."""

    path: str
    field: str
    title: str


PROFILES: Final = Kind("/profiles", "profile", "override profile")
POLICIES: Final = Kind("/policies", "policy", "policy")
