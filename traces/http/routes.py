"""Routes to views that are imported when they are used."""

from collections.abc import Callable, Iterable
from functools import cached_property
from typing import Any, cast

from django.http.response import HttpResponseBase
from django.urls import URLPattern, URLResolver
from django.urls.resolvers import RoutePattern
from django.utils.module_loading import import_string


class Route(URLPattern):
    """Like `django.urls.path`, with the dotted name of a view's class, which the first request to it imports.

    A command sends a few requests and ends, so that imports of all views would take most of its time.
    """

    def __init__(self, route: str, view: str) -> None:
        super().__init__(RoutePattern(route, is_endpoint=True), callback=cast(Any, None))
        # As long as it is not set, it is computed.
        del self.callback
        self._view = view

    @cached_property
    def callback(self) -> Callable[..., HttpResponseBase]:  # type: ignore[override]  # the base class sets it
        """The view; raise `ImportError` if there is none of this name."""
        view: Callable[..., HttpResponseBase] = import_string(self._view).as_view()
        return view


def load(routes: Iterable[URLPattern | URLResolver]) -> None:
    """Import all views of routes now."""
    for route in routes:
        if isinstance(route, URLResolver):
            load(route.url_patterns)
        else:
            _ = route.callback
