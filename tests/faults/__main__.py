"""Long fault test: `python -m tests.faults [kills]`, with separate servers. A hundred kills take minutes."""

import sys
import time
from collections.abc import Callable

from tests.faults import packs, scenarios
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


def break_packs(kills: int) -> int:
    """Kill the embedded server while it packs, then let its disk be full for a while, and damage its packs."""
    server = Server(scratch_folder("fp-faults-") / "home", "--no-demo", env={"FORKPOINT_QUIET_S": "0.5"})
    server.start()
    try:
        traces = packs.kill_while_packing(server, kills=kills)
        others = dict(packs.trace_of(number) for number in range(2 * kills, 2 * kills + 20))
        statuses = packs.fill_disk(server, list(others.values()), seconds=10)
        packs.send_all(server, list(others.values()))
        runs = packs.sealed_runs(server, len(traces) + len(others))
    finally:
        server.kill()
    first_losses = packs.lost_artifacts(server.home)
    count = len(packs.PACK_DAMAGES) + len(packs.FILE_DAMAGES)
    damages = packs.damage(server.home, [runs[trace] for trace in list(others)[:count]])
    losses = packs.lost_artifacts(server.home)
    packs.restore(server.home, list(others.values()))
    problems = [
        *(f"lost before any damage: {digest}" for digest in first_losses),
        *([] if packs.are_refused_properly(statuses) else [f"statuses on a full disk: {statuses}"]),
        *(f"not found, or more than it: {damage}" for damage in damages if not damage.explains(losses)),
        *(f"not restored: {digest}" for digest in packs.lost_artifacts(server.home)),
    ]
    print(f"{kills} servers killed while they packed, {count} packs damaged, a full disk: {len(problems)} broken")
    for text in problems:
        print(text)
    return 1 if problems else 0


def main(kills: int) -> int:
    whole = {
        "workers killed": lambda: kill_workers(kills),
        "services broken": break_services,
        "embedded servers killed": kill_servers,
    }
    return max(
        kill_receivers(kills // 2), break_packs(kills // 10), *(_report(title, run) for title, run in whole.items())
    )


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
