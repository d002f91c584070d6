"""Commands that run many replays: calibrations, bisections, experiments and proofs."""

from pathlib import Path
from typing import Annotated

import typer

from cockpit.cli.command_help import CommandGroup, ProgramCommand, program_of
from cockpit.cli.errors import finish
from cockpit.cli.options import (
    AllowHosts,
    AllowTools,
    AtLeast,
    AtMost,
    Base,
    Candidate,
    Checks,
    Document,
    EngineName,
    FailedChecks,
    FirstStep,
    Json,
    Judgement,
    LiveCalls,
    MaxCalls,
    MaxCost,
    Mediators,
    Parts,
    PassQuestion,
    Preview,
    Probes,
    Question,
    Repeats,
    Require,
    Run,
    Samples,
    Token,
    Url,
)

searches = CommandGroup()


@searches.command(cls=ProgramCommand)
def calibrate(
    ctx: typer.Context,
    base: Base,
    candidate: Annotated[
        str | None,
        typer.Argument(
            metavar="CANDIDATE|-- COMMAND...",
            help="Second recording of the same task, or a program to run twice with its calls answered from BASE.",
        ),
    ] = None,
    accept: Annotated[
        str | None,
        typer.Option(metavar="NUMBERS|recommended", help="Add these proposals (such as 1,3) to the ignore list."),
    ] = None,
    engine: EngineName = None,
    allow_tools: AllowTools = None,
    allow_hosts: AllowHosts = None,
    json: Json = False,
    url: Url = None,
    token: Token = None,
) -> None:
    """Find fields that vary without meaning, so that the matching of calls ignores them.

    With --engine agent, a runner of the app starts the agent twice.
    """
    from cockpit.cli.commands.searches import calibrate as calibrate_command

    program = calibrate_command.program_of(program_of(ctx), tools=allow_tools or [], hosts=allow_hosts or [])
    subject = calibrate_command.Subject(base=base, candidate=candidate, program=program, engine=engine)
    calibrate_command.calibrate(subject, accept=accept, json=json, url=url, token=token)


@searches.command()
def bisect(
    run: Run,
    checks: FailedChecks = None,
    question: PassQuestion = "check",
    judgement: Judgement = None,
    at_least: AtLeast = None,
    at_most: AtMost = None,
    first_step: FirstStep = None,
    overrides: Document = None,
    policy: Document = None,
    samples: Samples = None,
    engine: EngineName = None,
    max_calls: MaxCalls = None,
    max_cost: MaxCost = None,
    preview: Preview = False,
    json: Json = False,
    url: Url = None,
    token: Token = None,
) -> None:
    """Find the step that decided a failure: the last one from which a new attempt still passes the checks."""
    from cockpit.cli.commands.searches import bisect as bisect_command

    request = bisect_command.request_body(
        choice=bisect_command.choice(question, judgement, at_least, at_most, questions=bisect_command.QUESTIONS),
        checks=checks or [],
        first=first_step,
        overrides=overrides,
        policy=policy,
        samples=samples,
        engine=engine,
        max_calls=max_calls,
        max_cost=max_cost,
    )
    act = bisect_command.preview if preview else bisect_command.bisect
    finish(act(run, request, json=json, url=url, token=token))


@searches.command()
def experiment(
    run: Run,
    matrix: Annotated[
        Path,
        typer.Argument(
            metavar="MATRIX", help="JSON file with axes and checks, as in the REST API; - for standard input."
        ),
    ],
    fork_step: Annotated[
        str | None, typer.Option("--from", metavar="STEP", help="Fork point: step id or number.")
    ] = None,
    samples: Annotated[int | None, typer.Option(min=1, metavar="N", help="Replays per combination.")] = None,
    engine: EngineName = None,
    preview: Preview = False,
    json: Json = False,
    url: Url = None,
    token: Token = None,
) -> None:
    """Fork a run with every combination of settings from a file, and compare the results."""
    from cockpit.cli.commands.searches import experiment as experiment_command

    request = experiment_command.request_body(matrix, fork_step=fork_step, samples=samples, engine=engine)
    act = experiment_command.preview if preview else experiment_command.experiment
    finish(act(run, request, json=json, url=url, token=token))


@searches.command()
def prove(
    base: Base,
    candidate: Candidate,
    question: Question = "answer",
    judgement: Judgement = None,
    at_least: AtLeast = None,
    at_most: AtMost = None,
    checks: Checks = None,
    live_calls: LiveCalls = 0,
    max_cost: MaxCost = None,
    probes: Probes = 200,
    repeats: Repeats = 10,
    engine: EngineName = None,
    policy: Document = None,
    parts: Parts = True,
    mediators: Mediators = True,
    require: Require = None,
    preview: Preview = False,
    json: Json = False,
    url: Url = None,
    token: Token = None,
) -> None:
    """Prove which change made the difference between two runs, with replays of single changes."""
    from cockpit.cli.commands.searches import bisect as bisect_command
    from cockpit.cli.commands.searches import prove as prove_command

    request = prove_command.request_body(
        choice=bisect_command.choice(question, judgement, at_least, at_most, questions=prove_command.QUESTIONS),
        checks=checks or [],
        live_calls=live_calls,
        max_cost=max_cost,
        probes=probes,
        repeats=repeats,
        engine=engine,
        policy=policy,
        parts=parts,
        mediators=mediators,
    )
    level = prove_command.confidence_level(require)
    if preview:
        finish(prove_command.preview(base, candidate, request, json=json, url=url, token=token))
    else:
        finish(prove_command.prove(base, candidate, request, require=level, json=json, url=url, token=token))
