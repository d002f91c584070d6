from django.db import migrations


def conclude_by_status(apps, editor):
    """Outcomes of the runs that are stored already: nothing but their status is known of them."""
    editor.execute(
        "INSERT INTO traces_runoutcome (run_id, outcome, basis, reason, is_probe) "
        "SELECT id, CASE status WHEN 'failed' THEN 'failed' ELSE 'unknown' END, '', "
        "CASE status WHEN 'failed' THEN 'the run failed' ELSE '' END, source = 'probe' FROM traces_run"
    )


class Migration(migrations.Migration):
    dependencies = [("traces", "0010_judgements")]
    operations = [migrations.RunPython(conclude_by_status, migrations.RunPython.noop)]
