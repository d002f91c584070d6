"""The commands and their options. What a command does is in a module of its own, imported when it runs."""

from pathlib import Path
from typing import Annotated

import typer

from cockpit.cli.groups import bundles, exports, finish, tokens
from cockpit.cli.options import (
    POLICIES,
    PROFILES,
    Base,
    Candidate,
    Checks,
    Document,
    Fails,
    FirstStep,
    Json,
    LiveCalls,
    MaxCalls,
    MaxCost,
    Mediators,
    Original,
    Parts,
    Probes,
    Question,
    Repeats,
    Require,
    Run,
    Samples,
    Score,
    Token,
    Url,
    WhatItTakes,
)
from cockpit.cli.profile_commands import commands

app = typer.Typer(
    name="forkpoint",
    help="Open a run of an agent, change one thing, replay from there, see what caused the difference.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    epilog="Exit codes: 0 success, 1 error, 2 bad input, 3 authentication, 4 not found, 5 a gate or --strict failed, "
    "6 a dependency is unavailable or timed out.",
)
app.add_typer(tokens, name="token")
app.add_typer(bundles, name="bundle")
app.add_typer(exports, name="export")
app.add_typer(commands(PROFILES, "What forks change, stored under names."), name="profiles")
app.add_typer(commands(POLICIES, "Policies of replays, stored under names."), name="policies")


def _say_version(asked: bool) -> None:
    from importlib.metadata import version

    if asked:
        print(f"forkpoint {version('forkpoint')}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_say_version, is_eager=True, help="Print the version, and leave.")
    ] = False,
) -> None:
    """Options of the command itself."""


@app.command()
def serve(
    host: Annotated[str | None, typer.Option(help="The address to listen on. [env: FORKPOINT_HOST]")] = None,
    port: Annotated[int | None, typer.Option(help="0 takes a free one. [env: FORKPOINT_PORT]")] = None,
    demo: Annotated[
        bool, typer.Option("--demo/--no-demo", help="Load the demo recordings and the local model.")
    ] = True,
) -> None:
    """Serve the cockpit from this one process, and print its address."""
    from cockpit.cli.commands import serve as serve_command

    serve_command.run(host=host, port=port, demo=demo)


@app.command("import")
def import_(
    paths: Annotated[list[Path], typer.Argument(metavar="PATH...", help="Files, and folders with everything in them.")],
    app: Annotated[str | None, typer.Option(help="The app that the runs belong to.")] = None,
    format: Annotated[str | None, typer.Option(help="The format, where it should not be detected.")] = None,
    json: Json = False,
    url: Url = None,
    token: Token = None,
) -> None:
    """Import recordings; the format is detected."""
    from cockpit.cli.commands import import_files

    finish(import_files.run(paths, app=app, format=format, json=json, url=url, token=token))


@app.command()
def runs(
    limit: Annotated[int, typer.Option(min=1, help="How many, the newest first.")] = 20,
    app: Annotated[str | None, typer.Option(help="Runs of this app only.")] = None,
    outcome: Annotated[
        str | None, typer.Option(help="passed, failed, unverified or unknown; several are joined by commas.")
    ] = None,
    json: Json = False,
    url: Url = None,
    token: Token = None,
) -> None:
    """List runs."""
    from cockpit.cli.commands import runs as runs_command

    runs_command.runs(limit=limit, app=app, outcome=outcome, json=json, url=url, token=token)


@app.command()
def judge(
    run: Run,
    kind: Annotated[str, typer.Argument(help="pass, fail, score or note.")],
    name: Annotated[str, typer.Option(help="Name of the judgement.")] = "verdict",
    value: Annotated[float | None, typer.Option(help="Number of a score.")] = None,
    text: Annotated[str, typer.Option(help="The note, or a comment.")] = "",
    step: Annotated[int | None, typer.Option(min=1, help="Judge this step instead of the run.")] = None,
    json: Json = False,
    url: Url = None,
    token: Token = None,
) -> None:
    """Judge a run or one of its steps."""
    from cockpit.cli.commands import judge as judge_command

    judge_command.judge(run, kind, name=name, value=value, text=text, step=step, json=json, url=url, token=token)


@app.command()
def show(
    run: Run,
    find: Annotated[
        str | None, typer.Option(metavar="WORDS", help="Only the steps that hold these words anywhere.")
    ] = None,
    json: Json = False,
    url: Url = None,
    token: Token = None,
) -> None:
    """Show a run and its steps; with --json, their whole payloads."""
    from cockpit.cli.commands import runs as runs_command

    runs_command.show(run, find=find, json=json, url=url, token=token)


