"""When a recording is sealed, and how often it is assembled."""

from datetime import UTC, datetime, timedelta

import pytest

from traces.ingest.seal_times import Patience, next_refresh, seal_time

NOW = datetime(2026, 3, 1, tzinfo=UTC)
PATIENCE = Patience(quiet=timedelta(seconds=5), idle=timedelta(minutes=15))


@pytest.mark.parametrize(
    ("has_ended", "is_final", "wait"),
    [
        (False, False, timedelta(minutes=15)),
        (True, False, timedelta(seconds=5)),
        (False, True, timedelta()),
        (True, True, timedelta()),
    ],
)
def test_first_condition_seals(has_ended: bool, is_final: bool, wait: timedelta) -> None:
    assert seal_time(NOW, PATIENCE, has_ended=has_ended, is_final=is_final) == NOW + wait


@pytest.mark.parametrize(
    ("restart_s", "has_ended", "wait_s"),
    [(60, False, 65), (60, True, 5), (0, False, 5), (890, False, 895), (899, False, 900), (-1, False, 900)],
)
def test_restart_of_the_server_leaves_the_quiet_period(restart_s: int, has_ended: bool, wait_s: int) -> None:
    restart = NOW + timedelta(seconds=restart_s)
    time = seal_time(NOW, PATIENCE, has_ended=has_ended, is_final=False, interrupted_at=restart)
    assert time == NOW + timedelta(seconds=wait_s)


def test_assembly_takes_at_most_a_tenth_of_the_time() -> None:
    assert next_refresh(NOW, timedelta(seconds=1)) == NOW + timedelta(seconds=10)


def test_pause_between_assemblies_is_bounded() -> None:
    assert next_refresh(NOW, timedelta(minutes=5)) == NOW + timedelta(seconds=30)
