"""Plans in memory, limited by weight and by age."""

from replay.planning.plan_cache import PlanCache


def test_plan_expires_with_age() -> None:
    now = 0.0
    plans: PlanCache[str] = PlanCache(capacity=10, seconds=60, clock=lambda: now)
    plans.store("a", "plan", weight=1)
    now = 59.0
    assert plans.get("a") == "plan"
    now = 60.0
    assert plans.get("a") is None


def test_least_recent_plans_make_room() -> None:
    plans: PlanCache[str] = PlanCache(capacity=10, seconds=60)
    plans.store("a", "first", weight=4)
    plans.store("b", "second", weight=4)
    assert plans.get("a") == "first"
    plans.store("c", "third", weight=6)
    assert (plans.get("a"), plans.get("b"), plans.get("c")) == ("first", None, "third")


def test_too_heavy_plan_displaces_nothing() -> None:
    plans: PlanCache[str] = PlanCache(capacity=10, seconds=60)
    plans.store("a", "light", weight=10)
    plans.store("b", "heavy", weight=11)
    assert (plans.get("a"), plans.get("b")) == ("light", None)


def test_replaced_plan_counts_once() -> None:
    plans: PlanCache[str] = PlanCache(capacity=10, seconds=60)
    plans.store("a", "old", weight=6)
    plans.store("a", "new", weight=6)
    plans.store("b", "other", weight=4)
    assert (plans.get("a"), plans.get("b")) == ("new", "other")
