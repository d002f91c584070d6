"""Patches of modules: right after their import, or at once if they are imported already."""

import importlib
import inspect
import logging
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from forkpoint.capture.import_hook import ImportHook
from forkpoint.capture.patching import wrap


@pytest.fixture
def hook(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ImportHook]:
    (tmp_path / "patched_library.py").write_text("def answer():\n    return 41\n")
    monkeypatch.syspath_prepend(tmp_path)
    importlib.invalidate_caches()
    hook = ImportHook()
    yield hook
    if hook in sys.meta_path:
        sys.meta_path.remove(hook)
    sys.modules.pop("patched_library", None)


def add_one(module: ModuleType) -> None:
    wrap(module, "answer", lambda answer: lambda: answer() + 1)


def test_module_is_patched_after_import(hook: ImportHook) -> None:
    hook.register("patched_library", add_one)
    assert "patched_library" not in sys.modules
    module = importlib.import_module("patched_library")
    assert module.answer() == 42
    assert "return 41" in inspect.getsource(module)


def test_imported_module_is_patched_once(hook: ImportHook) -> None:
    module = importlib.import_module("patched_library")
    hook.register("patched_library", add_one)
    hook.register("patched_library", add_one)
    hook.apply(module)
    assert module.answer() == 42


def test_failing_patch_leaves_module_alone(hook: ImportHook, caplog: pytest.LogCaptureFixture) -> None:
    hook.register("patched_library", lambda module: wrap(module, "renamed", lambda call: call))
    assert importlib.import_module("patched_library").answer() == 41
    assert [record.levelno for record in caplog.records] == [logging.WARNING]
    assert "Calls of patched_library are not recorded" in caplog.text
