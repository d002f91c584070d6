from django.apps import AppConfig


class CockpitConfig(AppConfig):
    name = "cockpit"
    default_auto_field = "django.db.models.BigAutoField"
