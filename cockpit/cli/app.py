"""Commands and their options. Each command imports its implementation only when it runs."""

from pathlib import Path
from typing import Annotated

import typer

from cockpit.cli.command_help import CommandGroup
from cockpit.cli.errors import finish
from cockpit.cli.groups.agents import agents
from cockpit.cli.groups.management import backups, bundles, exports, tokens
from cockpit.cli.groups.profiles import commands
from cockpit.cli.groups.retention import retention
from cockpit.cli.groups.searches import searches
from cockpit.cli.options import (
    POLICIES,
    PROFILES,
    Base,
    Candidate,
    Document,
    Json,
    Original,
    Run,
    Score,
    Token,
    Url,
)

app = CommandGroup(
    name="forkpoint",
    help="Fork recorded agent runs, replay them with changes, and find what caused the difference.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    epilog="Exit codes: 0 success, 1 error, 2 bad input, 3 authentication, 4 not found, 5 a gate or --strict failed, "
    "6 a dependency is unavailable or timed out.",
)
app.add_typer(agents)
app.add_typer(searches)
app.add_typer(retention)
app.add_typer(tokens, name="token")
app.add_typer(bundles, name="bundle")
app.add_typer(backups, name="backup")
app.add_typer(exports, name="export")
app.add_typer(commands(PROFILES, "Saved override profiles: the changes of a fork."), name="profiles")
app.add_typer(commands(POLICIES, "Saved policies: what a replay may do live."), name="policies")


