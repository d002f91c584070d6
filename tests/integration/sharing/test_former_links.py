"""Links from when only reports were shared still open them."""

from importlib import import_module
from typing import Any

import pytest
from django.db import connection
from django.db.migrations.loader import MigrationLoader
from django.test import Client

from diffing import services
from tests.support.comparing import failing_refund, fixed_refund
from tests.support.stored_diffs import share_diff, store_run
from traces.models import ShareLink

pytestmark = pytest.mark.django_db(transaction=True)


def test_links_to_reports_survive_the_upgrade() -> None:
    diff = services.diff(base_id=store_run(failing_refund()).id, candidate_id=store_run(fixed_refund()).id)
    tokens = [share_diff(diff.id, max_views=5)[0], share_diff(diff.id, audience="people", people=["Ada"])[0]]
    Client().get(f"/api/v1/share/{tokens[0]}")
    before = list(ShareLink.objects.order_by("id").values())
    migration = import_module("diffing.migrations.0008_links_to_all_subjects")
    loader: Any = MigrationLoader(connection)
    apps = loader.project_state([("diffing", "0007_deleted_sources"), ("traces", "0032_share_links")]).apps
    former_links = apps.get_model("diffing", "ShareLink")
    with connection.schema_editor() as editor:
        editor.create_model(former_links)
    try:
        migration.move_back(apps, editor)
        assert former_links.objects.count() == 2
        ShareLink.objects.all().delete()
        migration.move(apps, editor)
    finally:
        with connection.schema_editor() as editor:
            editor.delete_model(former_links)
    assert list(ShareLink.objects.order_by("id").values()) == before
    assert Client().get(f"/api/v1/share/{tokens[0]}").status_code == 200
