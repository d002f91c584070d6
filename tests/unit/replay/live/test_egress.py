"""Egress control: the addresses that live calls may reach."""

import ipaddress

import pytest

from replay.live.egress import Destination, refusal

PRIVATE = [
    "127.0.0.1",
    "10.0.0.8",
    "192.168.1.1",
    "172.16.0.1",
    "100.64.0.1",
    "::1",
    "fc00::1",
    "fec0::1",
    "::ffff:10.0.0.8",
]
# 10.0.0.8 behind NAT64, 6to4 and a stateless translator, and in the form that NAT64 replaced
EMBEDDED_PRIVATE = ["64:ff9b::a00:8", "2002:a00:8::", "::ffff:0:a00:8", "::a00:8"]
NEVER_ALLOWED = [
    "169.254.169.254",
    "fe80::1",
    "0.0.0.0",
    "224.0.0.1",
    "64:ff9b::a9fe:a9fe",
    "64:ff9b:1::a9fe:a9fe",
    "::ffff:a9fe:a9fe",
    "2002:a9fe:a9fe::",
    "::a9fe:a9fe",
]
# Of clouds, outside the link-local networks.
METADATA = ["fd00:ec2::254", "fd20:ce::254", "168.63.129.16", "100.100.100.200", "64:ff9b::6464:64c8", "192.0.0.192"]
PUBLIC = ["8.8.8.8", "2606:4700::1111"]


def is_refused(host: str, address: str, *, operator: bool) -> bool:
    return bool(refusal(Destination(host=host, operator=operator), ipaddress.ip_address(address)))


@pytest.mark.parametrize("address", PUBLIC)
def test_public_addresses_are_reached(address: str) -> None:
    assert not is_refused("api.example.com", address, operator=False)
    assert not is_refused("api.example.com", address, operator=True)


@pytest.mark.parametrize("address", [*PRIVATE, *EMBEDDED_PRIVATE])
def test_private_addresses_need_operator_host(address: str) -> None:
    assert is_refused("api.example.com", address, operator=False)
    assert not is_refused("models.internal", address, operator=True)


@pytest.mark.parametrize("address", [*NEVER_ALLOWED, *METADATA])
def test_link_local_and_metadata_addresses_need_literal_configuration(address: str) -> None:
    assert is_refused("api.example.com", address, operator=False)
    assert is_refused("models.internal", address, operator=True)
    assert not is_refused(address, address, operator=True)