def _print_version(is_set: bool) -> None:
    from forkpoint.command_line import print_versions

    if is_set:
        print_versions()
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Parse the global options."""


@app.command()
def serve(
    host: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="Address to listen on. [env: FORKPOINT_HOST]")
    ] = None,
    port: Annotated[
        int | None, typer.Option(metavar="PORT", help="Port; 0 selects a free one. [env: FORKPOINT_PORT]")
    ] = None,
    demo: Annotated[
        bool | None,
        typer.Option(
            "--demo/--no-demo",
            help="Load the demo's runs even if you deleted them, or serve without the demo and its local model.",
            show_default="the demo is loaded once",
        ),
    ] = None,
) -> None:
    """Serve the cockpit from this process and print its address."""
    from cockpit.cli.commands import serve as serve_command

    serve_command.run(host=host, port=port, demo=demo)


@app.command("import")
def import_(
    paths: Annotated[
        list[Path], typer.Argument(metavar="PATH", help="Files and folders; folders are searched recursively.")
    ],
    app: Annotated[str | None, typer.Option(metavar="APP", help="App to which the runs belong.")] = None,
    format: Annotated[
        str | None, typer.Option(metavar="FORMAT", help="Format; by default detected from the content.")
    ] = None,
    json: Json = False,
    url: Url = None,
    token: Token = None,
) -> None:
    """Import recordings."""
    from cockpit.cli.commands import import_files

    finish(import_files.run(paths, app=app, format=format, json=json, url=url, token=token))


@app.command()
def watch(
    paths: Annotated[
        list[Path] | None,
        typer.Argument(metavar="PATH", help="Folders of sessions; by default those of Claude Code and Codex."),
    ] = None,
    days: Annotated[
        float, typer.Option(min=0, metavar="DAYS", help="Only sessions that changed in the last DAYS days.")
    ] = 1,
    single_pass: Annotated[bool, typer.Option("--once", help="Send what has been written so far, and exit.")] = False,
    url: Url = None,
    token: Token = None,
) -> None:
    """Send sessions of coding agents to a server while they are being written."""
    from cockpit.cli.commands import watch as watch_command

    watch_command.run(paths or [], days=days, single_pass=single_pass, url=url, token=token)


@app.command()
def runs(
    limit: Annotated[int, typer.Option(min=1, metavar="N", help="Number of runs, newest first.")] = 20,
    app: Annotated[str | None, typer.Option(metavar="APP", help="Only runs of this app.")] = None,
    outcome: Annotated[
        str | None,
        typer.Option(
            metavar="OUTCOMES",
            help="Only runs with these outcomes: passed, failed, unverified, unknown; comma-separated.",
        ),
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
    kind: Annotated[str, typer.Argument(metavar="KIND", help="pass, fail, score or note.")],
    name: Annotated[str, typer.Option(metavar="NAME", help="Name of the judgement.")] = "verdict",
    value: Annotated[float | None, typer.Option(metavar="NUMBER", help="Value of a score.")] = None,
    text: Annotated[str, typer.Option(metavar="TEXT", help="The note, or a comment on the judgement.")] = "",
    step: Annotated[int | None, typer.Option(min=1, metavar="N", help="Judge this step instead of the run.")] = None,
    json: Json = False,
    url: Url = None,
    token: Token = None,
) -> None:
    """Judge a run or one of its steps."""
    from cockpit.cli.commands import judge as judge_command

    judge_command.judge(run, kind, name=name, value=value, text=text, step=step, json=json, url=url, token=token)


# A removal looks like an option.
@app.command(context_settings={"ignore_unknown_options": True})
def tag(
    run: Run,
    changes: Annotated[
        list[str] | None, typer.Argument(metavar="+TAG|-TAG", help="Tags to add (+) and to remove (-).")
    ] = None,
    json: Json = False,
    url: Url = None,
    token: Token = None,
) -> None:
    """Add or remove tags of a run, and print its tags."""
    from cockpit.cli.commands import naming

    naming.tag(run, changes or [], json=json, url=url, token=token)


@app.command()
def rename(
    run: Run,
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="The new name; '' restores the recorded one.")
    ] = None,
    note: Annotated[str | None, typer.Option(metavar="TEXT", help="A note; '' removes it.")] = None,
    json: Json = False,
    url: Url = None,
    token: Token = None,
) -> None:
    """Give a run a name or a note."""
    from cockpit.cli.commands import naming

    naming.rename(run, name, note=note, json=json, url=url, token=token)


@app.command()
def show(
    run: Run,
    find: Annotated[
        str | None, typer.Option(metavar="WORDS", help="Only steps whose text contains these words.")
    ] = None,
    json: Json = False,
    url: Url = None,
    token: Token = None,
) -> None:
    """Show a run and its steps; --json includes the complete payloads."""
    from cockpit.cli.commands import runs as runs_command

    runs_command.show(run, find=find, json=json, url=url, token=token)


@app.command()
def replay(
    run: Run,
    fork_step: Annotated[
        str | None, typer.Option("--from", metavar="STEP", help="Fork point: step id or number.")
    ] = None,
    overrides: Document = None,
    policy: Document = None,
    preview: Annotated[bool, typer.Option("--preview", help="Show the plan without running it.")] = False,
    strict: Annotated[bool, typer.Option("--strict", help="Fail if any step would be simulated.")] = False,
    model: Annotated[str | None, typer.Option(metavar="MODEL", help="Model for every model step.")] = None,
    temperature: Annotated[
        float | None, typer.Option(min=0, max=2, metavar="NUMBER", help="Temperature for every model step.")
    ] = None,
    max_tokens: Annotated[
        int | None, typer.Option(min=0, metavar="N", help="Token limit for every model step.")
    ] = None,
    system_prompt: Annotated[
        str | None, typer.Option(metavar="TEXT", help="System prompt for every model step.")
    ] = None,
    stream: Annotated[bool, typer.Option("--stream", help="Print live answers as they arrive.")] = False,
    json: Json = False,
    url: Url = None,
    token: Token = None,
) -> None:
    """Fork a run at a step and replay from there."""
    from cockpit.cli.commands import replay as replay_command

    entry = replay_command.shortcut(
        model=model, temperature=temperature, system_prompt=system_prompt, max_tokens=max_tokens
    )
    request = replay_command.request_body(
        fork_step=fork_step, overrides=overrides, policy=policy, strict=strict, shortcut=entry
    )
    if preview:
        finish(replay_command.preview(run, request, json=json, url=url, token=token))
    else:
        finish(replay_command.replay(run, request, stream=stream, json=json, url=url, token=token))


@app.command()
def gate(
    base: Base,
    candidate: Candidate,
    min_ars: Annotated[
        float | None, typer.Option(min=0, max=1, metavar="NUMBER", help="Minimum overall similarity (ARS).")
    ] = None,
    min_similarity: Annotated[
        float | None, typer.Option(min=0, max=1, metavar="NUMBER", help="Minimum answer similarity.")
    ] = None,
    min_tool_accuracy: Score = None,
    json: Json = False,
    url: Url = None,
    token: Token = None,
) -> None:
    """Exit with 5 if a run differs too much from a base run. [default: --min-ars 0.9]"""
    from cockpit.cli.commands import gate as gate_command

    minimums = {"ars": min_ars, "output_similarity": min_similarity, "tool_accuracy": min_tool_accuracy}
    if all(minimum is None for minimum in minimums.values()):
        minimums["ars"] = 0.9
    finish(gate_command.gate(base, candidate, minimums=minimums, json=json, url=url, token=token))


@app.command()
def tools(
    source: Annotated[
        Path | None, typer.Option("--import", metavar="FILE", help="Import the reviews of a side_effects.yaml.")
    ] = None,
    target: Annotated[Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write to this file.")] = None,
    url: Url = None,
    token: Token = None,
) -> None:
    """Print the reviews of all tools as side_effects.yaml, with suggestions for unreviewed tools."""
    from cockpit.cli.commands import gate as gate_command

    gate_command.tools(target, source=source, url=url, token=token)


@app.command()
def diff(
    base: Base,
    candidate: Original = None,
    format: Annotated[str | None, typer.Option(metavar="json|md|html", help="Print the report in this format.")] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write the report to a file.")
    ] = None,
    json: Json = False,
    url: Url = None,
    token: Token = None,
) -> None:
    """Compare two runs: what changed, and why. A single replay is compared with its source run."""
    from cockpit.cli.commands import diff as diff_command

    diff_command.diff(base, candidate, form=format, target=output, json=json, url=url, token=token)


@app.command()
def places(run: Run, json: Json = False, url: Url = None, token: Token = None) -> None:
    """List suspicious steps of a run: errors, repeats, unsupported values. They are not proven causes."""
    from cockpit.cli.commands import places as places_command

    places_command.places(run, json=json, url=url, token=token)


@app.command()
def tree(run: Run, json: Json = False, url: Url = None, token: Token = None) -> None:
    """Show the fork tree of a run, with labels and scores."""
    from cockpit.cli.commands import runs as runs_command

    runs_command.tree(run, json=json, url=url, token=token)


@app.command()
def share(
    diff: Annotated[str, typer.Argument(metavar="DIFF", help="Diff id, a unique prefix, or `last`.")],
    expires: Annotated[
        str | None, typer.Option(metavar="DURATION", help="Lifetime of the link, such as 30m, 12h, 7d or 2w.")
    ] = None,
    people: Annotated[
        list[str] | None, typer.Option("--for", metavar="NAME", help="Only for this person. Repeatable.")
    ] = None,
    signed_in: Annotated[bool, typer.Option("--signed-in", help="Only for signed-in users.")] = False,
    views: Annotated[int | None, typer.Option(min=1, metavar="N", help="Maximum number of views.")] = None,
    comments: Annotated[bool, typer.Option("--comments", help="Allow visitors to comment.")] = False,
    json: Json = False,
    url: Url = None,
    token: Token = None,
) -> None:
    """Create a link to a diff, by default for anyone with the link."""
    from cockpit.cli.commands import diff as diff_command

    terms = diff_command.terms(
        expires=expires, people=people or [], signed_in=signed_in, views=views, comments=comments
    )
    diff_command.share(diff, terms, json=json, url=url, token=token)


@app.command()
def check(
    artifacts: Annotated[
        bool, typer.Option("--artifacts", help="Also verify the hash of every stored artifact.")
    ] = False,
    totals: Annotated[bool, typer.Option("--totals", help="Also compare the usage totals with the steps.")] = False,
    json: Json = False,
    url: Url = None,
    token: Token = None,
) -> None:
    """Validate the configuration, print it without secrets, and test its dependencies."""
    from cockpit.cli.commands.store import check as check_command

    finish(check_command.check(artifacts=artifacts, totals=totals, json=json, url=url, token=token))


@app.command()
def reindex(json: Json = False) -> None:
    """Rebuild the search index and the usage totals of the local store."""
    from cockpit.cli.commands.store import check as check_command

    check_command.reindex(json=json)
