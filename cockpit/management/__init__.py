"""Commands of `django-admin`."""
