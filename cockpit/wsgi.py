"""WSGI application. Django's synchronous stack is several times faster here than ASGI."""

import os

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "cockpit.settings")

application = get_wsgi_application()
