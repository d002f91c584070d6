"""The pages name every environment variable that a user may set, and no other."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[3]
README = (ROOT / "README.md").read_text("utf-8")
SETTINGS = (ROOT / "cockpit" / "settings.py").read_text("utf-8")
FOLDERS = ("cockpit", "replay", "diffing", "traces", "forkpoint")
VARIABLE = re.compile(r"\bFORKPOINT_[A-Z_]*[A-Z]\b")
# The commands set them for the programs that they start.
INTERNAL = {f"FORKPOINT_{name}" for name in ("FREEZE", "GATEWAY_RUN", "HOSTS", "MARK", "RECORD", "SEED", "STEP")}


def names(*paths: Path) -> set[str]:
    return {name for path in paths for name in VARIABLE.findall(path.read_text("utf-8"))}


def table() -> dict[str, str]:
    """Return the defaults in the README's table by variable; empty where it describes the default in words."""
    defaults: dict[str, str] = {}
    for first, last in re.findall(r"^\| ([^|]*`[A-Z][^|]*) \|[^|]*\| ([^|]*) \|$", README, re.M):
        variables, values = re.findall(r"`([A-Z_]+)`", first), re.findall(r"`([^`]+)`", last)
        defaults.update(zip(variables, values if len(values) == len(variables) else [""] * len(variables), strict=True))
    return defaults


def test_pages_name_the_variables_of_the_code() -> None:
    files = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*") if path.suffix in {".py", ".js"}]
    code = names(*(path for path in files if "node_modules" not in path.parts))
    pages = names(ROOT / "README.md", *(ROOT / "docs").glob("*.md"))
    assert pages - code == set()
    assert code - pages == INTERNAL


def test_readme_lists_the_settings_with_their_defaults() -> None:
    settings = dict(re.findall(r'"(FORKPOINT_[A-Z_]+|[A-Z]+_URL)"(?:, default="([^"]*)")?', SETTINGS))
    assert len(settings) > 20
    shown = table()
    assert settings.keys() - shown.keys() == set()
    differing = {name for name, default in settings.items() if default and shown[name] not in {"", default.lower()}}
    assert differing == set()
