"""Packs that were damaged, or could not be written: only what was hit is lost, and an import restores it."""

from pathlib import Path

import pytest

from tests.faults import packs
from tests.services.server import Server

pytestmark = pytest.mark.own_store
_DAMAGES = len(packs.PACK_DAMAGES) + len(packs.FILE_DAMAGES)


@pytest.fixture
def server(tmp_path: Path) -> Server:
    return Server(tmp_path / "home", "--no-demo", env={"FORKPOINT_QUIET_S": "0.5"})


def test_only_damaged_packs_are_lost_and_an_import_restores_them(server: Server) -> None:
    traces = dict(packs.trace_of(number) for number in range(_DAMAGES + 1))
    server.start()
    try:
        packs.send_all(server, list(traces.values()))
        runs = packs.sealed_runs(server, len(traces))
    finally:
        server.kill()
    assert packs.lost_artifacts(server.home) == {}
    *damaged_runs, intact_run = (runs[trace] for trace in traces)
    damages = packs.damage(server.home, damaged_runs)
    lost = packs.lost_artifacts(server.home)
    for damage in damages:
        assert damage.explains(lost), (damage, lost)
    assert lost.keys() <= {digest for damage in damages for digest in damage.users}
    server.start()
    try:
        for damage in damages:
            is_lost = packs.unreadable_steps(server, damage.run)
            assert any(is_lost.values()), damage.kind
            # The large result has a pack of its own.
            assert damage.kind in packs.PACK_DAMAGES or not all(is_lost.values())
        assert not any(packs.unreadable_steps(server, intact_run).values())
    finally:
        server.kill()
    packs.restore(server.home, list(traces.values()))
    assert packs.lost_artifacts(server.home) == {}


def test_a_killed_server_leaves_no_part_of_a_pack(server: Server) -> None:
    server.start()
    try:
        traces = packs.kill_while_packing(server, kills=3)
        runs = packs.sealed_runs(server, len(traces))
        assert sorted(runs) == sorted(traces)
        assert not any(any(packs.unreadable_steps(server, run).values()) for run in runs.values())
    finally:
        server.kill()
    assert packs.lost_artifacts(server.home) == {}


def test_a_full_disk_refuses_what_it_cannot_store(server: Server) -> None:
    traces = dict(packs.trace_of(number) for number in range(8))
    first, *others = traces.values()
    server.start()
    try:
        packs.send_all(server, [first])
        statuses = packs.fill_disk(server, others, seconds=3)
        assert packs.are_refused_properly(statuses), statuses
        packs.send_all(server, list(traces.values()))
        runs = packs.sealed_runs(server, len(traces))
        assert runs.keys() == traces.keys()
        assert not any(any(packs.unreadable_steps(server, run).values()) for run in runs.values())
    finally:
        server.kill()
    assert packs.lost_artifacts(server.home) == {}
