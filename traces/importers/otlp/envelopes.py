"""Requests with one record, as bytes: a record with copies of its resource and scope."""


def protobuf_envelope(resource: bytes, scope: bytes, record: bytes) -> bytes:
    """Return the request in protobuf."""
    scope_head, record_head = b"\n" + _varint(len(scope)), b"\x12" + _varint(len(record))
    scope_size = len(scope_head) + len(scope) + len(record_head) + len(record)
    resource_head, scopes_head = b"\n" + _varint(len(resource)), b"\x12" + _varint(scope_size)
    group_size = len(resource_head) + len(resource) + len(scopes_head) + scope_size
    return b"".join(
        (b"\n", _varint(group_size), resource_head, resource, scopes_head, scope_head, scope, record_head, record)
    )


def json_envelope(names: tuple[str, str, str], resource: bytes, scope: bytes, record: bytes) -> bytes:
    """Return the request in JSON; `names` are those of its lists, outermost first."""
    groups, scopes, records = (name.encode() for name in names)
    return b'{"%b":[{"resource":%b,"%b":[{"scope":%b,"%b":[%b]}]}]}' % (
        groups,
        resource,
        scopes,
        scope,
        records,
        record,
    )


def field_ends(message: bytes) -> list[int]:
    """Return where each field of a message ends; all of its fields have a length, such as the groups of a request."""
    ends: list[int] = []
    position, size = 0, len(message)
    while position < size:
        length = shift = 0
        position += 1
        while position < size and message[position] & 0x80:
            length |= (message[position] & 0x7F) << shift
            position, shift = position + 1, shift + 7
        length |= (message[position] if position < size else 0) << shift
        position = min(position + 1 + length, size)
        ends.append(position)
    return ends


def _varint(number: int) -> bytes:
    digits = bytearray()
    while number > 0x7F:
        digits.append(number & 0x7F | 0x80)
        number >>= 7
    digits.append(number)
    return bytes(digits)
