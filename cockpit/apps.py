from django.apps import AppConfig

from cockpit.celery import app as celery_app


class CockpitConfig(AppConfig):
    name = "cockpit"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Make our Celery application the default for `@shared_task`."""
        celery_app.set_default()
