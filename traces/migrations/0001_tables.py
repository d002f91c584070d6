"""Tables of recorded runs. Artifacts and their uses are, on SQLite, the tree by digest itself, which Django cannot express."""

import django.db.models.deletion
import django.utils.timezone
import traces.core.ids
import traces.core.vocabulary
import traces.models.digests
import traces.models.search
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps

from traces.models.ordered_json import OrderedJSONField
from traces.storage.create_tables import CreateTables


def create_artifacts(apps: StateApps, editor: BaseDatabaseSchemaEditor) -> None:
    is_sqlite = editor.connection.vendor == "sqlite"
    digest, whole, uuid, ending = (
        ("blob", "integer", "char(32)", " WITHOUT ROWID") if is_sqlite else ("bytea", "bigint", "uuid", "")
    )
    editor.execute(
        f"CREATE TABLE traces_artifact (sha256 {digest} NOT NULL, pack_id {whole} NOT NULL, start integer NOT NULL, "
        f"size integer NOT NULL, CONSTRAINT artifact_name PRIMARY KEY (sha256)){ending}",
        params=None,
    )
    editor.execute(
        f"CREATE TABLE traces_artifactuse (sha256 {digest} NOT NULL, run_id {uuid} NOT NULL, "
        f"CONSTRAINT artifact_use PRIMARY KEY (sha256, run_id)){ending}",
        params=None,
    )


def drop_artifacts(apps: StateApps, editor: BaseDatabaseSchemaEditor) -> None:
    for table in ("traces_artifact", "traces_artifactuse"):
        editor.execute(f"DROP TABLE {table}", params=None)


