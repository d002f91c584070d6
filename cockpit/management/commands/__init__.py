"""Commands of `django-admin`, each named as its module."""
