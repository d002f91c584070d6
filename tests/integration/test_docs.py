"""The commands of the documentation do what it says: each page's shell blocks run from top to bottom."""

import json
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.command_line import COMMAND_LOOP, Said, Shell

pytestmark = pytest.mark.own_store
ROOT = Path(__file__).parent.parent.parent
FIXTURES = ROOT / "tests" / "fixtures" / "importers"
PAGES = (
    "coming-from-kurral", "coming-from-prela", "coming-from-krabs", "coming-from-replaycontrol", "profiles",
    "calibrate", "reports",
)  # fmt: skip
_SHELL = re.compile(r"^```sh\n(.*?)^```$", re.M | re.S)
_STATEMENT = re.compile(r"^cat > (?P<file>\S+) <<'END'\n(?P<text>.*?)^END$|^(?P<command>[^\n]+)$", re.M | re.S)


class Reader:
    """Somebody who types what a page says, in one folder. One process runs all commands: starting takes long."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._process = subprocess.Popen(
            [sys.executable, "-c", COMMAND_LOOP], cwd=folder, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            env={**Shell(folder / "home").environment, "PYTHONPATH": str(ROOT)},
        )  # fmt: skip

    def types(self, line: str) -> None:
        name, *arguments = shlex.split(line)
        if name == "forkpoint":
            said = self._forkpoint(arguments)
            assert said.code == 0, f"{line}\n{said.out[-1500:]}\n{said.err[-1500:]}"
        else:
            subprocess.run([name, *arguments], cwd=self.folder, check=True)

    def _forkpoint(self, arguments: list[str]) -> Said:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({"arguments": arguments, "input": ""}) + "\n")
        self._process.stdin.flush()
        return Said(*json.loads(self._process.stdout.readline()))

    def leaves(self) -> None:
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()
        self._process.wait(30)


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reader]:
    folder = tmp_path_factory.mktemp("docs")
    shutil.copytree(FIXTURES, folder, dirs_exist_ok=True)
    again = (folder / "openai_messages.json").read_text("utf-8").replace("conv-1", "conv-2")
    (folder / "again.json").write_text(re.sub(r"call_\w+", "call_9d2f71Qx", again))
    reading = Reader(folder)
    yield reading
    reading.leaves()


@pytest.mark.parametrize("page", PAGES)
def test_the_commands_of_a_page_run(page: str, reader: Reader) -> None:
    blocks = _SHELL.findall((ROOT / "docs" / f"{page}.md").read_text("utf-8"))
    assert blocks
    for statement in _STATEMENT.finditer("\n".join(blocks)):
        if statement["file"]:
            (reader.folder / statement["file"]).write_text(statement["text"])
        else:
            reader.types(statement["command"])
