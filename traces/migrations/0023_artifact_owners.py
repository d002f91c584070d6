"""The run that owns an artifact, and other runs that use it.

On SQLite both tables are the tree by digest itself, and the owner lies before the bytes: SQLite reads a row up to the last
column that a query needs. Django can express neither.
"""

from collections.abc import Iterable, Iterator

from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps

from traces.payloads.digest_packing import unpack

COLUMNS = "sha256, size, media_type, encoding, data"
REFS = ("input_ref", "output_ref", "attributes_ref")
CHUNK = 500


def add_owner(apps: StateApps, editor: BaseDatabaseSchemaEditor) -> None:
    if editor.connection.vendor == "sqlite":
        _rebuild(editor)
    else:
        editor.execute("ALTER TABLE traces_artifact ADD COLUMN owner bytea NULL")


def _rebuild(editor: BaseDatabaseSchemaEditor) -> None:
    with editor.connection.cursor() as cursor:
        cursor.execute("SELECT sql FROM sqlite_master WHERE type = 'table' AND name = 'traces_artifact'")
        (table,) = cursor.fetchone()
        cursor.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger' AND tbl_name = 'traces_artifact'")
        triggers = cursor.fetchall()
        for name, _ in triggers:
            cursor.execute(f"DROP TRIGGER {name}")
        cursor.execute("PRAGMA legacy_alter_table = ON")
        cursor.execute("ALTER TABLE traces_artifact RENAME TO traces_artifact_before")
        cursor.execute("PRAGMA legacy_alter_table = OFF")
        cursor.execute(table.replace('"data"', '"owner" BLOB NULL, "data"', 1))
        cursor.execute(
            f"INSERT INTO traces_artifact ({COLUMNS}) SELECT {COLUMNS} FROM traces_artifact_before ORDER BY sha256"
        )
        cursor.execute("DROP TABLE traces_artifact_before")
        for _, statement in triggers:
            cursor.execute(statement)


def create_uses(apps: StateApps, editor: BaseDatabaseSchemaEditor) -> None:
    if editor.connection.vendor == "sqlite":
        ending, uuid = " WITHOUT ROWID", "char(32)"
    else:
        ending, uuid = "", "uuid"
    editor.execute(
        f"CREATE TABLE traces_artifactuse (sha256 varchar(64) NOT NULL, run_id {uuid} NOT NULL, "
        f"PRIMARY KEY (sha256, run_id)){ending}"
    )


def drop_uses(apps: StateApps, editor: BaseDatabaseSchemaEditor) -> None:
    editor.execute("DROP TABLE traces_artifactuse")


def find_uses(apps: StateApps, editor: BaseDatabaseSchemaEditor) -> None:
    """Note the uses of the artifacts that are stored already: all that the steps of a run refer to at any depth."""
    run_model, use_model = apps.get_model("traces", "Run"), apps.get_model("traces", "ArtifactUse")
    step_model, artifact_model = apps.get_model("traces", "Step"), apps.get_model("traces", "Artifact")
    for run_id in run_model.objects.values_list("id", flat=True).iterator():
        rows = step_model.objects.filter(run_id=run_id).values_list(*REFS)
        level = {ref for refs in rows.iterator() for ref in refs if ref}
        digests: set[str] = set()
        while level:
            digests |= level
            level = set(_parts(artifact_model, level)) - digests
        uses = (use_model(sha256=sha256, run_id=run_id) for sha256 in sorted(digests))
        use_model.objects.bulk_create(uses, batch_size=CHUNK, ignore_conflicts=True)


def _parts(artifact_model: type[models.Model], digests: Iterable[str]) -> Iterator[str]:
    """Yield the digests that packed artifacts refer to; only these contain references."""
    import re  # noqa: PLC0415

    import zstandard  # noqa: PLC0415

    from traces.storage import artifact_files  # noqa: PLC0415
    from traces.storage.packs import file_path  # noqa: PLC0415

    names = sorted(digests)
    for start in range(0, len(names), CHUNK):
        rows = artifact_model.objects.filter(sha256__in=names[start : start + CHUNK], encoding__startswith="refs")  # type: ignore[attr-defined]
        for sha256, encoding, size, data in rows.values_list("sha256", "encoding", "size", "data"):
            content = artifact_files.read(file_path(sha256, encoding)) if data is None else bytes(data)
            if content is None:
                continue
            if encoding.endswith("zstd"):
                content = zstandard.ZstdDecompressor().decompress(content, max_output_size=size)
            for match in re.finditer(rb'\{"\$part":"([0-9a-f]{64})"\}', unpack(content)):
                yield match[1].decode()


class Migration(migrations.Migration):
    dependencies = [("traces", "0022_outcome_criteria")]
    operations = [
        migrations.SeparateDatabaseAndState(
            database_operations=[migrations.RunPython(add_owner, migrations.RunPython.noop)],
            state_operations=[
                migrations.AddField(
                    model_name="artifact",
                    name="owner",
                    field=models.BinaryField(
                        null=True, help_text="id of the run that stored it first; others: `ArtifactUse`"
                    ),
                )
            ],
        ),
        migrations.SeparateDatabaseAndState(
            database_operations=[migrations.RunPython(create_uses, drop_uses)],
            state_operations=[
                migrations.CreateModel(
                    name="ArtifactUse",
                    fields=[
                        (
                            "pk",
                            models.CompositePrimaryKey(
                                "sha256", "run_id", blank=True, editable=False, primary_key=True, serialize=False
                            ),
                        ),
                        ("sha256", models.CharField(max_length=64)),
                        ("run_id", models.UUIDField()),
                    ],
                )
            ],
        ),
        migrations.RunPython(find_uses, migrations.RunPython.noop),
    ]
