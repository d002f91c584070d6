"""How the calls of a recording are found."""

from replay.reruns.core.recorded_calls import RecordedCalls, RecordedRequest


def call(no: int, ref: str, sent_digest: str, *, model: str = "m1", api: str = "") -> RecordedRequest:
    kind = {"api": api} if api else {}
    return RecordedRequest(no=no, request={}, strict={"model": model, **kind}, ref=ref, sent_digest=sent_digest)


def numbers(*calls: RecordedRequest) -> dict[str, list[int]]:
    found = RecordedCalls(calls).by_sent_digest
    return {digest: [request.no for request in requests] for digest, requests in found.items()}


def test_equal_bytes_are_equal_requests() -> None:
    assert numbers(call(1, "r1", "d1"), call(2, "r2", "d2"), call(3, "r1", "d1")) == {"d1": [1, 3], "d2": [2]}


def test_bytes_say_nothing_where_equal_requests_have_others() -> None:
    assert numbers(call(1, "r1", "d1"), call(2, "r1", "d2"), call(3, "r3", "d3")) == {"d3": [3]}
    assert numbers(call(1, "r1", ""), call(2, "r1", "d1")) == {}


def test_bytes_say_nothing_where_they_were_stored_as_other_requests() -> None:
    """A policy of redaction changed between the two calls."""
    assert numbers(call(1, "r1", "d1"), call(2, "r2", "d1"), call(3, "r3", "d1"), call(4, "r4", "d4")) == {"d4": [4]}
    assert numbers(call(1, "r1", "d1"), call(2, "r1", "d1", model="m2")) == {}


def test_calls_without_a_model_are_apart() -> None:
    calls = RecordedCalls([call(1, "r1", "d1"), call(2, "r2", "d2", api="openai.embeddings")])
    assert [request.no for request in calls.of_kind("").requests] == [1]
    assert [request.no for request in calls.of_kind("openai.embeddings").requests] == [2]


def test_ids_are_found_as_words() -> None:
    request = RecordedRequest(
        no=1, request={"input": ["Order ord_7f3a, customer C-10042.", "a" * 1_000_000]}, strict={}
    )
    calls = RecordedCalls([request])
    assert calls.contains("ord_7f3a")
    assert calls.contains("C-10042")
    assert not calls.contains("10042")
    assert not calls.contains("customer")


def test_equal_calls_are_rivals_where_several_threads_made_them() -> None:
    def rivals(*calls: tuple[float, float, str]) -> list[list[int]]:
        requests = [
            RecordedRequest(
                no=no,
                request={},
                strict={},
                start_s=start_s,
                end_s=end_s,
                answer=answer,
                has_failed=answer.startswith("HTTP"),
            )
            for no, (start_s, end_s, answer) in enumerate(calls, 1)
        ]
        recorded_calls = RecordedCalls(requests)
        return [[*recorded_calls.rivals_of(request)] for request in requests]

    assert rivals((0, 2, "a"), (1, 3, "b")) == [[1, 2], [1, 2]]
    assert rivals((0, 2, "a"), (1, 3, "a")) == [[], []]
    # One after another: in their order, as those of an agent that polls or that repeats a call which failed.
    assert rivals((0, 1, "a"), (1, 2, "b")) == [[], []]
    assert rivals((0, 2, "HTTP 429"), (1, 3, "b")) == [[1, 2], [1, 2]]
    assert rivals((0, 1, "HTTP 429"), (1, 2, "HTTP 500"), (2, 3, "b")) == [[], [], []]
    # Two threads, one of which had to repeat its call.
    assert rivals((0, 2, "a"), (1, 2, "HTTP 429"), (3, 4, "a")) == [[1, 2, 3]] * 3


def test_equal_calls_are_rivals_though_only_other_calls_were_open_at_once() -> None:
    def request(no: int, start_s: float, end_s: float, text: str) -> RecordedRequest:
        return RecordedRequest(no=no, request={"t": text}, strict={}, start_s=start_s, end_s=end_s, answer=f"a{no}")

    equal_calls = [request(1, 1, 2, "same"), request(2, 3, 4, "same")]
    meanwhile, later = request(3, 1.5, 3.5, "other"), [request(3, 5, 7, "x"), request(4, 6, 8, "y")]
    assert RecordedCalls([*equal_calls, meanwhile]).rivals_of(equal_calls[0]) == (1, 2)
    assert RecordedCalls([*equal_calls, *later]).rivals_of(equal_calls[0]) == ()


def test_equal_calls_of_one_thread_are_in_order_and_those_of_two_are_not() -> None:
    """However they lie in time: threads take turns by chance."""

    def rivals(*lanes: str) -> list[int]:
        requests = [
            RecordedRequest(no=no, request={}, strict={}, start_s=no, end_s=no + 0.5, answer=f"a{no}", lane=lane)
            for no, lane in enumerate(lanes, 1)
        ]
        meanwhile = RecordedRequest(no=9, request={"t": "other"}, strict={}, start_s=1, end_s=3, lane="7-3")
        return [*RecordedCalls([*requests, meanwhile]).rivals_of(requests[0])]

    assert rivals("7-1", "7-1") == []
    assert rivals("7-1", "7-2") == [1, 2]
    assert rivals("7-1", "") == [1, 2]
    # One thread does the jobs of its pool one after the other.
    assert rivals("7-1/1", "7-1/2") == []
