"""Artifacts in packs: the parts that a run stores together are encoded as one. Digests as bytes.

Each stored artifact becomes a pack of its own: its bytes stay as they are. On SQLite, the table of artifacts is the tree by
digest itself, as before, and so is the table of their uses.
"""

import traces.models.digests
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps

from traces.storage.immutability_triggers import NO_PASS, Rule, creating

SAME = "OLD.sha256 = NEW.sha256 AND OLD.size = NEW.size"
RULES = [
    Rule("artifact_update", "traces_artifact", "UPDATE", f"NOT ({SAME}) OR {NO_PASS}", "an artifact cannot be changed"),
    Rule("artifact_delete", "traces_artifact", "DELETE", NO_PASS, "an artifact cannot be deleted"),
    Rule("pack_update", "traces_pack", "UPDATE", "1 = 1", "a pack cannot be changed"),
    Rule("pack_delete", "traces_pack", "DELETE", NO_PASS, "a pack cannot be deleted"),
]
PACKS = """
INSERT INTO traces_pack (id, owner, media_type, encoding, data)
SELECT row_number() OVER (ORDER BY owner, sha256), owner, media_type, encoding, data FROM traces_artifact_before
"""
ARTIFACTS = """
INSERT INTO traces_artifact (sha256, pack_id, start, size)
SELECT {digest}, row_number() OVER (ORDER BY owner, sha256), 0, size FROM traces_artifact_before ORDER BY 1
"""
USES = "INSERT INTO traces_artifactuse (sha256, run_id) SELECT {digest}, run_id FROM traces_artifactuse_before ORDER BY 1, 2"
SEQUENCE = "SELECT setval(pg_get_serial_sequence('traces_pack', 'id'), (SELECT coalesce(max(id), 0) + 1 FROM traces_pack), false)"


def rebuild(apps: StateApps, editor: BaseDatabaseSchemaEditor) -> None:
    is_sqlite = editor.connection.vendor == "sqlite"
    for event in ("update", "delete"):
        if is_sqlite:
            editor.execute(f"DROP TRIGGER immutable_artifact_{event}", params=None)
        else:
            editor.execute(f"DROP FUNCTION immutable_artifact_{event}() CASCADE", params=None)
    binary, whole, uuid, ending = ("blob", "integer", "char(32)", " WITHOUT ROWID") if is_sqlite else ("bytea", "bigint", "uuid", "")
    for table in ("traces_artifact", "traces_artifactuse"):
        editor.execute(f"ALTER TABLE {table} RENAME TO {table}_before", params=None)
    # PostgreSQL leaves the names of the indexes as they were.
    editor.execute(
        f"CREATE TABLE traces_artifact (sha256 {binary} NOT NULL, pack_id {whole} NOT NULL, start integer NOT NULL, "
        f"size integer NOT NULL, CONSTRAINT artifact_name PRIMARY KEY (sha256)){ending}",
        params=None,
    )
    editor.execute(
        f"CREATE TABLE traces_artifactuse (sha256 {binary} NOT NULL, run_id {uuid} NOT NULL, "
        f"CONSTRAINT artifact_use PRIMARY KEY (sha256, run_id)){ending}",
        params=None,
    )
    if is_sqlite:
        editor.connection.connection.create_function("digest_bytes", 1, bytes.fromhex, deterministic=True)
    digest = "digest_bytes(sha256)" if is_sqlite else "decode(sha256, 'hex')"
    for statement in (PACKS, ARTIFACTS, USES):
        editor.execute(statement.format(digest=digest), params=None)
    if not is_sqlite:
        editor.execute(SEQUENCE, params=None)
    for table in ("traces_artifact", "traces_artifactuse"):
        editor.execute(f"DROP TABLE {table}_before", params=None)
    creating(RULES)(apps, editor)


class Migration(migrations.Migration):
    dependencies = [("traces", "0028_run_listing")]
    operations = [
        migrations.CreateModel(
            name="Pack",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "owner",
                    models.BinaryField(null=True, help_text="id of the run that stored it; others: `ArtifactUse`"),
                ),
                ("media_type", models.CharField(blank=True, help_text="empty: application/json", max_length=80)),
                ("encoding", models.CharField(blank=True, help_text="'', 'zstd', 'refs' or both", max_length=8)),
                ("data", models.BinaryField(null=True, help_text="null when the bytes lie in the artifact storage")),
            ],
        ),
        migrations.SeparateDatabaseAndState(
            database_operations=[migrations.RunPython(rebuild)],
            state_operations=[
                *(migrations.RemoveField("artifact", name) for name in ("media_type", "encoding", "owner", "data")),
                migrations.AlterField(
                    "artifact", "sha256", traces.models.digests.DigestField(primary_key=True, serialize=False)
                ),
                migrations.AlterField("artifact", "size", models.PositiveIntegerField(help_text="bytes")),
                migrations.AddField("artifact", "pack_id", models.BigIntegerField(default=0), preserve_default=False),
                migrations.AddField(
                    "artifact",
                    "start",
                    models.PositiveIntegerField(default=0, help_text="position in the decoded pack"),
                    preserve_default=False,
                ),
                migrations.AlterField("artifactuse", "sha256", traces.models.digests.DigestField()),
            ],
        ),
    ]
