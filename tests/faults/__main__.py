"""Long fault test: `python -m tests.faults [kills]`, with separate servers. A hundred kills take minutes."""

import sys
import time
from collections.abc import Callable

from tests.faults import scenarios
from tests.faults.deployment import celery
from tests.faults.desk import desk_server
from tests.faults.ingestion import kill_while_receiving
from tests.services.processes import scratch_folder
from tests.services.server import Server

KILLS_PER_SESSION = 2.5


def kill_workers(kills: int) -> scenarios.Outcome:
    """Kill this many workers at random while sessions keep them busy."""
    sessions = max(2, round(kills / KILLS_PER_SESSION))
    home = scratch_folder("fp-faults-") / "home"
    services = scenarios.own_services().environment
    with desk_server() as desk, scenarios.run_distributed(home, desk, services, sessions) as deployment:
        return scenarios.kill_workers(deployment, desk, kills=kills, sessions=sessions)


def break_services() -> scenarios.Outcome:
    """Stop and kill Redis and PostgreSQL in turn, six times during the same replays."""
    home, servers = scratch_folder("fp-faults-") / "home", scenarios.own_services()
    faults = [servers.kill_redis, servers.restart_postgres, servers.kill_postgres] * 2
    with (
        desk_server() as desk,
        scenarios.run_distributed(home, desk, servers.environment, 20) as deployment,
        celery(deployment.env, home),
    ):
        return scenarios.break_service(deployment, desk, faults, sessions=20)


def kill_servers() -> scenarios.Outcome:
    """Kill the embedded server on SQLite ten times."""
    home = scratch_folder("fp-faults-") / "home"
    with desk_server() as desk, scenarios.run_embedded(home, desk, 12) as (server, deployment):
        return scenarios.kill_server(server, deployment, desk, kills=10, sessions=12)


def kill_receivers(kills: int) -> int:
    """Kill the embedded server while agents send spans to it."""
    server = Server(scratch_folder("fp-faults-") / "home", "--no-demo", env={"FORKPOINT_QUIET_S": "1"})
    server.start()
    try:
        outcome = kill_while_receiving(server, kills=kills)
    finally:
        server.kill()
    broken = len(outcome.problems)
    print(f"{outcome.kills} servers killed while {outcome.traces} traces arrived: {broken} broken")
    for text in outcome.problems:
        print(text)
    return 1 if outcome.problems else 0


def main(kills: int) -> int:
    whole = {
        "workers killed": lambda: kill_workers(kills),
        "services broken": break_services,
        "embedded servers killed": kill_servers,
    }
    return max(kill_receivers(kills // 2), *(_report(title, run) for title, run in whole.items()))


def _report(title: str, run: Callable[[], scenarios.Outcome]) -> int:
    began = time.monotonic()
    outcome = run()
    print(
        f"{outcome.faults} {title} in {time.monotonic() - began:.0f} s over {outcome.sessions} replays with "
        f"{outcome.calls} live calls, {outcome.questions} of them asked about: {len(outcome.broken)} broken"
    )
    for text in outcome.broken:
        print(text)
    return 1 if outcome.broken else 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 100))
