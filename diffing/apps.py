from django.apps import AppConfig


class DiffingConfig(AppConfig):
    name = "diffing"
    default_auto_field = "django.db.models.BigAutoField"
