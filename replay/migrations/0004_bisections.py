import django.db.models.deletion
import traces.core.ids
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('replay', '0003_experiments'),
        ('traces', '0004_artifacts_by_name'),
    ]

    operations = [
        migrations.CreateModel(
            name='Bisection',
            fields=[
                ('id', models.UUIDField(default=traces.core.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('diff_id', models.UUIDField(help_text='the report from which it was started', null=True)),
                ('request', models.JSONField(help_text='as received')),
                ('forks', models.JSONField(help_text='[sequence_no, type, name, cost of the answer or null], in order')),
                ('recorded', models.JSONField(help_text='check results of the run itself')),
                ('status', models.CharField(default='running', max_length=9)),
                ('error', models.TextField(blank=True, help_text='why it failed or stopped early')),
                ('idempotency_key', models.CharField(max_length=200, null=True, unique=True)),
                ('request_digest', models.CharField(max_length=64)),
                ('last_seq', models.PositiveIntegerField(default=1, help_text='of its changes')),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('ended_at', models.DateTimeField(null=True)),
            ],
        ),
        migrations.CreateModel(
            name='BisectionProbe',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.PositiveIntegerField(help_text='from 1, in the order of their start')),
                ('place', models.PositiveIntegerField(help_text='index of the fork')),
                ('changed', models.BooleanField(help_text='carries the overrides')),
                ('sample', models.PositiveIntegerField()),
                ('verdict', models.CharField(blank=True, help_text='empty: not finished or not judged yet', max_length=7)),
                ('detail', models.JSONField(default=dict, help_text='checks, the answer, placeholders, and the reason for an unclear verdict')),
            ],
        ),
        migrations.AddField(
            model_name='bisection',
            name='run',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='bisections', to='traces.run'),
        ),
        migrations.AddField(
            model_name='bisectionprobe',
            name='bisection',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='probes', to='replay.bisection'),
        ),
        migrations.AddField(
            model_name='bisectionprobe',
            name='session',
            field=models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='bisection_probe', to='replay.replaysession'),
        ),
        migrations.AddIndex(
            model_name='bisection',
            index=models.Index(fields=['-created_at'], name='bisection_newest'),
        ),
        migrations.AddIndex(
            model_name='bisection',
            index=models.Index(condition=models.Q(('status', 'running')), fields=['status'], name='bisection_running'),
        ),
        migrations.AddConstraint(
            model_name='bisectionprobe',
            constraint=models.UniqueConstraint(fields=('bisection', 'number'), name='bisection_probe_identity'),
        ),
    ]
