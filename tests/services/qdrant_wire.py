"""Qdrant's REST interface as Qdrant writes it down: the models and the client that it generates from its interface."""

import importlib
import sys
import types
from pathlib import Path
from typing import Any


def models(packages: Path) -> Any:
    """The generated models alone, without the numpy and gRPC that the package around them loads."""
    hollow = {name: packages / name.replace(".", "/") for name in ("qdrant_client", "qdrant_client.http")}
    for name, folder in hollow.items():
        _stand_in(name, __path__=[str(folder)])
    _stand_in("qdrant_client._numpy_vectors", NumpyVectorsToLists=None)
    return importlib.import_module("qdrant_client.http.models.models")


def client(packages: Path, url: str, key: str) -> Any:
    """The official client for REST."""
    models(packages)
    generated = importlib.import_module("qdrant_client.http.api_client")
    return generated.SyncApis(url, headers={"api-key": key} if key else {})


def _stand_in(name: str, **contents: object) -> None:
    module = types.ModuleType(name)
    vars(module).update(contents)
    sys.modules.setdefault(name, module)
