"""How the calls of an agent that runs again are answered."""

from collections.abc import Callable
from contextlib import AbstractContextManager

import pytest

from replay.models import Rerun
from replay.reruns import answers
from tests.support.agent_requests import first_request
from tests.support.replay_runs import order_desk
from traces.core.vocabulary import Label
from traces.models import Run
from traces.runs.services import record

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.once]


def test_recorded_call_is_answered_with_few_queries(
    django_assert_max_num_queries: Callable[[int], AbstractContextManager[object]],
) -> None:
    run = Run.objects.get(id=record(order_desk()).run_id)
    request = first_request(run)
    first, second = (Rerun.objects.create(source_run=run) for _ in range(2))
    answers.resolve(first.id, request)
    # The rerun and its source, the calls before this one, the step and its two payloads, the new call, the transaction.
    with django_assert_max_num_queries(12):
        assert answers.resolve(second.id, request).response is not None
    assert second.calls.get().label == Label.EXACT
