"""Tables of access."""

import django.db.models.functions.text
import traces.core.ids
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    operations = [
        migrations.CreateModel(
            name='ApiToken',
            fields=[
                ('id', models.UUIDField(default=traces.core.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ('name', models.CharField(max_length=120)),
                ('role', models.CharField(choices=[('sender', 'sender'), ('viewer', 'viewer'), ('debugger', 'debugger'), ('admin', 'admin')], max_length=8)),
                ('digest', models.CharField(help_text='SHA-256 of the secret', max_length=64, unique=True)),
                ('created_at', models.DateTimeField(auto_now_add=True)),
                ('last_used_at', models.DateTimeField(null=True)),
                ('revoked_at', models.DateTimeField(null=True)),
            ],
            options={
                'constraints': [models.UniqueConstraint(django.db.models.functions.text.Lower('name'), condition=models.Q(('revoked_at', None)), name='token_name_in_force')],
            },
        ),
    ]
