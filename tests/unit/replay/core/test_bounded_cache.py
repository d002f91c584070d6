"""Values in memory, limited by weight and by age."""

from replay.core.bounded_cache import BoundedCache


def test_value_expires_with_age() -> None:
    now = 0.0
    values: BoundedCache[str] = BoundedCache(capacity=10, seconds=60, clock=lambda: now)
    values.store("a", "value", weight=1)
    now = 59.0
    assert values.get("a") == "value"
    now = 60.0
    assert values.get("a") is None


def test_least_recent_values_make_room() -> None:
    values: BoundedCache[str] = BoundedCache(capacity=10, seconds=60)
    values.store("a", "first", weight=4)
    values.store("b", "second", weight=4)
    assert values.get("a") == "first"
    values.store("c", "third", weight=6)
    assert (values.get("a"), values.get("b"), values.get("c")) == ("first", None, "third")


def test_too_heavy_plan_displaces_nothing() -> None:
    values: BoundedCache[str] = BoundedCache(capacity=10, seconds=60)
    values.store("a", "light", weight=10)
    values.store("b", "heavy", weight=11)
    assert (values.get("a"), values.get("b")) == ("light", None)


def test_replaced_plan_counts_once() -> None:
    values: BoundedCache[str] = BoundedCache(capacity=10, seconds=60)
    values.store("a", "old", weight=6)
    values.store("a", "new", weight=6)
    values.store("b", "other", weight=4)
    assert (values.get("a"), values.get("b")) == ("new", "other")
