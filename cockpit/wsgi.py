"""WSGI application. Django's synchronous stack is several times faster here than ASGI."""

import os

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "cockpit.settings")
django.setup(set_prefix=False)

from cockpit.http.transfer.chunked_bodies import Handler  # noqa: E402  # needs the settings

application = Handler()
