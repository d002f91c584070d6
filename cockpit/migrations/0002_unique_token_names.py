from django.db import migrations, models
from django.db.models.functions import Lower


def number_equal_names(apps, schema_editor):
    """The oldest token keeps its name; later ones of the same name get a number."""
    token_model = apps.get_model("cockpit", "ApiToken")
    names = set()
    for token in token_model.objects.filter(revoked_at=None).order_by("id"):
        name, number = token.name, 1
        while name.lower() in names:
            number += 1
            name = f"{token.name[:110]} ({number})"
        names.add(name.lower())
        if name != token.name:
            token_model.objects.filter(id=token.id).update(name=name)


class Migration(migrations.Migration):
    dependencies = [("cockpit", "0001_access")]

    operations = [
        migrations.RunPython(number_equal_names, migrations.RunPython.noop),
        migrations.AddConstraint(
            model_name="apitoken",
            constraint=models.UniqueConstraint(
                Lower("name"), condition=models.Q(revoked_at=None), name="token_name_in_force"
            ),
        ),
    ]
