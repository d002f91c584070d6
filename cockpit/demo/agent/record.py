"""Create the demo's recordings: `python -m cockpit.demo.agent.record`.

Every scenario really runs: the desk calls the local model over HTTP, and the SDK records the run.
"""

from pathlib import Path

from cockpit.demo.agent import APP
from cockpit.demo.agent.desk import answer
from cockpit.demo.agent.scenarios import ENVIRONMENT, RECORDINGS, SCENARIOS, Scenario
from cockpit.demo.local_model import server
from forkpoint import Recorder


def record(scenario: Scenario, file: Path, base_url: str) -> str:
    """Run one scenario and record it to a file; return the desk's last answer."""
    recorder = Recorder(file, app=APP, environment=ENVIRONMENT)
    facts = {"scenario": scenario.slug, "model_is": "a local deterministic program, not an LLM"}
    desk = answer(scenario.conversation, recorder=recorder, base_url=base_url, metadata=facts)
    if not recorder.flush() or recorder.dropped_events:
        raise RuntimeError(f"{scenario.slug} was not recorded completely")
    return desk.answer


def main() -> None:
    """Record all scenarios again."""
    RECORDINGS.mkdir(exist_ok=True)
    base_url = server.start()
    for scenario in SCENARIOS:
        file = RECORDINGS / f"{scenario.slug}.jsonl"
        file.unlink(missing_ok=True)
        text = record(scenario, file, base_url)
        print(f"{scenario.slug}: {text}")  # noqa: T201 - the command's output
    server.stop()


if __name__ == "__main__":
    main()
