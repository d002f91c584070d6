"""Requests as bytes: records with a copy of their resource and scope."""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

# The tag of a second field with a length: the groups by scope, and the records.
_SECOND: Final = 0x12
# The tag of the third field, in groups by resource and by scope.
_SCHEMA: Final = b"\x1a"


class Origin(NamedTuple):
    """Where a record comes from, encoded: its resource and scope, and the addresses of their schemas, if any."""

    resource: bytes
    scope: bytes
    resource_schema: bytes = b""
    scope_schema: bytes = b""


def protobuf_envelope(origin: Origin, records: Sequence[bytes]) -> bytes:
    """Return the request in protobuf."""
    resource, scope = origin.resource, origin.scope
    resource_schema, scope_schema = _schema(origin.resource_schema), _schema(origin.scope_schema)
    scope_head = b"\n" + _varint(len(scope))
    heads = [b"\x12" + _varint(len(record)) for record in records]
    scope_size = len(scope_head) + len(scope) + sum(map(len, heads)) + sum(map(len, records)) + len(scope_schema)
    resource_head, scopes_head = b"\n" + _varint(len(resource)), b"\x12" + _varint(scope_size)
    group_size = len(resource_head) + len(resource) + len(scopes_head) + scope_size + len(resource_schema)
    pieces = [b"\n", _varint(group_size), resource_head, resource, scopes_head, scope_head, scope]
    for head, record in zip(heads, records, strict=True):
        pieces += (head, record)
    return b"".join([*pieces, scope_schema, resource_schema])


def json_envelope(names: tuple[str, str, str], origin: Origin, records: Sequence[bytes]) -> bytes:
    """Return the request in JSON; `names` are those of its lists, outermost first."""
    groups, scopes, record_list = (name.encode() for name in names)
    resource_schema, scope_schema = (
        b',"schemaUrl":' + schema if schema else b"" for schema in (origin.resource_schema, origin.scope_schema)
    )
    scope = b'{"scope":%b,"%b":[%b]%b}' % (origin.scope, record_list, b",".join(records), scope_schema)
    return b'{"%b":[{"resource":%b,"%b":[%b]%b}]}' % (groups, origin.resource, scopes, scope, resource_schema)


def _schema(address: bytes) -> bytes:
    return _SCHEMA + _varint(len(address)) + address if address else b""


def record_ends(request: bytes) -> list[int]:
    """Return where each record of a request ends: in a group by scope, in a group by resource."""
    return [
        end
        for _, scopes_start, scopes_end in _fields(request, 0, len(request))
        for tag, start, end_of_scopes in _fields(request, scopes_start, scopes_end)
        if tag == _SECOND
        for inner_tag, _, end in _fields(request, start, end_of_scopes)
        if inner_tag == _SECOND
    ]


def _fields(message: bytes, position: int, end: int) -> Iterator[tuple[int, int, int]]:
    """Yield the tag of each field and where its contents are; all of them have a length, such as groups and records."""
    while position < end:
        tag = message[position]
        length = shift = 0
        position += 1
        while position < end and message[position] & 0x80:
            length |= (message[position] & 0x7F) << shift
            position, shift = position + 1, shift + 7
        length |= (message[position] if position < end else 0) << shift
        start = min(position + 1, end)
        position = min(start + length, end)
        yield tag, start, position


def _varint(number: int) -> bytes:
    digits = bytearray()
    while number > 0x7F:
        digits.append(number & 0x7F | 0x80)
        number >>= 7
    digits.append(number)
    return bytes(digits)
