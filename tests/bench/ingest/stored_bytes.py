"""Bytes that recordings take in the store."""

import json
from datetime import UTC, datetime

from django.db import connection

from tests.bench.recordings import small_runs
from tests.support.arriving_events import Event, event, lines
from traces.models import Recording
from traces.recordings import arrivals, assembler
from traces.recordings.arrivals import NewSegment
from traces.runs import services

_RUNS = 400


def stored_bytes() -> int:
    """Return the size of the database."""
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            cursor.execute("SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()")
        else:
            cursor.execute("SELECT pg_database_size(current_database())")
        return int(cursor.fetchone()[0])


def share_of_imported_runs() -> float:
    """Return the stored bytes of small imported runs, in percent of their payloads as JSON."""
    runs = small_runs(_RUNS)
    size = sum(len(json.dumps([[step.input, step.output] for step in run.steps])) for run in runs)
    before = stored_bytes()
    services.record_all(runs)
    return 100 * (stored_bytes() - before) / size


def share_of_arriving_runs() -> float:
    """Return the stored bytes of small runs that arrive as canonical events, in percent of what came in."""
    size, before = 0, stored_bytes()
    for number in range(_RUNS):
        name = f"arriving-{number}"
        data = lines(_events(name, number))
        size += len(data)
        arrivals.accept([NewSegment(external_id=name, format="forkpoint", data=data, is_final=True)])
    Recording.objects.filter(due_at__isnull=False).update(due_at=datetime(2026, 1, 1, tzinfo=UTC))
    while assembler.work():
        pass
    return 100 * (stored_bytes() - before) / size


def _events(run: str, number: int) -> list[Event]:
    """Build the events of a run in which a customer asks, a tool looks the order up, and a model answers."""
    order, call_id = f"A-{number:06}", f"call-{number}"
    question = {"role": "user", "content": f"Where is my order {order}? I am waiting since week {number % 53}."}
    call = {"id": call_id, "name": "get_order", "arguments": {"order_id": order}}
    request = {"role": "assistant", "content": None, "tool_calls": [call]}
    result = {"order_id": order, "status": "shipped", "carrier": f"Carrier {number % 17}"}
    message = {"role": "tool", "tool_call_id": call_id, "content": json.dumps(result)}
    answer = {"role": "assistant", "content": f"Your order {order} is shipped."}
    model = {"provider": "openai", "model_id": "gpt-4o"}
    return [
        event(run, 0, "run_started", name=f"Customer {number}", app_id="bench"),
        event(run, 1, "model_called", "ask", request={"messages": [question]}, **model),
        event(run, 2, "model_result", "ask", response={"message": request}),
        event(run, 3, "tool_called", "look", tool_name="get_order", call_id=call_id, args=call["arguments"]),
        event(run, 4, "tool_result", "look", result=result),
        event(run, 5, "model_called", "tell", request={"messages": [question, request, message]}, **model),
        event(run, 6, "model_result", "tell", response={"message": answer}),
        event(run, 7, "run_completed", output=answer["content"]),
    ]
