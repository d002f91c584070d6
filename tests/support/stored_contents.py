"""Everything that the store contains, to look for values that must not be in it."""

from django.db import connection

from traces.storage import artifacts

# Contains only what its own tables, which are listed beside it, contain; and it cannot be read as a table.
_SEARCH_INDEX = "traces_search_words"


def stored_contents() -> bytes:
    """Return the rows of all tables and the bytes of all artifacts."""
    contents = [item.data for item in artifacts.verify_all() if isinstance(item, artifacts.StoredBytes)]
    with connection.cursor() as cursor:
        for table in connection.introspection.table_names():
            if table != _SEARCH_INDEX:
                cursor.execute(f'SELECT * FROM "{table}"')
                contents += [repr(row).encode() for row in cursor.fetchall()]
    return b"\n".join(contents)
