"""Who sent a request: proxies are believed only if they are trusted."""

from __future__ import annotations

import ipaddress

import pytest

from ls_crowd_plugin.web.client import client_of

TRUSTED = tuple(map(ipaddress.ip_network, ("10.0.0.0/8", "192.0.2.1", "2001:db8:1::/48")))


@pytest.mark.parametrize(
    ("peer", "forwarded_for", "client"),
    [
        ("203.0.113.5", "", "203.0.113.5"),
        ("203.0.113.5", "198.51.100.1", "203.0.113.5"),  # not a proxy that is trusted
        ("10.0.0.2", "", "10.0.0.2"),
        ("10.0.0.2", "198.51.100.1", "198.51.100.1"),
        ("10.0.0.2", "1.1.1.1, 198.51.100.1", "198.51.100.1"),  # the client sent the first one
        ("10.0.0.2", "1.1.1.1, 198.51.100.1, 192.0.2.1,10.9.9.9", "198.51.100.1"),
        ("10.0.0.2", "10.0.0.7, 10.0.0.8", "10.0.0.7"),
        ("10.0.0.2", "198.51.100.1:5000", "198.51.100.1"),
        ("::ffff:10.0.0.2", '"[2001:db8:2:3:4::5]:80"', "2001:db8:2:3::/64"),
        ("2001:db8:1::9", "2001:db8:2:3:4::5", "2001:db8:2:3::/64"),
        ("2001:db8:2:3:4::6", "", "2001:db8:2:3::/64"),
        ("10.0.0.2", "unknown", "10.0.0.2"),
        ("10.0.0.2", "198.51.100.1, nonsense, 10.0.0.3", "10.0.0.3"),
        ("10.0.0.2", ",,,", "10.0.0.2"),
        ("", "198.51.100.1", ""),
    ],
)
def test_is_the_nearest_address_that_is_not_a_trusted_proxy(peer: str, forwarded_for: str, client: str) -> None:
    assert client_of(peer, forwarded_for, TRUSTED) == client


def test_is_the_peer_where_no_proxy_is_trusted() -> None:
    assert client_of("127.0.0.1", "198.51.100.1", ()) == "127.0.0.1"
