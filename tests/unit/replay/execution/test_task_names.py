"""Task names: each queued name belongs to a task."""

from cockpit.celery import app
from diffing import services as diffing
from replay.execution import task_names


def test_queued_names_are_registered_tasks() -> None:
    names = {value for name, value in vars(task_names).items() if name.isupper()}
    app.loader.import_default_modules()
    assert names
    assert {*names, diffing._COMPUTE} <= app.tasks.keys()