@app.command()
def replay(
    run: Run,
    from_: Annotated[
        str | None, typer.Option("--from", metavar="STEP", help="The step to fork at: id or number.")
    ] = None,
    overrides: Document = None,
    policy: Document = None,
    preview: Annotated[bool, typer.Option("--preview", help="Show the plan; nothing runs.")] = False,
    strict: Annotated[bool, typer.Option("--strict", help="Fail if any step would be simulated.")] = False,
    model: Annotated[str | None, typer.Option(help="Another model, for every model step.")] = None,
    temperature: Annotated[float | None, typer.Option(min=0, max=2)] = None,
    max_tokens: Annotated[int | None, typer.Option(min=0)] = None,
    system_prompt: Annotated[str | None, typer.Option(metavar="TEXT", help="Another system prompt.")] = None,
    stream: Annotated[bool, typer.Option("--stream", help="Print the text of live answers as it comes.")] = False,
    json: Json = False,
    url: Url = None,
    token: Token = None,
) -> None:
    """Fork a run at a step and replay from there."""
    from cockpit.cli.commands import replay as replay_command

    entry = replay_command.shortcut(
        model=model, temperature=temperature, system_prompt=system_prompt, max_tokens=max_tokens
    )
    request = replay_command.asked(from_=from_, overrides=overrides, policy=policy, strict=strict, shortcut=entry)
    if preview:
        finish(replay_command.preview(run, request, json=json, url=url, token=token))
    else:
        finish(replay_command.replay(run, request, stream=stream, json=json, url=url, token=token))


@app.command()
def gate(
    base: Base,
    candidate: Candidate,
    min_ars: Annotated[float | None, typer.Option(min=0, max=1, help="The least regression score.")] = None,
    min_similarity: Annotated[float | None, typer.Option(min=0, max=1, help="Of the answers.")] = None,
    min_tool_accuracy: Score = None,
    json: Json = False,
    url: Url = None,
    token: Token = None,
) -> None:
    """Fail with 5 when a run is not near enough to another one. [without options: --min-ars 0.9]"""
    from cockpit.cli.commands import gate as gate_command

    least = {"ars": min_ars, "output_similarity": min_similarity, "tool_accuracy": min_tool_accuracy}
    if all(bound is None for bound in least.values()):
        least["ars"] = 0.9
    finish(gate_command.gate(base, candidate, least=least, json=json, url=url, token=token))


@app.command()
def tools(
    given: Annotated[
        Path | None, typer.Option("--import", metavar="FILE", help="Take over a side_effects.yaml.")
    ] = None,
    target: Annotated[Path | None, typer.Option("--output", "-o", help="Write to a file.")] = None,
    url: Url = None,
    token: Token = None,
) -> None:
    """Print the review of all tools as side_effects.yaml, with suggestions where nobody has decided."""
    from cockpit.cli.commands import gate as gate_command

    gate_command.tools(target, given=given, url=url, token=token)


@app.command()
def calibrate(
    base: Run,
    candidate: Annotated[str, typer.Argument(metavar="RUN", help="Another recording of the same work.")],
    accept: Annotated[
        str | None,
        typer.Option(metavar="NUMBERS|recommended", help="Add these proposals, as 1,3, to what signatures leave out."),
    ] = None,
    json: Json = False,
    url: Url = None,
    token: Token = None,
) -> None:
    """Find the fields that differ though the work is the same, and leave them out of signatures."""
    from cockpit.cli.commands.searches import calibrate as calibrate_command

    calibrate_command.calibrate(base, candidate, accept=accept, json=json, url=url, token=token)


@app.command()
def bisect(
    run: Run,
    checks: Fails,
    from_: FirstStep = None,
    overrides: Document = None,
    policy: Document = None,
    samples: Samples = None,
    max_calls: MaxCalls = None,
    max_cost: MaxCost = None,
    preview: WhatItTakes = False,
    json: Json = False,
    url: Url = None,
    token: Token = None,
) -> None:
    """Find the step where a failing run committed itself: the last from which answering afresh passes the checks."""
    from cockpit.cli.commands.searches import bisect as bisect_command

    request = bisect_command.asked(
        checks=checks,
        first=from_,
        overrides=overrides,
        policy=policy,
        samples=samples,
        max_calls=max_calls,
        max_cost=max_cost,
    )
    act = bisect_command.preview if preview else bisect_command.bisect
    finish(act(run, request, json=json, url=url, token=token))


