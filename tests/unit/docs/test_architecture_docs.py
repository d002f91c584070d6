"""ARCHITECTURE.md lists every package; it and the page that goes on from it name only files that exist."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "ARCHITECTURE.md").read_text("utf-8")
APPS = ("replay", "diffing", "traces", "cockpit", "forkpoint")


@pytest.mark.parametrize("app", APPS)
def test_tree_lists_every_package(app: str) -> None:
    section = re.search(rf"^{app}/.*?(?=^\w+/)", PAGE, re.M | re.S)
    assert section is not None
    packages = {path.parent.name for path in (ROOT / app).glob("*/__init__.py")} - {"migrations"}
    assert packages - {*re.findall(r"\w+", section[0])} == set()


def test_named_files_exist() -> None:
    text = PAGE + (ROOT / "docs/how-it-works.md").read_text("utf-8")
    files = set(re.findall(r"`([\w/]+/\w+\.py)`", text))
    assert len(files) > 20
    assert {file for file in files if not any((ROOT / app / file).exists() for app in ("", *APPS))} == set()
