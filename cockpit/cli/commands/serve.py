"""`serve` and `token create`: what concerns the server of this store itself."""

import os
from typing import get_args

from cockpit.cli import in_process, output
from cockpit.cli.errors import Exit, Failure


def run(*, host: str | None, port: int | None, demo: bool) -> None:
    """Serve until stopped. The local model is there before unfinished replays go on: they may need it."""
    if host is not None:
        os.environ["FORKPOINT_HOST"] = host
    if port is not None:
        os.environ["FORKPOINT_PORT"] = str(port)
    in_process.set_up()
    from cockpit.demo import load
    from cockpit.demo.local_model import provider
    from cockpit.serving.serve import ServeError, serve

    if demo:
        provider.start()
    try:
        serve(load_demo=load if demo else None)
    except ServeError as error:
        raise Failure(str(error)) from error
    finally:
        provider.stop()


def create_token(name: str, *, role: str, json: bool) -> None:
    """Make a token in the store on this machine."""
    with in_process.opened():
        from cockpit.http import tokens
        from cockpit.http.schemas import Role

        found = next((known for known in get_args(Role) if known == role), None)
        if found is None:
            raise Failure(f"{role!r} is no role: choose {', '.join(get_args(Role))}", exit=Exit.BAD_INPUT)
        secret = tokens.create(name=name, role=found)
    if json:
        output.document({"token": secret, "name": name, "role": role})
    else:
        output.people().print(secret, soft_wrap=True)
        output.note("It is shown this once. Send it as `Authorization: Bearer …`, or set FORKPOINT_TOKEN.")
