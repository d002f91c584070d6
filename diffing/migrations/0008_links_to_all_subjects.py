"""Move the share links to `traces`: they open runs, trees and replays, too."""

from django.db import migrations

from traces.storage.immutability_triggers import Rule, creating, dropping

FORMER = [
    Rule(
        "share_update",
        "diffing_sharelink",
        "UPDATE",
        "OLD.diff_id <> NEW.diff_id OR OLD.token_hash <> NEW.token_hash"
        " OR (OLD.revoked_at IS NOT NULL AND NEW.revoked_at IS NULL)",
        "a share link opens one report, until it is revoked",
    )
]
SAME_COLUMNS = (
    "id", "token_hash", "created_at", "created_by", "audience", "people", "expires_at", "revoked_at", "max_views", "views",
)


def move(apps, editor):
    former, current = apps.get_model("diffing", "ShareLink"), apps.get_model("traces", "ShareLink")
    rows = former.objects.values("diff_id", *SAME_COLUMNS)
    links = [current(kind="diff", subject=row.pop("diff_id"), **row) for row in rows]
    current.objects.bulk_create(links, batch_size=500)


def move_back(apps, editor):
    former, current = apps.get_model("diffing", "ShareLink"), apps.get_model("traces", "ShareLink")
    for row in current.objects.filter(kind="diff").values("subject", *SAME_COLUMNS):
        created_at = row.pop("created_at")
        former.objects.create(diff_id=row.pop("subject"), **row)
        # The field sets itself when a row is created.
        former.objects.filter(id=row["id"]).update(created_at=created_at)


class Migration(migrations.Migration):
    dependencies = [("diffing", "0007_deleted_sources"), ("traces", "0032_share_links")]
    operations = [
        migrations.RunPython(move, move_back),
        migrations.RunPython(dropping(FORMER), creating(FORMER)),
        migrations.DeleteModel("ShareLink"),
    ]
