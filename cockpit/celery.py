"""The Celery application: embedded, threads of the web process serve it; deployed, `celery -A cockpit worker`."""

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "cockpit.settings")

app = Celery("cockpit")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
