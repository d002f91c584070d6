from django.apps import AppConfig


class ReplayConfig(AppConfig):
    name = "replay"
    default_auto_field = "django.db.models.BigAutoField"
