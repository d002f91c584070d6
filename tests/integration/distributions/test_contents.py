"""What the two distributions contain."""

import re
import subprocess
import tarfile
import tomllib
from email import message_from_bytes
from email.message import Message
from pathlib import Path
from zipfile import ZipFile

import pytest
from django.conf import settings

from tests.integration.distributions.conftest import ROOT, SDK, SERVER, Distributions

pytestmark = pytest.mark.once
_SERVER_PACKAGES = ("cockpit", "diffing", "replay", "traces")


def files(wheel: Path) -> set[str]:
    """Return the files of a wheel's packages."""
    return {name for name in ZipFile(wheel).namelist() if ".dist-info/" not in name}


def metadata(wheel: Path) -> Message:
    archive = ZipFile(wheel)
    [path] = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
    return message_from_bytes(archive.read(path))


def committed(*packages: str) -> set[str]:
    """Return the files of packages, as Git knows them."""
    listing = subprocess.run(["git", "ls-files", *packages], cwd=ROOT, capture_output=True, text=True, check=True)
    return {name for name in listing.stdout.split() if (ROOT / name).exists()}


def test_sdk_is_the_package_alone(distributions: Distributions) -> None:
    about_project = {"forkpoint/pyproject.toml", "forkpoint/README.md", "forkpoint/LICENSE"}
    # A package of npm.
    for_node = committed("forkpoint/node")
    assert files(distributions.wheel(SDK)) == committed("forkpoint") - about_project - for_node


def test_server_has_its_packages_and_the_built_interface(distributions: Distributions) -> None:
    contents = files(distributions.wheel(SERVER))
    interface = {name for name in contents if name.startswith("cockpit/frontend/")}
    built = {path.relative_to(ROOT / "frontend/dist") for path in (ROOT / "frontend/dist").rglob("*") if path.is_file()}
    assert "cockpit/frontend/index.html" in interface, "not built: run make .make/frontend"
    assert interface == {f"cockpit/frontend/{path}" for path in built}
    assert contents - interface == committed(*_SERVER_PACKAGES)


def test_no_file_is_in_both(distributions: Distributions) -> None:
    assert files(distributions.wheel(SDK)) & files(distributions.wheel(SERVER)) == set()


def test_server_needs_the_sdk_of_its_version_and_the_sdk_needs_nothing(distributions: Distributions) -> None:
    sdk, server = metadata(distributions.wheel(SDK)), metadata(distributions.wheel(SERVER))
    # Only extras need something: one replaces the clock, one dials the server.
    assert all("; extra == " in requirement for requirement in sdk.get_all("Requires-Dist", []))
    assert f"forkpoint=={sdk['Version']}" in server.get_all("Requires-Dist", [])
    assert server["Version"] == sdk["Version"] == settings.VERSION


def test_each_has_the_license(distributions: Distributions) -> None:
    text = (ROOT / "LICENSE").read_bytes()
    for name in (SDK, SERVER):
        archive = ZipFile(distributions.wheel(name))
        assert [archive.read(path) for path in archive.namelist() if path.endswith("/licenses/LICENSE")] == [text]


def test_sources_have_no_tests_and_no_environment(distributions: Distributions) -> None:
    for name in (SDK, SERVER):
        with tarfile.open(distributions.source(name)) as archive:
            paths = [re.sub(r"^[^/]+/", "", path) for path in archive.getnames()]
        assert not [path for path in paths if path.startswith(("tests", ".venv", ".make", "docs"))]


def test_locks_leave_the_sdk_to_its_folder() -> None:
    """The name `forkpoint` in a lock file would install whatever an index has under this name."""
    for lock in ROOT.glob("requirements*.lock"):
        assert not re.search(r"^forkpoint", lock.read_text("utf-8"), re.M), lock.name


def test_development_tools_are_no_extras_of_the_server() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert set(project["optional-dependencies"]) == {"grpc", "pii", "s3", "semantic"}
