"""Both distributions, built once, and environments that contain them and nothing of this one."""

import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.patience import patience_s

ROOT = Path(__file__).parents[3]
UV = Path(sys.executable).with_name("uv")
SDK, SERVER = "forkpoint", "forkpoint_server"


def call(*command: str | Path) -> str:
    """Run a command and return its output."""
    process = subprocess.run(command, capture_output=True, text=True, timeout=patience_s(60), check=False)
    assert process.returncode == 0, process.stderr
    return process.stdout


@dataclass(frozen=True)
class Distributions:
    """The wheels and source distributions in a folder."""

    folder: Path

    def wheel(self, name: str) -> Path:
        [path] = self.folder.glob(f"{name}-*.whl")
        return path

    def source(self, name: str) -> Path:
        [path] = self.folder.glob(f"{name}-*.tar.gz")
        return path


class Environment:
    """A virtual environment."""

    def __init__(self, folder: Path) -> None:
        self.python = folder / "bin/python"
        self.forkpoint = folder / "bin/forkpoint"
        call(UV, "venv", "--quiet", "--python", sys.executable, folder)
        [self.packages] = folder.glob("lib/python*/site-packages")

    def install(self, *wheels: Path) -> None:
        call(UV, "pip", "install", "--quiet", "--offline", "--no-deps", "--python", self.python, *wheels)

    def uninstall(self, name: str) -> None:
        call(UV, "pip", "uninstall", "--quiet", "--python", self.python, name)

    def add_dependencies(self) -> None:
        """Show the environment this one's packages, but not the source tree: its own packages come first."""
        (self.packages / "dependencies.pth").write_text(sysconfig.get_path("purelib"))


@pytest.fixture(scope="session")
def distributions(tmp_path_factory: pytest.TempPathFactory) -> Distributions:
    """Build the source distributions, and from these the wheels."""
    folder = tmp_path_factory.mktemp("dist")
    for project in (ROOT / "forkpoint", ROOT):
        # The backend of the development environment, so that the build needs no network.
        options = ("--quiet", "--offline", "--no-build-isolation", "--python", sys.executable, "--out-dir", folder)
        call(UV, "build", *options, project)
    return Distributions(folder)
