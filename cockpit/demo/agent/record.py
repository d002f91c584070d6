"""Create the demo's recordings: `python -m cockpit.demo.agent.record`.

Every scenario really runs: the desk calls the local model over HTTP, and the SDK records the run.
"""

from pathlib import Path

from openai import OpenAI

from cockpit.demo.agent.desk import Desk
from cockpit.demo.agent.scenarios import APP, RECORDINGS, SCENARIOS, Scenario
from cockpit.demo.local_model import server
from forkpoint import Recorder


def record(scenario: Scenario, file: Path, base_url: str) -> str:
    """Run one scenario and record it to a file; return the desk's last answer."""
    recorder = Recorder(file, app=APP, environment="demo")
    with OpenAI(api_key="none", base_url=base_url, max_retries=0) as client:
        facts = {"scenario": scenario.slug, "model_is": "a local deterministic program, not an LLM"}
        with recorder.run(
            scenario.user_messages[0], input=list(scenario.user_messages), tags=["demo"], metadata=facts
        ) as run:
            desk = Desk(client=client, recorder=recorder, model=scenario.model, provider="local")
            run.output = desk.handle(list(scenario.user_messages), with_tools=scenario.with_tools)
            if desk.problem:
                run.fail(desk.problem)
    if not recorder.flush() or recorder.dropped_events:
        raise RuntimeError(f"{scenario.slug} was not recorded completely")
    return str(run.output)


def main() -> None:
    """Record all scenarios again."""
    RECORDINGS.mkdir(exist_ok=True)
    base_url = server.start()
    for scenario in SCENARIOS:
        file = RECORDINGS / f"{scenario.slug}.jsonl"
        file.unlink(missing_ok=True)
        answer = record(scenario, file, base_url)
        print(f"{scenario.slug}: {answer}")  # noqa: T201 - the command's output
    server.stop()


if __name__ == "__main__":
    main()
