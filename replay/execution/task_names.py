"""Names of Celery tasks, so that queueing work does not import the modules that do it."""

from typing import Final

EXECUTE: Final = "replay.tasks.execute"
PROVE: Final = "replay.tasks.prove"
COMPARE: Final = "replay.tasks.compare"
TRY_OUT: Final = "replay.tasks.try_out"
SIGN_CALLS: Final = "replay.tasks.sign_calls"
EXPORT_LANGFUSE: Final = "replay.tasks.export_langfuse"
