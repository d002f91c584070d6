"""Call a function for a module: at once if it is imported already, else right after its import."""

import importlib.machinery
import logging
import sys
from collections.abc import Callable, Sequence
from importlib.abc import Loader, MetaPathFinder
from types import ModuleType
from typing import Any

_log = logging.getLogger("forkpoint")
Patch = Callable[[ModuleType], None]


class ImportHook(MetaPathFinder):
    """Finds modules as Python does, and applies a patch to those that are registered."""

    def __init__(self) -> None:
        self._patches: dict[str, Patch] = {}

    def register(self, name: str, patch: Patch) -> None:
        """Apply `patch` to a module, once. Registering a module again does nothing."""
        if name in self._patches:
            return
        self._patches[name] = patch
        if self not in sys.meta_path:
            sys.meta_path.insert(0, self)
        module = sys.modules.get(name)
        # A module that is being imported right now may lack what the patch needs.
        if module is not None and not getattr(module.__spec__, "_initializing", False):
            self.apply(module)

    def apply(self, module: ModuleType) -> None:
        """Patch a module. A library that changed too much is reported and left alone."""
        try:
            self._patches[module.__name__](module)
        except Exception as error:  # noqa: BLE001 - the agent's import must succeed
            _log.warning("Calls of %s are not recorded: %s: %s", module.__name__, type(error).__name__, error)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname not in self._patches:
            return None
        for finder in sys.meta_path:
            if finder is self or not hasattr(finder, "find_spec"):
                continue
            if (spec := finder.find_spec(fullname, path, target)) is not None:
                if spec.loader is not None:
                    spec.loader = _PatchLoader(spec.loader, self)
                return spec
        return None


class _PatchLoader(Loader):
    """The module's own loader, followed by the patch."""

    def __init__(self, loader: Loader, hook: ImportHook) -> None:
        self._loader = loader
        self._hook = hook

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        self._loader.exec_module(module)
        self._hook.apply(module)

    def __getattr__(self, name: str) -> Any:
        """Answer for sources and resources as the module's own loader does: tracebacks and `inspect` ask for them."""
        return getattr(self._loader, name)


hook = ImportHook()
