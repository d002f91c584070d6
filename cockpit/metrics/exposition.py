"""The text format of Prometheus. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
_ESCAPES: Final = str.maketrans({"\\": r"\\", "\n": r"\n", '"': r"\""})


@dataclass(frozen=True, kw_only=True, slots=True)
class Sample:
    """A value of a metric; `suffix` is that of its name, such as `_count`."""

    value: float
    labels: Mapping[str, str] = field(default_factory=dict)
    suffix: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Metric:
    """A metric with its samples."""

    name: str
    help: str
    type: Literal["counter", "gauge", "histogram"]
    samples: Sequence[Sample]


def render(metrics: Iterable[Metric]) -> str:
    """Return metrics as text, one sample per line."""
    return "".join(line + "\n" for metric in metrics for line in _lines(metric))


def _lines(metric: Metric) -> Iterable[str]:
    yield f"# HELP {metric.name} {metric.help}"
    yield f"# TYPE {metric.name} {metric.type}"
    for sample in metric.samples:
        labels = ",".join(f'{name}="{text.translate(_ESCAPES)}"' for name, text in sample.labels.items())
        braces = f"{{{labels}}}" if labels else ""
        yield f"{metric.name}{sample.suffix}{braces} {sample.value:.15g}"
