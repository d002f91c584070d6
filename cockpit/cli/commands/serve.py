"""`serve` and `token create`: the server of the local store."""

import os
from typing import get_args

from cockpit.cli import in_process, output
from cockpit.cli.errors import Exit, Failure, exit_for


def run(*, host: str | None, port: int | None, demo: bool | None) -> None:
    """Serve until stopped. The local model starts first, because unfinished replays may need it.

    Without `demo`, the demo is loaded unless it was loaded before: what users have deleted stays deleted.
    """
    if host is not None:
        os.environ["FORKPOINT_HOST"] = host
    if port is not None:
        os.environ["FORKPOINT_PORT"] = str(port)
    in_process.set_up()
    from django.db import OperationalError

    from cockpit.demo.local_model import provider
    from cockpit.demo.service import Demo
    from cockpit.serving.serve import ServeError, serve

    if demo is not False:
        provider.start()
    try:
        serve(None if demo is False else Demo(restores_deleted=demo is True))
    except ServeError as error:
        raise Failure(str(error)) from error
    except OperationalError as error:
        raise Failure(f"cannot open the database: {error}", exit=Exit.UNAVAILABLE) from error
    finally:
        provider.stop()


def create_token(name: str, *, role: str, json: bool) -> None:
    """Create a token in the local store."""
    with in_process.open_store():
        from cockpit.http import tokens
        from cockpit.http.schemas import Role
        from traces.errors import ProblemError

        role_name = next((candidate for candidate in get_args(Role) if candidate == role), None)
        if role_name is None:
            raise Failure(f"“{role}” is not a role: choose {', '.join(get_args(Role))}", exit=Exit.BAD_INPUT)
        try:
            secret = tokens.create(name=name, role=role_name)
        except ProblemError as problem:
            exit = exit_for(problem.code)
            raise Failure(problem.detail, exit=exit, code=problem.code, location=problem.where) from problem
    if json:
        output.document({"token": secret, "name": name, "role": role})
    else:
        output.people().print(secret, soft_wrap=True)
        output.note("Shown only once. Send it as `Authorization: Bearer …`, or set FORKPOINT_TOKEN.")
