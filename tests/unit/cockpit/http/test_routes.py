"""Routes to views that are imported when they are used."""

from collections.abc import Iterable, Iterator
from importlib import import_module
from typing import Final

from django.urls import URLPattern, URLResolver, get_resolver
from rest_framework.views import APIView

PACKAGES: Final = ("traces.", "diffing.", "replay.", "cockpit.")


def test_server_imports_the_view_of_every_route() -> None:
    import_module("cockpit.asgi")
    assert [route for route in _flat(get_resolver().url_patterns) if "callback" not in vars(route)] == []


def test_every_view_has_a_route() -> None:
    routed_views = {getattr(route.callback, "cls", None) for route in _flat(get_resolver().url_patterns)}
    views = {view for view in _leaves(APIView) if view.__module__.startswith(PACKAGES)}
    # A function that imports it leads to the view of the schema.
    assert {view.__name__ for view in views - routed_views} <= {"SchemaView"}


def _flat(routes: Iterable[URLPattern | URLResolver]) -> Iterator[URLPattern]:
    for route in routes:
        if isinstance(route, URLResolver):
            yield from _flat(route.url_patterns)
        else:
            yield route


def _leaves(view: type[APIView]) -> Iterator[type[APIView]]:
    subclasses = view.__subclasses__()
    if not subclasses:
        yield view
    for subclass in subclasses:
        yield from _leaves(subclass)
