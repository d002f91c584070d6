"""The documentation's commands work: each page's shell blocks run from top to bottom."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from cockpit.cli.app import app
from forkpoint.bootstrap import hook, record, rerun
from forkpoint.mcp_shim import command as mcp_shim
from forkpoint.runner import command as runner
from tests.support.command_line import COMMAND_LOOP, CommandResult, Shell

pytestmark = pytest.mark.own_store
ROOT = Path(__file__).parents[3]
FIXTURES = ROOT / "tests" / "fixtures" / "importers"
PAGES = (
    "coming-from-kurral",
    "coming-from-prela",
    "coming-from-krabs",
    "coming-from-replaycontrol",
    "profiles",
    "calibrate",
    "reports",
    "recording",
)
_SHELL = re.compile(r"^```sh\n(.*?)^```$", re.M | re.S)
_CODE_BLOCK = re.compile(r"^```\w*\n(.*?)^```$", re.M | re.S)
_COMMAND = re.compile(r"(\.venv/bin/)?forkpoint [a-z]")
_INLINE_CODE = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
_OPTION = re.compile(r"--[a-z][a-z-]+")
# Options of other programs that the pages name in sentences.
_OTHER_OPTIONS = {"--compare", "--latest", "--output-format", "--task"}
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ (.*)$", re.M)
_STATEMENT = re.compile(r"^cat > (?P<file>\S+) <<'END'\n(?P<text>.*?)^END$|^(?P<command>[^\n]+)$", re.M | re.S)


class Reader:
    """Runs a page's commands in one folder. One process runs them all, because starting takes long."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._process = subprocess.Popen(
            [sys.executable, "-c", COMMAND_LOOP],
            cwd=folder,
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**Shell(folder / "home").environment, "PYTHONPATH": str(ROOT)},
        )

    def run(self, line: str) -> None:
        name, *arguments = shlex.split(line)
        if name == "forkpoint":
            result = self._forkpoint(arguments)
            assert result.code == 0, f"{line}\n{result.out[-1500:]}\n{result.err[-1500:]}"
        else:
            program, environment = sys.executable if name == "python" else name, {"PYTHONPATH": str(ROOT)}
            subprocess.run([program, *arguments], cwd=self.folder, check=True, env={**os.environ, **environment})

    def _forkpoint(self, arguments: list[str]) -> CommandResult:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({"arguments": arguments, "input": ""}) + "\n")
        self._process.stdin.flush()
        return CommandResult(*json.loads(self._process.stdout.readline()))

    def close(self) -> None:
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()
        self._process.wait(30)


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reader]:
    folder = tmp_path_factory.mktemp("docs")
    shutil.copytree(FIXTURES, folder, dirs_exist_ok=True)
    text = (folder / "openai_messages.json").read_text("utf-8").replace("conv-1", "conv-2")
    (folder / "again.json").write_text(re.sub(r"call_\w+", "call_9d2f71Qx", text))
    page_reader = Reader(folder)
    yield page_reader
    page_reader.close()


@pytest.mark.parametrize("page", PAGES)
def test_page_commands_run(page: str, reader: Reader) -> None:
    blocks = _SHELL.findall((ROOT / "docs" / f"{page}.md").read_text("utf-8"))
    assert blocks
    for statement in _STATEMENT.finditer("\n".join(blocks)):
        if statement["file"]:
            (reader.folder / statement["file"]).write_text(statement["text"])
        else:
            reader.run(statement["command"])


def documented_commands() -> Iterator[tuple[str, list[str]]]:
    """Yield every command line of the README and all pages, with the name of its page."""
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))):
        for block in _CODE_BLOCK.findall(page.read_text("utf-8")):
            for line in block.splitlines():
                words = shlex.split(line, comments=True) if _COMMAND.match(line) else []
                if words:
                    yield page.name, words[1:]


def test_documented_commands_exist() -> None:
    lines = list(documented_commands())
    assert len(lines) > 40
    assert [(page, words) for page, words in lines if not _is_known(words)] == []


def test_options_in_sentences_exist() -> None:
    pages = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
    known = {*_options(get_command(app))}
    for parser in (record, rerun, runner, hook, mcp_shim):
        known |= {*_OPTION.findall(parser.option_parser().format_help())}
    unknown = {
        (page.name, option)
        for page in pages
        for code in _INLINE_CODE.findall(_CODE_BLOCK.sub("", page.read_text("utf-8")))
        if code.startswith(("-", "forkpoint "))
        for option in _OPTION.findall(code)
        if option not in known
    }
    assert {option for _, option in unknown} <= _OTHER_OPTIONS, unknown


def _options(command: Any) -> Iterator[str]:
    """Yield the options of a command and of all its subcommands."""
    for parameter in command.params:
        yield from (*parameter.opts, *parameter.secondary_opts)
    for subcommand in getattr(command, "commands", {}).values():
        yield from _options(subcommand)


def _is_known(words: list[str]) -> bool:
    """Return whether the command and its subcommand exist and accept these options."""
    command: Any = get_command(app)
    if words[0] == "record":
        # Its options are the SDK's, which exits on a wrong one.
        return bool(record.option_parser().parse_args(words[1:]).command)
    if words[0] == "rerun":
        return bool(rerun.option_parser().parse_args(words[1 : words.index("--")]).run)
    if words[0] == "runner":
        return bool(runner.option_parser().parse_args(words[1 : words.index("--")]).app)
    while words and words[0] in getattr(command, "commands", ()):
        command, words = command.commands[words[0]], words[1:]
    if hasattr(command, "commands") and not command.invoke_without_command:
        return False
    parameters = getattr(command, "params", ())
    options = {name for parameter in parameters for name in (*parameter.opts, *parameter.secondary_opts)}
    if "--" in words:
        # What follows is another command.
        words = words[: words.index("--")]
    used_options = {word.partition("=")[0] for word in words if word.startswith("-") and word != "-"}
    return used_options <= {*options, "--help"}


def test_documentation_links_resolve() -> None:
    """Check links to files and to headings."""
    pages = [ROOT / name for name in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md")] + [
        *(ROOT / "docs").rglob("*.md")
    ]
    broken = [
        (page.name, link) for page in pages for link in _LINK.findall(page.read_text("utf-8")) if _is_broken(page, link)
    ]
    assert broken == []


def _is_broken(page: Path, link: str) -> bool:
    if "://" in link:
        return False
    file, _, heading = link.partition("#")
    target = (page.parent / file).resolve() if file else page
    if not target.exists():
        return True
    headings = _HEADING.findall(target.read_text("utf-8")) if heading else []
    return bool(heading) and heading not in {
        re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in headings
    }


def test_index_lists_every_page() -> None:
    index = (ROOT / "docs" / "README.md").read_text("utf-8")
    assert [page.name for page in (ROOT / "docs").glob("*.md") if f"({page.name})" not in index] == ["README.md"]


def test_each_client_has_a_page_that_begins_with_its_two_lines() -> None:
    pages = sorted((ROOT / "docs").glob("connect-*.md"))
    overview = (ROOT / "docs" / "connect.md").read_text("utf-8")
    clients = {"opentelemetry", "langfuse", "langsmith", "events", "krabs", "coding-agents"}
    assert {page.stem.removeprefix("connect-") for page in pages} == clients
    for page in pages:
        first_block = _CODE_BLOCK.findall(page.read_text("utf-8"))[0]
        assert len(first_block.splitlines()) == 2, page.name
        assert f"({page.name})" in overview