@app.command()
def experiment(
    run: Run,
    matrix: Annotated[Path, typer.Argument(metavar="MATRIX", help="JSON with axes and checks, as REST takes it.")],
    from_: Annotated[str | None, typer.Option("--from", metavar="STEP", help="Fork at this step.")] = None,
    samples: Annotated[int | None, typer.Option(min=1, help="How often each combination is replayed.")] = None,
    preview: WhatItTakes = False,
    json: Json = False,
    url: Url = None,
    token: Token = None,
) -> None:
    """Fork a run many times, with every combination of the settings in a file, and compare what comes out."""
    from cockpit.cli.commands.searches import experiment as experiment_command

    request = experiment_command.asked(matrix, from_=from_, samples=samples)
    act = experiment_command.preview if preview else experiment_command.experiment
    finish(act(run, request, json=json, url=url, token=token))


@app.command()
def diff(
    base: Base,
    candidate: Original = None,
    format: Annotated[str | None, typer.Option(metavar="json|md|html", help="Print the report in this form.")] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Write the report to a file.")] = None,
    json: Json = False,
    url: Url = None,
    token: Token = None,
) -> None:
    """Compare two runs: what changed, and what caused it. A replay alone is compared with what it replayed."""
    from cockpit.cli.commands import diff as diff_command

    diff_command.diff(base, candidate, form=format, target=output, json=json, url=url, token=token)


@app.command()
def prove(
    base: Base,
    candidate: Candidate,
    question: Question = "answer",
    checks: Checks = None,
    live_calls: LiveCalls = 0,
    max_cost: MaxCost = None,
    probes: Probes = 200,
    repeats: Repeats = 10,
    policy: Document = None,
    parts: Parts = True,
    mediators: Mediators = True,
    require: Require = None,
    preview: WhatItTakes = False,
    json: Json = False,
    url: Url = None,
    token: Token = None,
) -> None:
    """Prove which change made the difference between two runs, by replays with one change at a time."""
    from cockpit.cli.commands.searches import prove as prove_command

    request = prove_command.asked(
        question=question,
        checks=checks or [],
        live_calls=live_calls,
        max_cost=max_cost,
        probes=probes,
        repeats=repeats,
        policy=policy,
        parts=parts,
        mediators=mediators,
    )
    level = prove_command.required(require)
    if preview:
        finish(prove_command.preview(base, candidate, request, json=json, url=url, token=token))
    else:
        finish(prove_command.prove(base, candidate, request, require=level, json=json, url=url, token=token))


@app.command()
def places(run: Run, json: Json = False, url: Url = None, token: Token = None) -> None:
    """List places of a run that are worth a look: errors, repeats, values that no input supports. No causes."""
    from cockpit.cli.commands import places as places_command

    places_command.places(run, json=json, url=url, token=token)


@app.command()
def tree(run: Run, json: Json = False, url: Url = None, token: Token = None) -> None:
    """Show a run with all its forks and theirs, with their labels and scores."""
    from cockpit.cli.commands import runs as runs_command

    runs_command.tree(run, json=json, url=url, token=token)


@app.command()
def share(
    diff: Annotated[str, typer.Argument(metavar="DIFF", help="The id of a diff, a unique beginning, or `last`.")],
    expires: Annotated[str | None, typer.Option(metavar="7d", help="How long it opens: 30m, 12h, 7d, 2w.")] = None,
    for_: Annotated[
        list[str] | None, typer.Option("--for", metavar="NAME", help="Opens only for these people. Repeat it.")
    ] = None,
    signed_in: Annotated[bool, typer.Option("--signed-in", help="Opens only for who is signed in.")] = False,
    views: Annotated[int | None, typer.Option(min=1, help="Opens so many times.")] = None,
    json: Json = False,
    url: Url = None,
    token: Token = None,
) -> None:
    """Make a link that opens a diff: for anyone who has it, unless told otherwise."""
    from cockpit.cli.commands import diff as diff_command

    terms = diff_command.terms(expires=expires, people=for_ or [], signed_in=signed_in, views=views)
    diff_command.share(diff, terms, json=json, url=url, token=token)


@app.command()
def check(
    artifacts: Annotated[
        bool, typer.Option("--artifacts", help="Also read every stored artifact and compare it with its hash.")
    ] = False,
    json: Json = False,
    url: Url = None,
    token: Token = None,
) -> None:
    """Validate the configuration and print it without secrets; say whether what it needs can be reached."""
    from cockpit.cli.commands import check as check_command

    finish(check_command.check(artifacts=artifacts, json=json, url=url, token=token))
