"""Large recordings: an order desk that serves one customer after another."""

from itertools import product
from random import Random

from tests.support.recordings import SYSTEM, assistant, assistant_call, model_step, tool_message, tool_step, user
from traces.core.json_types import JSONObject, JSONValue
from traces.core.recorded_run import RecordedRun, RecordedStep
from traces.core.vocabulary import StepType

STEPS_PER_CUSTOMER = 3


def desk(customers: int, external_id: str, *, changed_every: int = 0) -> RecordedRun:
    """Build three steps per customer. Every `changed_every`th customer gets a different tool result."""
    steps: list[RecordedStep] = []
    for number in range(customers):
        changed = changed_every and number % changed_every == 0
        steps += _customer_steps(number, "delayed" if changed else "shipped")
    return RecordedRun(
        external_id=external_id, name="A day at the desk", app="bench", format="bench", steps=tuple(steps)
    )


def small_runs(count: int) -> list[RecordedRun]:
    """Build runs of three steps with 1.3 kB of JSON each."""
    return [
        RecordedRun(
            external_id=f"customer-{number}",
            name=f"Customer {number}",
            app="bench",
            format="bench",
            steps=_customer_steps(number, "shipped"),
        )
        for number in range(count)
    ]


def _customer_steps(number: int, status: str) -> tuple[RecordedStep, ...]:
    order, call_id = f"A-{number:06}", f"call-{number}"
    request: list[JSONValue] = [SYSTEM, user(f"Where is my order {order}? I am waiting since week {number % 53}.")]
    call = assistant_call(call_id, order)
    result: JSONObject = {"order_id": order, "status": status, "carrier": f"Carrier {number % 17}"}
    followup: list[JSONValue] = [*request, call, tool_message(call_id, f'{{"order_id":"{order}","status":"{status}"}}')]
    return (
        model_step(f"ask-{number}", request, call),
        tool_step(f"look-{number}", call_id, order, result),
        model_step(f"tell-{number}", followup, assistant(f"Your order {order} is {status}.")),
    )


_WORDS = ("parcel", "refund", "carrier", "policy", "customer", "invoice", "address", "delivery", "warranty", "return")


def search_text(number: int) -> str:
    """Return a search text for a number, without digits, because numbers in texts must be equal to match."""
    places = [number // 10**place % 10 for place in range(5)]
    return "find what is said of the " + " and the ".join(_WORDS[place] for place in places)


def searches(count: int, external_id: str) -> RecordedRun:
    """Build a run that calls one tool many times with one free text."""
    steps = tuple(
        RecordedStep(
            key=f"search-{number}",
            type=StepType.TOOL,
            name="search",
            tool_name="search",
            input={"query": search_text(number)},
            output={"found": number},
        )
        for number in range(count)
    )
    return RecordedRun(external_id=external_id, name="Many searches", app="bench", format="bench", steps=steps)


def questions(count: int, external_id: str) -> RecordedRun:
    """Build a run of independent questions to a model."""
    steps = [
        model_step(
            f"q-{number}", [SYSTEM, user(f"Where is my order {number}?")], assistant(f"Order {number} is shipped.")
        )
        for number in range(count)
    ]
    return RecordedRun(external_id=external_id, name="Questions", app="bench", format="bench", steps=tuple(steps))


_RESULT_CHARACTERS = 200_000


def long_results(count: int, external_id: str, *, changed_every: int = 0) -> RecordedRun:
    """Build tool steps with results of 200 kB of prose. In each, every `changed_every`th word differs."""
    words = [f"{first[:3]}{second[:4]}{third[:3]}" for first, second, third in product(_WORDS, repeat=3)]
    steps = []
    for number in range(count):
        random = Random(number)
        shuffled = random.choices(words, k=_RESULT_CHARACTERS // 11)
        if changed_every:
            shuffled[::changed_every] = random.choices(words, k=len(shuffled[::changed_every]))
        sentences = (" ".join(shuffled[at : at + 12]).capitalize() for at in range(0, len(shuffled), 12))
        steps.append(tool_step(f"read-{number}", f"call-{number}", f"A-{number:06}", ". ".join(sentences)))
    return RecordedRun(external_id=external_id, name="Long results", app="bench", format="bench", steps=tuple(steps))


_ANSWER = (
    "Your order left our warehouse on {day} and is on its way with the northern parcel service. It usually takes three "
    "working days, and you get a message in the morning before it arrives. If nobody is at home, the driver leaves it "
    "with a neighbour or at the parcel shop in your street, where it is kept for a week."
)
_REWORDED_ANSWER = (
    "We handed your parcel to the carrier on {day}. Expect it within three working days; the carrier tells you on the "
    "day of delivery. Should you be out, look for it at a neighbour's or at the nearest parcel shop, which keeps it "
    "for seven days before it goes back to us."
)
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday")


def answers_in_prose(count: int, external_id: str, *, changed_every: int = 0) -> RecordedRun:
    """Build model steps that answer with a paragraph. Every `changed_every`th is reworded."""
    steps = []
    for number in range(count):
        changed = changed_every and number % changed_every == 0
        text = (_REWORDED_ANSWER if changed else _ANSWER).format(day=f"{_DAYS[number % 5]} of week {number}")
        request: list[JSONValue] = [SYSTEM, user(f"Where is order A-{number:06}?")]
        steps.append(model_step(f"tell-{number}", request, assistant(text)))
    return RecordedRun(external_id=external_id, name="A day in prose", app="bench", format="bench", steps=tuple(steps))
