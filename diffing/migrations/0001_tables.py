"""Tables of diffs."""

import diffing.schemas.report
import django.db.models.deletion
import traces.core.ids
from django.db import migrations, models

from traces.storage.create_tables import CreateTables


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('traces', '0001_tables'),
    ]

    operations = [
        CreateTables(
            models=[
                migrations.CreateModel(
                    name='Cosine',
                    fields=[
                        ('key', models.CharField(help_text='digest of the embedding model and both texts', max_length=64, primary_key=True, serialize=False)),
                        ('cosine', models.FloatField()),
                    ],
                ),
                migrations.CreateModel(
                    name='DiffReport',
                    fields=[
                        ('id', models.UUIDField(default=traces.core.ids.new_id, editable=False, primary_key=True, serialize=False)),
                        ('key', models.CharField(help_text='digest of base, candidate and options', max_length=64, unique=True)),
                        ('options', models.JSONField()),
                        ('status', models.CharField(choices=[('pending', 'Pending'), ('ready', 'Ready'), ('failed', 'Failed'), ('deleted', 'Deleted')], default=diffing.schemas.report.DiffStatus['PENDING'], max_length=7)),
                        ('error', models.TextField(blank=True, help_text='why it failed')),
                        ('created_at', models.DateTimeField(auto_now_add=True)),
                        ('by', models.CharField(blank=True, help_text='who asked for it first', max_length=120)),
                        ('sentence', models.TextField(blank=True)),
                        ('cause', models.TextField(blank=True, help_text='of its headline')),
                        ('effect', models.TextField(blank=True, help_text='of its headline')),
                        ('ars', models.FloatField(null=True)),
                        ('output_similarity', models.FloatField(null=True)),
                        ('tool_accuracy', models.FloatField(null=True)),
                        ('confidence', models.CharField(blank=True, max_length=6)),
                        ('body', models.BinaryField(help_text='the report as JSON, zstd', null=True)),
                        ('base', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='diffs_as_base', to='traces.run')),
                        ('candidate', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='diffs_as_candidate', to='traces.run')),
                    ],
                    options={
                        'indexes': [models.Index(fields=['-created_at', '-id'], name='diff_newest'), models.Index(fields=['by', '-id'], name='diff_by_author')],
                    },
                ),
                migrations.CreateModel(
                    name='Evidence',
                    fields=[
                        ('id', models.UUIDField(default=traces.core.ids.new_id, editable=False, primary_key=True, serialize=False)),
                        ('question', models.CharField(help_text='digest of the question', max_length=64)),
                        ('verdict', models.CharField(max_length=15)),
                        ('confidence', models.CharField(max_length=6)),
                        ('conclusion', models.TextField()),
                        ('created_at', models.DateTimeField()),
                        ('body', models.JSONField(help_text='the findings')),
                        ('diff', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='evidence', to='diffing.diffreport')),
                    ],
                    options={
                        'indexes': [models.Index(fields=['diff', '-created_at'], name='evidence_of_diff')],
                    },
                ),
                migrations.CreateModel(
                    name='Lane',
                    fields=[
                        ('id', models.UUIDField(default=traces.core.ids.new_id, editable=False, primary_key=True, serialize=False)),
                        ('created_at', models.DateTimeField()),
                        ('body', models.BinaryField(help_text='the lane as JSON, zstd')),
                        ('diff', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='lanes', to='diffing.diffreport')),
                        ('unchanged', models.ForeignKey(help_text='base and unchanged replay', on_delete=django.db.models.deletion.PROTECT, related_name='+', to='diffing.diffreport')),
                    ],
                    options={
                        'indexes': [models.Index(fields=['diff', '-created_at'], name='lane_of_diff')],
                    },
                ),
            ],
        ),
    ]
