from replay.execution.derived_run.step_rows import metadata
from replay.models import ReplaySession
from traces.core.ids import new_id
from traces.models import Run


def test_fork_keeps_the_input_of_its_agent() -> None:
    source = Run(id=new_id(), metadata={"input": {"question": "Where is it?"}})
    session = ReplaySession(id=new_id(), source_run=source)
    assert metadata(session)["input"] == {"question": "Where is it?"}
