"""Named views of the runs list: stored for everybody, changed by their owner."""

from typing import Final
from uuid import UUID

from django.db import IntegrityError, transaction

from traces.errors import NotFound, NotYours, ProblemError
from traces.http.idempotency import Key, make_once
from traces.models import SavedView

MAX_VIEWS: Final = 200
_NO_VIEW: Final = "this view was deleted"


class NameTaken(ProblemError):
    """A name that another view has."""

    code = "conflict"
    status = 409


class TooManyViews(ProblemError):
    """More views than a menu can show."""

    code = "conflict"
    status = 409


def create(*, name: str, query: str, by: str, key: Key | None = None) -> SavedView:
    """Store a view; raise `NameTaken` or `TooManyViews`. A repeated idempotency key returns the view that it stored."""

    def make() -> str:
        _check_name(name)
        if SavedView.objects.count() >= MAX_VIEWS:
            raise TooManyViews(f"there are {MAX_VIEWS} saved views already: delete one first")
        return str(_save(SavedView(name=name, query=query, owner=by)).id)

    view = SavedView.objects.filter(id=make_once("run view", key, [name, query], make)).first()
    if view is None:
        raise NotFound(_NO_VIEW)
    return view


def change(id: UUID, *, name: str | None, query: str | None, by: str, is_admin: bool) -> SavedView:
    """Rename a view or store another query; None leaves it as it is. Raise `NotFound`, `NotYours` or `NameTaken`."""
    with transaction.atomic():
        view = _own_view(id, by=by, is_admin=is_admin)
        if name is not None and name != view.name:
            _check_name(name)
            view.name = name
        if query is not None:
            view.query = query
        return _save(view)


def delete(id: UUID, *, by: str, is_admin: bool) -> None:
    """Delete a view; raise `NotFound` or `NotYours`."""
    with transaction.atomic():
        _own_view(id, by=by, is_admin=is_admin).delete()


def _own_view(id: UUID, *, by: str, is_admin: bool) -> SavedView:
    view = SavedView.objects.select_for_update().filter(id=id).first()
    if view is None:
        raise NotFound(_NO_VIEW)
    if view.owner != by and not is_admin:
        raise NotYours(f"this view belongs to {view.owner}: only its owner or an admin can change it")
    return view


def _check_name(name: str) -> None:
    if SavedView.objects.filter(name=name).exists():
        raise _name_conflict(name)


def _save(view: SavedView) -> SavedView:
    """Store the view; raise `NameTaken` if another request stored the name after the check."""
    try:
        with transaction.atomic():
            view.save()
    except IntegrityError as error:
        raise _name_conflict(view.name) from error
    return view


def _name_conflict(name: str) -> NameTaken:
    return NameTaken(f"there is already a view with the name “{name}”", where="/name")
