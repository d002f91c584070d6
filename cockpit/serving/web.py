"""A web process beside others: `python -m cockpit.serving.web`. Migrations and workers run elsewhere."""

import os

import django
import uvicorn
from django.conf import settings


def main() -> None:
    """Serve on FORKPOINT_HOST and FORKPOINT_PORT until asked to stop."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "cockpit.settings")
    django.setup()
    from cockpit.serving.serve import server_config  # noqa: PLC0415  # models exist only after django.setup()

    uvicorn.Server(server_config(host=settings.HOST, port=settings.PORT)).run()


if __name__ == "__main__":
    main()
