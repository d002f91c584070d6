"""The limits of the layout: lines in a file, modules in a folder, and names that stay inside their module."""

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
APPS: Final = ("cockpit", "replay", "diffing", "traces", "forkpoint")
MOST_LINES: Final = 400
MOST_MODULES: Final = 13


def modules(*folders: str) -> Iterator[Path]:
    for folder in folders:
        yield from (path for path in sorted((ROOT / folder).rglob("*.py")) if "migrations" not in path.parts)


def test_files_are_short() -> None:
    lines = {path: len(path.read_text().splitlines()) for path in modules(*APPS, "tests")}
    assert {str(path.relative_to(ROOT)): n for path, n in lines.items() if n > MOST_LINES} == {}


def test_folders_have_few_modules() -> None:
    counts = Counter(path.parent for path in modules(*APPS) if path.name != "__init__.py")
    assert {str(folder.relative_to(ROOT)): n for folder, n in counts.items() if n > MOST_MODULES} == {}


def test_root_of_the_replay_app_has_no_features() -> None:
    root = ROOT / "replay"
    assert {path.stem for path in root.glob("*.py")} - {"__init__"} == {"apps", "tasks", "urls"}


def test_no_module_imports_private_names() -> None:
    assert [text for path in modules(*APPS) for text in private_imports(path)] == []


def private_imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] in APPS:
            yield from (f"{path.name}: {alias.name}" for alias in node.names if alias.name.startswith("_"))