class Migration(migrations.Migration):

    initial = True

    operations = [
        migrations.SeparateDatabaseAndState(
            database_operations=[migrations.RunPython(create_artifacts, drop_artifacts)],
            state_operations=[
                migrations.CreateModel(
                    name='Artifact',
                    fields=[
                        ('sha256', traces.models.digests.DigestField(primary_key=True, serialize=False)),
                        ('pack_id', models.BigIntegerField()),
                        ('start', models.PositiveIntegerField(help_text='position in the decoded pack')),
                        ('size', models.PositiveIntegerField(help_text='bytes')),
                    ],
                ),
                migrations.CreateModel(
                    name='ArtifactUse',
                    fields=[
                        ('pk', models.CompositePrimaryKey('sha256', 'run_id', blank=True, editable=False, primary_key=True, serialize=False)),
                        ('sha256', traces.models.digests.DigestField()),
                        ('run_id', models.UUIDField()),
                    ],
                ),
            ],
        ),
        CreateTables(
            models=[
                migrations.CreateModel(
                    name='Run',
                    fields=[
                        ('id', models.UUIDField(default=traces.core.ids.new_id, editable=False, primary_key=True, serialize=False)),
                        ('external_id', models.CharField(max_length=200)),
                        ('revision', models.PositiveIntegerField(default=1, help_text='from 1, within the identity')),
                        ('content_digest', models.CharField(help_text='of the recording; a repeat has the same one', max_length=64)),
                        ('name', models.CharField(max_length=300)),
                        ('app', models.CharField(max_length=120)),
                        ('environment', models.CharField(blank=True, max_length=60)),
                        ('source', models.CharField(choices=[('live', 'live'), ('import', 'import'), ('replay', 'replay'), ('probe', 'probe'), ('bundle', 'bundle')], max_length=8)),
                        ('format', models.CharField(max_length=40)),
                        ('status', models.CharField(choices=[('running', 'running'), ('completed', 'completed'), ('failed', 'failed'), ('partial', 'partial')], max_length=10)),
                        ('started_at', models.DateTimeField(null=True)),
                        ('ended_at', models.DateTimeField(null=True)),
                        ('created_at', models.DateTimeField(auto_now_add=True)),
                        ('sealed_at', models.DateTimeField(null=True)),
                        ('tags', models.JSONField(default=list, help_text='as recorded; users edit those of the caption')),
                        ('metadata', OrderedJSONField(default=dict)),
                        ('search', models.TextField(help_text='lower case: name, external id, app, model names, tags, first input')),
                        ('step_count', models.PositiveIntegerField(default=0)),
                        ('error_count', models.PositiveIntegerField(default=0)),
                        ('tokens_in', models.PositiveBigIntegerField(default=0)),
                        ('tokens_out', models.PositiveBigIntegerField(default=0)),
                        ('cost_usd', models.DecimalField(decimal_places=8, help_text='null: unknown, never 0', max_digits=14, null=True)),
                        ('duration_ms', models.FloatField(null=True)),
                        ('exact_count', models.PositiveIntegerField(default=0)),
                        ('cached_count', models.PositiveIntegerField(default=0)),
                        ('simulated_count', models.PositiveIntegerField(default=0)),
                        ('fork_sequence_no', models.PositiveIntegerField(null=True)),
                        ('session_id', models.UUIDField(help_text='the replay session that produced this run', null=True)),
                        ('source_run', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='derived_runs', to='traces.run')),
                        ('supersedes', models.OneToOneField(help_text='the revision that it continues', null=True, on_delete=django.db.models.deletion.PROTECT, related_name='superseded_by', to='traces.run')),
                    ],
                    options={
                        'constraints': [models.UniqueConstraint(fields=('app', 'external_id', 'revision'), name='run_revision')],
                        'indexes': [models.Index(fields=['app', 'id'], name='run_app_newest'), models.Index(fields=['external_id'], name='run_external'), models.Index(condition=models.Q(('sealed_at__isnull', True)), fields=['id'], name='run_open')],
                    },
                ),
                migrations.CreateModel(
                    name='LooseFile',
                    fields=[
                        ('path', models.CharField(max_length=100, primary_key=True, serialize=False)),
                    ],
                ),
                migrations.CreateModel(
                    name='Pack',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('owner', models.BinaryField(help_text='id of the run that stored it; others: `ArtifactUse`', null=True)),
                        ('media_type', models.CharField(blank=True, help_text='empty: application/json', max_length=80)),
                        ('encoding', models.CharField(blank=True, help_text="'', 'zstd', 'refs' or both", max_length=8)),
                        ('data', models.BinaryField(help_text='null when the bytes lie in the artifact storage', null=True)),
                    ],
                ),
                migrations.CreateModel(
                    name='RecordAddress',
                    fields=[
                        ('key', models.CharField(help_text='digest of the kind and the id of the record', max_length=64, primary_key=True, serialize=False)),
                        ('project', models.CharField(blank=True, max_length=120)),
                        ('external_id', models.CharField(max_length=200)),
                    ],
                ),
                migrations.CreateModel(
                    name='RequestKey',
                    fields=[
                        ('key', models.CharField(help_text='digest of the kind of request, the caller and the key', max_length=64, primary_key=True, serialize=False)),
                        ('asked', models.CharField(help_text='digest of the request', max_length=64)),
                        ('made', models.CharField(blank=True, help_text='reference of the result; empty: the repeated request finds it', max_length=64)),
                        ('at', models.DateTimeField(auto_now_add=True)),
                    ],
                ),
                migrations.CreateModel(
                    name='SavedView',
                    fields=[
                        ('id', models.UUIDField(default=traces.core.ids.new_id, editable=False, primary_key=True, serialize=False)),
                        ('name', models.CharField(max_length=80, unique=True)),
                        ('query', models.CharField(blank=True, help_text="of the list's address", max_length=4000)),
                        ('owner', models.CharField(blank=True, max_length=120)),
                        ('created_at', models.DateTimeField(auto_now_add=True)),
                    ],
                ),
                migrations.CreateModel(
                    name='AuditEntry',
                    fields=[
                        ('id', models.UUIDField(default=traces.core.ids.new_id, editable=False, primary_key=True, serialize=False)),
                        ('at', models.DateTimeField(auto_now_add=True)),
                        ('by', models.CharField(blank=True, help_text='empty: the server itself', max_length=120)),
                        ('action', models.CharField(max_length=40)),
                        ('subject', models.CharField(help_text='id of the object', max_length=200)),
                        ('detail', models.JSONField(default=dict)),
                    ],
                    options={
                        'indexes': [models.Index(fields=['subject'], name='audit_subject')],
                    },
                ),
                migrations.CreateModel(
                    name='PendingProvenance',
                    fields=[
                        ('run', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='+', serialize=False, to='traces.run')),
                    ],
                ),
                migrations.CreateModel(
                    name='RunCaption',
                    fields=[
                        ('run', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='caption', serialize=False, to='traces.run')),
                        ('change', models.JSONField(help_text='a `ForkChange`; null: not a fork, or not known', null=True)),
                        ('title', models.CharField(blank=True, help_text='shown before the recorded name', max_length=120)),
                        ('note', models.TextField(blank=True)),
                        ('tags', models.JSONField(help_text='all tags, edited by users; null: those of the recording', null=True)),
                    ],
                ),
                migrations.CreateModel(
                    name='RunMark',
                    fields=[
                        ('run', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='mark', serialize=False, to='traces.run')),
                        ('is_pinned', models.BooleanField(default=False)),
                        ('is_held', models.BooleanField(default=False, help_text='under legal hold')),
                        ('by', models.CharField(blank=True, max_length=120)),
                        ('at', models.DateTimeField(auto_now=True)),
                    ],
                ),
                migrations.CreateModel(
                    name='RunOutcome',
                    fields=[
                        ('run', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='verdict', serialize=False, to='traces.run')),
                        ('outcome', models.CharField(choices=[('passed', 'passed'), ('failed', 'failed'), ('unverified', 'unverified'), ('unknown', 'unknown')], max_length=10)),
                        ('basis', models.CharField(blank=True, help_text="source of the deciding judgement; empty: the run's status", max_length=9)),
                        ('reason', models.CharField(blank=True, max_length=200)),
                    ],
                ),
                migrations.CreateModel(
                    name='UnindexedRun',
                    fields=[
                        ('run', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='+', serialize=False, to='traces.run')),
                        ('leased_until', models.DateTimeField(help_text='a worker indexes it until then', null=True)),
                    ],
                ),
                migrations.CreateModel(
                    name='Edge',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('producer_no', models.PositiveIntegerField()),
                        ('consumer_no', models.PositiveIntegerField()),
                        ('kind', models.CharField(choices=[('tool_call_id', 'tool_call_id'), ('link', 'link'), ('history', 'history'), ('digest', 'digest'), ('text', 'text'), ('value', 'value')], max_length=12)),
                        ('consumer_path', models.CharField(blank=True, max_length=200)),
                        ('producer_path', models.CharField(blank=True, max_length=200)),
                        ('evidence', models.CharField(blank=True, max_length=200)),
                        ('run', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='edges', to='traces.run')),
                    ],
                    options={
                        'constraints': [models.UniqueConstraint(fields=('run', 'consumer_no', 'producer_no', 'kind', 'consumer_path'), name='edge_identity')],
                    },
                ),
                migrations.CreateModel(
                    name='IgnoreList',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('app', models.CharField(max_length=120)),
                        ('version', models.PositiveIntegerField(help_text='from 1')),
                        ('rules', models.JSONField()),
                        ('digest', models.CharField(blank=True, help_text='of the rules; empty: nothing is ignored', max_length=64)),
                        ('by', models.CharField(max_length=120)),
                        ('at', models.DateTimeField(auto_now_add=True)),
                        ('ready_at', models.DateTimeField(help_text='when the recorded calls were signed under it', null=True)),
                        ('signed_until', models.DateTimeField(help_text='runs sealed before then are signed under it', null=True)),
                    ],
                    options={
                        'constraints': [models.UniqueConstraint(fields=('app', 'version'), name='ignore_list_version')],
                    },
                ),
                migrations.CreateModel(
                    name='Judgement',
                    fields=[
                        ('id', models.UUIDField(default=traces.core.ids.new_id, editable=False, primary_key=True, serialize=False)),
                        ('key', models.CharField(help_text='digest of the judgement; the same one is stored only once', max_length=64)),
                        ('step_no', models.PositiveIntegerField(help_text='sequence_no of the judged step; null: the run', null=True)),
                        ('name', models.CharField(max_length=120)),
                        ('kind', models.CharField(choices=[('pass', 'pass'), ('fail', 'fail'), ('score', 'score'), ('note', 'note'), ('not_run', 'not_run')], max_length=8)),
                        ('value', models.FloatField(help_text='of a score', null=True)),
                        ('text', models.TextField(blank=True, help_text='the note, or the comment of a verdict or score')),
                        ('source', models.CharField(choices=[('person', 'person'), ('check', 'check'), ('import', 'import'), ('validator', 'validator'), ('model', 'model'), ('tag', 'tag')], max_length=9)),
                        ('by', models.CharField(blank=True, max_length=120)),
                        ('at', models.DateTimeField(help_text='when it was made, if the source records it', null=True)),
                        ('detail', models.JSONField(help_text='what its source states beside that; null: nothing', null=True)),
                        ('created_at', models.DateTimeField()),
                        ('withdrawn_at', models.DateTimeField(null=True)),
                        ('run', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='judgements', to='traces.run')),
                    ],
                    options={
                        'constraints': [models.UniqueConstraint(fields=('run', 'key'), name='judgement_identity')],
                        'indexes': [models.Index(condition=models.Q(('withdrawn_at__isnull', True)), fields=['name', 'kind', 'value', 'source', 'run'], name='judgement_named')],
                    },
                ),
                migrations.CreateModel(
                    name='OutcomeRule',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('app', models.CharField(max_length=120)),
                        ('thresholds', models.JSONField(help_text='by score name: {at_least} or {at_most}')),
                        ('tags', models.JSONField(default=dict, help_text='by tag: whether runs with it pass')),
                        ('deciders', models.JSONField(default=list, help_text='{source, name}, the first first; empty: the default')),
                        ('by', models.CharField(blank=True, max_length=120)),
                        ('at', models.DateTimeField(auto_now_add=True)),
                        ('applied_at', models.DateTimeField(help_text='when the stored runs had been updated', null=True)),
                    ],
                    options={
                        'indexes': [models.Index(fields=['app', 'id'], name='outcome_rule_newest')],
                    },
                ),
                migrations.CreateModel(
                    name='Recording',
                    fields=[
                        ('id', models.UUIDField(default=traces.core.ids.new_id, editable=False, primary_key=True, serialize=False)),
                        ('key', models.CharField(max_length=64, unique=True)),
                        ('project', models.CharField(blank=True, help_text='app of the run; empty: from the content', max_length=120)),
                        ('external_id', models.CharField(max_length=200)),
                        ('arrived_at', models.DateTimeField(help_text='when the newest segment arrived')),
                        ('has_ended', models.BooleanField(default=False, help_text='the root step has ended')),
                        ('is_final', models.BooleanField(default=False, help_text='the client has finalized the run')),
                        ('version', models.PositiveIntegerField(default=0, help_text='counts the batches of segments')),
                        ('assembled_version', models.PositiveIntegerField(default=0, help_text='the version that `run` contains')),
                        ('is_complete', models.BooleanField(default=False, help_text='`run` is written in full, so that it can be sealed')),
                        ('refresh_at', models.DateTimeField(help_text='new segments are assembled from this time on', null=True)),
                        ('due_at', models.DateTimeField(help_text='when to assemble or seal it; null: nothing to do', null=True)),
                        ('interrupted_at', models.DateTimeField(help_text='the server was restarted while it was open', null=True)),
                        ('leased_until', models.DateTimeField(help_text='a worker assembles it until then', null=True)),
                        ('problem', models.TextField(blank=True, help_text='why its segments do not make a run')),
                        ('run', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='recordings', to='traces.run')),
                    ],
                    options={
                        'indexes': [models.Index(condition=models.Q(('due_at__isnull', False)), fields=['due_at'], name='recording_due')],
                    },
                ),
                migrations.CreateModel(
                    name='RedactionPolicy',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('app', models.CharField(blank=True, help_text='empty: all apps', max_length=120)),
                        ('version', models.PositiveIntegerField(help_text='from 1')),
                        ('content', models.JSONField(help_text='detectors and field rules')),
                        ('by', models.CharField(max_length=120)),
                        ('at', models.DateTimeField(auto_now_add=True)),
                    ],
                    options={
                        'constraints': [models.UniqueConstraint(fields=('app', 'version'), name='redaction_policy_version')],
                    },
                ),
                migrations.CreateModel(
                    name='ReducedSignature',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('signature', models.CharField(help_text='as in its steps', max_length=80)),
                        ('reduced', models.CharField(max_length=96)),
                        ('ignore_list', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='signatures', to='traces.ignorelist')),
                    ],
                    options={
                        'constraints': [models.UniqueConstraint(fields=('ignore_list', 'signature'), name='reduced_signature')],
                        'indexes': [models.Index(fields=['ignore_list', 'reduced'], name='reduced_same')],
                    },
                ),
                migrations.CreateModel(
                    name='RetentionPass',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('run', models.ForeignKey(on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='traces.run')),
                    ],
                ),
                migrations.CreateModel(
                    name='RetentionPolicy',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('app', models.CharField(blank=True, help_text='empty: all apps', max_length=120)),
                        ('tag', models.CharField(blank=True, help_text='empty: runs with any tags or none', max_length=100)),
                        ('days', models.PositiveIntegerField(help_text='null: forever', null=True)),
                        ('keep_pinned', models.BooleanField(default=True)),
                        ('legal_hold', models.BooleanField(default=False, help_text='these runs cannot be deleted at all')),
                        ('by', models.CharField(blank=True, max_length=120)),
                        ('at', models.DateTimeField(auto_now=True)),
                    ],
                    options={
                        'constraints': [models.UniqueConstraint(fields=('app', 'tag'), name='retention_policy_identity')],
                    },
                ),
                migrations.CreateModel(
                    name='RunTag',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('tag', models.CharField(max_length=100)),
                        ('run', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='traces.run')),
                    ],
                    options={
                        'constraints': [models.UniqueConstraint(fields=('tag', 'run'), name='run_tag')],
                    },
                ),
                migrations.CreateModel(
                    name='SearchDocument',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('first_step', models.PositiveIntegerField(help_text="sequence_no of the section's first step")),
                        ('words', traces.models.search.WordsField()),
                        ('run', models.ForeignKey(on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='traces.run')),
                    ],
                ),
                migrations.CreateModel(
                    name='Segment',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('digest', models.CharField(help_text='of the records: a batch that arrives twice is stored once', max_length=64)),
                        ('format', models.CharField(max_length=40)),
                        ('file', models.CharField(blank=True, help_text='the segments of a file are its parts, in order', max_length=200)),
                        ('size', models.PositiveIntegerField(help_text='bytes before compression')),
                        ('checks', models.CharField(blank=True, help_text='versions of the detectors that looked at it', max_length=200)),
                        ('first_number', models.BigIntegerField(help_text='least number of its events; null: not numbered', null=True)),
                        ('last_number', models.BigIntegerField(help_text='greatest number of its events', null=True)),
                        ('data', models.BinaryField(help_text='zstd')),
                        ('recording', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='segments', to='traces.recording')),
                    ],
                    options={
                        'constraints': [models.UniqueConstraint(fields=('recording', 'digest'), name='segment_identity')],
                        'indexes': [models.Index(condition=models.Q(('last_number__isnull', False)), fields=['recording', 'last_number'], name='segment_numbers')],
                    },
                ),
                migrations.CreateModel(
                    name='ShareLink',
                    fields=[
                        ('id', models.UUIDField(default=traces.core.ids.new_id, editable=False, primary_key=True, serialize=False)),
                        ('kind', models.CharField(choices=[('run', 'run'), ('tree', 'tree'), ('replay', 'replay'), ('diff', 'diff'), ('experiment', 'experiment')], max_length=10)),
                        ('subject', models.UUIDField(help_text='id of the run, the root of the tree, the session, the report or the experiment')),
                        ('token_hash', models.CharField(max_length=64, unique=True)),
                        ('created_at', models.DateTimeField(default=django.utils.timezone.now)),
                        ('created_by', models.CharField(blank=True, max_length=120)),
                        ('audience', models.CharField(choices=[('anyone', 'anyone'), ('signed_in', 'signed_in'), ('people', 'people')], default=traces.core.vocabulary.ShareAudience['ANYONE'], max_length=9)),
                        ('people', models.JSONField(default=list, help_text='names of API tokens, for the audience `people`')),
                        ('expires_at', models.DateTimeField(null=True)),
                        ('revoked_at', models.DateTimeField(null=True)),
                        ('max_views', models.PositiveIntegerField(null=True)),
                        ('views', models.PositiveIntegerField(default=0)),
                        ('allows_comments', models.BooleanField(db_default=False, default=False, help_text='visitors read the comments and write their own')),
                    ],
                    options={
                        'indexes': [models.Index(fields=['subject'], name='share_subject')],
                    },
                ),
                migrations.CreateModel(
                    name='Step',
                    fields=[
                        ('id', models.UUIDField(default=traces.core.ids.new_id, editable=False, primary_key=True, serialize=False)),
                        ('sequence_no', models.PositiveIntegerField(help_text='from 1, in causal order')),
                        ('parent_no', models.PositiveIntegerField(help_text='sequence_no of the parent step', null=True)),
                        ('external_id', models.CharField(blank=True, max_length=200)),
                        ('type', models.CharField(choices=[('prompt', 'prompt'), ('retrieval', 'retrieval'), ('tool', 'tool'), ('model', 'model'), ('agent', 'agent'), ('turn', 'turn'), ('planner', 'planner'), ('validator', 'validator'), ('safety', 'safety'), ('output', 'output')], max_length=10)),
                        ('name', models.CharField(max_length=300)),
                        ('status', models.CharField(choices=[('ok', 'ok'), ('error', 'error'), ('timeout', 'timeout'), ('partial', 'partial'), ('denied', 'denied'), ('unverified', 'unverified'), ('running', 'running')], max_length=10)),
                        ('started_at', models.DateTimeField(null=True)),
                        ('duration_ms', models.FloatField(null=True)),
                        ('label', models.CharField(choices=[('live', 'live'), ('exact', 'exact'), ('cached', 'cached'), ('simulated', 'simulated')], max_length=9)),
                        ('reason', models.CharField(blank=True, choices=[('source_output_reused', 'source_output_reused'), ('source_output_unverified', 'source_output_unverified'), ('simulation_operator_override', 'simulation_operator_override'), ('cache_hit_signature_match', 'cache_hit_signature_match'), ('cache_hit_semantic_match', 'cache_hit_semantic_match'), ('cache_hit_normalised', 'cache_hit_normalised'), ('agent_ran', 'agent_ran'), ('live_model_call', 'live_model_call'), ('live_tool_call', 'live_tool_call'), ('live_retrieval', 'live_retrieval'), ('side_effect_blocked', 'side_effect_blocked'), ('duplicate_suppressed', 'duplicate_suppressed'), ('simulation_policy_fallback', 'simulation_policy_fallback'), ('assumed_unaffected', 'assumed_unaffected'), ('derived', 'derived'), ('denied', 'denied'), ('stopped', 'stopped')], max_length=40)),
                        ('signature', models.CharField(blank=True, max_length=80)),
                        ('input_ref', models.CharField(blank=True, help_text='artifact; empty: not recorded', max_length=64)),
                        ('output_ref', models.CharField(blank=True, max_length=64)),
                        ('attributes_ref', models.CharField(blank=True, help_text='raw attributes without a column', max_length=64)),
                        ('detail', models.JSONField(default=dict, help_text='grounds of the label: differing fields, match, attempts')),
                        ('error', models.TextField(blank=True)),
                        ('summary', models.CharField(blank=True, help_text='one line for lists', max_length=200)),
                        ('provider', models.CharField(blank=True, max_length=80)),
                        ('model', models.CharField(blank=True, max_length=120)),
                        ('tool_name', models.CharField(blank=True, max_length=200)),
                        ('call_id', models.TextField(blank=True, help_text='as the client set it, of any length')),
                        ('tokens_in', models.PositiveIntegerField(null=True)),
                        ('tokens_out', models.PositiveIntegerField(null=True)),
                        ('tokens_cached', models.PositiveIntegerField(null=True)),
                        ('cost_usd', models.DecimalField(decimal_places=8, max_digits=14, null=True)),
                        ('retries', models.PositiveSmallIntegerField(default=0)),
                        ('document_count', models.PositiveIntegerField(null=True)),
                        ('source_step', models.UUIDField(help_text='the step of the source run that this one replays', null=True)),
                        ('unexplained', models.JSONField(help_text='input of unknown origin; null: provenance not computed', null=True)),
                        ('run', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='steps', to='traces.run')),
                    ],
                    options={
                        'constraints': [models.UniqueConstraint(fields=('run', 'sequence_no'), name='step_sequence')],
                        'indexes': [models.Index(condition=models.Q(('reason', 'source_output_reused'), _negated=True), fields=['signature'], name='step_signature'), models.Index(condition=models.Q(('source_step__isnull', True)), fields=['external_id'], name='step_external'), models.Index(condition=models.Q(('status__in', ['error', 'timeout'])), fields=['run', '-sequence_no'], name='step_failed')],
                    },
                ),
                migrations.CreateModel(
                    name='ToolCall',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('sequence_no', models.PositiveIntegerField()),
                        ('key', models.CharField(help_text='of the app, the tool and everything that must be equal', max_length=32)),
                        ('length', models.PositiveIntegerField(help_text='of the texts; very different lengths are not similar')),
                        ('texts', models.TextField(blank=True, help_text='texts that may differ, one per line')),
                        ('run', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='traces.run')),
                    ],
                    options={
                        'indexes': [models.Index(fields=['key', 'length'], name='tool_call_alike')],
                    },
                ),
                migrations.CreateModel(
                    name='UsageTotal',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('app', models.CharField(max_length=120)),
                        ('day', models.DateField(help_text='UTC')),
                        ('source', models.CharField(choices=[('live', 'live'), ('import', 'import'), ('replay', 'replay'), ('probe', 'probe'), ('bundle', 'bundle')], max_length=8)),
                        ('type', models.CharField(choices=[('prompt', 'prompt'), ('retrieval', 'retrieval'), ('tool', 'tool'), ('model', 'model'), ('agent', 'agent'), ('turn', 'turn'), ('planner', 'planner'), ('validator', 'validator'), ('safety', 'safety'), ('output', 'output')], max_length=10)),
                        ('provider', models.CharField(blank=True, max_length=80)),
                        ('name', models.CharField(blank=True, help_text='of the model or the tool', max_length=300)),
                        ('calls', models.BigIntegerField(help_text='calls that were made, rather than reused from a recording')),
                        ('reused_calls', models.BigIntegerField()),
                        ('failed_calls', models.BigIntegerField()),
                        ('tokens_in', models.BigIntegerField(help_text='of the calls that were made')),
                        ('tokens_out', models.BigIntegerField()),
                        ('tokens_cached', models.BigIntegerField()),
                        ('cost', models.BigIntegerField(help_text='in 1e-8 US dollars: integers add up exactly')),
                        ('unpriced_calls', models.BigIntegerField(help_text='calls without a known cost')),
                        ('newest_run', models.CharField(blank=True, help_text='the newest run with a call; it may be deleted', max_length=36)),
                    ],
                    options={
                        'indexes': [models.Index(fields=['day', 'app'], name='usage_total_day')],
                    },
                ),
                migrations.CreateModel(
                    name='Comment',
                    fields=[
                        ('id', models.UUIDField(default=traces.core.ids.new_id, editable=False, primary_key=True, serialize=False)),
                        ('kind', models.CharField(choices=[('run', 'run'), ('diff', 'diff')], max_length=4)),
                        ('subject', models.UUIDField(help_text='id of the run or the report')),
                        ('step_no', models.PositiveIntegerField(null=True)),
                        ('place', models.JSONField(help_text='a `DiffPlace`', null=True)),
                        ('quote', models.TextField(blank=True, help_text='what the place showed')),
                        ('text', models.TextField()),
                        ('by', models.CharField(blank=True, max_length=120)),
                        ('visitor', models.CharField(blank=True, help_text="hash of the key of a visitor's browser", max_length=64)),
                        ('at', models.DateTimeField(default=django.utils.timezone.now)),
                        ('edited_at', models.DateTimeField(null=True)),
                        ('resolved_at', models.DateTimeField(null=True)),
                        ('resolved_by', models.CharField(blank=True, max_length=120)),
                        ('deleted_at', models.DateTimeField(help_text='its text is removed by the next purge', null=True)),
                        ('thread', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='replies', to='traces.comment')),
                    ],
                    options={
                        'indexes': [models.Index(fields=['subject'], name='comment_subject'), models.Index(condition=models.Q(('deleted_at__isnull', False)), fields=['deleted_at'], name='comment_deleted')],
                    },
                ),
                migrations.CreateModel(
                    name='Deletion',
                    fields=[
                        ('run', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='deletion', serialize=False, to='traces.run')),
                        ('by', models.CharField(blank=True, max_length=120)),
                        ('reason', models.CharField(blank=True, help_text='the policy that deletes it; empty: a request', max_length=200)),
                        ('includes_citations', models.BooleanField(default=False, help_text='delete it although other objects cite it')),
                        ('at', models.DateTimeField()),
                        ('due_at', models.DateTimeField(help_text='until then it can be restored')),
                        ('removed_at', models.DateTimeField(help_text='when its contents were removed', null=True)),
                    ],
                    options={
                        'indexes': [models.Index(condition=models.Q(('removed_at__isnull', True)), fields=['due_at'], name='deletion_due')],
                    },
                ),
                migrations.CreateModel(
                    name='RunListing',
                    fields=[
                        ('run', models.OneToOneField(db_constraint=False, editable=False, on_delete=django.db.models.deletion.DO_NOTHING, primary_key=True, related_name='listing', serialize=False, to='traces.run')),
                        ('root', models.UUIDField(help_text="the first run of a fork's line; null: not a fork", null=True)),
                        ('app', models.CharField(max_length=120)),
                        ('environment', models.CharField(blank=True, max_length=60)),
                        ('source', models.CharField(choices=[('live', 'live'), ('import', 'import'), ('replay', 'replay'), ('probe', 'probe'), ('bundle', 'bundle')], max_length=8)),
                        ('status', models.CharField(choices=[('running', 'running'), ('completed', 'completed'), ('failed', 'failed'), ('partial', 'partial')], max_length=10)),
                        ('outcome', models.CharField(choices=[('passed', 'passed'), ('failed', 'failed'), ('unverified', 'unverified'), ('unknown', 'unknown')], max_length=10)),
                        ('started_at', models.DateTimeField(null=True)),
                        ('cost_usd', models.DecimalField(decimal_places=8, max_digits=14, null=True)),
                        ('duration_ms', models.FloatField(null=True)),
                        ('tokens', models.PositiveBigIntegerField(help_text='of all model calls; null: unknown', null=True)),
                        ('steps', models.PositiveIntegerField(default=0)),
                        ('sort_name', models.CharField(blank=True, help_text='the beginning of its name, in lower case', max_length=60)),
                        ('has_errors', models.BooleanField()),
                        ('has_exact', models.BooleanField()),
                        ('has_cached', models.BooleanField()),
                        ('has_simulated', models.BooleanField()),
                        ('has_live', models.BooleanField()),
                        ('is_deleted', models.BooleanField()),
                        ('is_superseded', models.BooleanField(help_text='there is a later revision')),
                    ],
                    options={
                        'indexes': [models.Index(condition=models.Q(('is_deleted', False), ('is_superseded', False)), fields=['run', 'outcome', 'root', 'source', 'app', 'environment', 'status', 'started_at', 'cost_usd', 'has_exact', 'has_cached', 'has_simulated', 'has_live'], name='listing_newest'), models.Index(condition=models.Q(('is_deleted', False), ('is_superseded', False)), fields=['outcome', 'run', 'root', 'source', 'app', 'environment', 'status', 'started_at', 'cost_usd', 'has_exact', 'has_cached', 'has_simulated', 'has_live'], name='listing_outcomes'), models.Index(condition=models.Q(('is_deleted', False), ('is_superseded', False), ('root__isnull', False)), fields=['root', 'run', 'outcome', 'source', 'app', 'environment', 'status', 'started_at', 'cost_usd', 'has_exact', 'has_cached', 'has_simulated', 'has_live'], name='listing_forks'), models.Index(condition=models.Q(('is_deleted', False), ('is_superseded', False), ('has_errors', True)), fields=['run'], name='listing_failures'), models.Index(condition=models.Q(('is_deleted', False), ('is_superseded', False)), fields=['started_at', 'run', 'outcome', 'root', 'source', 'app', 'environment', 'status', 'cost_usd', 'has_exact', 'has_cached', 'has_simulated', 'has_live'], name='listing_started_at'), models.Index(condition=models.Q(('is_deleted', False), ('is_superseded', False)), fields=['duration_ms', 'run', 'outcome', 'root', 'source', 'app', 'environment', 'status', 'started_at', 'cost_usd', 'has_exact', 'has_cached', 'has_simulated', 'has_live'], name='listing_duration_ms'), models.Index(condition=models.Q(('is_deleted', False), ('is_superseded', False)), fields=['tokens', 'run', 'outcome', 'root', 'source', 'app', 'environment', 'status', 'started_at', 'cost_usd', 'has_exact', 'has_cached', 'has_simulated', 'has_live'], name='listing_tokens'), models.Index(condition=models.Q(('is_deleted', False), ('is_superseded', False)), fields=['cost_usd', 'run', 'outcome', 'root', 'source', 'app', 'environment', 'status', 'started_at', 'has_exact', 'has_cached', 'has_simulated', 'has_live'], name='listing_cost_usd'), models.Index(condition=models.Q(('is_deleted', False), ('is_superseded', False)), fields=['steps', 'run', 'outcome', 'root', 'source', 'app', 'environment', 'status', 'started_at', 'cost_usd', 'has_exact', 'has_cached', 'has_simulated', 'has_live'], name='listing_steps'), models.Index(condition=models.Q(('is_deleted', False), ('is_superseded', False)), fields=['sort_name', 'run', 'outcome', 'root', 'source', 'app', 'environment', 'status', 'started_at', 'cost_usd', 'has_exact', 'has_cached', 'has_simulated', 'has_live'], name='listing_sort_name')],
                    },
                ),
            ],
        ),
    ]
