"""Who sent a request, and whether by https. What a proxy says about that counts only if the proxy is trusted."""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence

from flask import request

from .context import Network, app_context

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

PREFIX = 64  # of an IPv6 address names a client, who can choose the rest


def client_of_request() -> str:
    """The client that sent the present request, as `client_of` names it."""
    forwarded_for = request.headers.get("X-Forwarded-For", "")
    return client_of(request.remote_addr or "", forwarded_for, app_context().trusted_proxies)


def is_https_request() -> bool:
    """Whether the person who sent the present request uses https.

    The service itself speaks http. Where no proxy is named, the service's public address tells.
    """
    context = app_context()
    if context.trusted_proxies:
        peer = _parse(request.remote_addr or "")
        if peer is None or not _is_in(peer, context.trusted_proxies):
            return False
        if scheme := request.headers.get("X-Forwarded-Proto", ""):
            return scheme.rpartition(",")[2].strip().lower() == "https"
    return context.public_url.startswith("https:")


def client_of(peer: str, forwarded_for: str, trusted: Sequence[Network]) -> str:
    """The address of a client, or its network with IPv6: the nearest one that is not a trusted proxy.

    Each proxy adds the address it was reached from at the end of `forwarded_for`, so that what comes before the last
    address that is not trusted may be invented.
    """
    client = _parse(peer)
    if client is None:
        return peer
    for written in reversed(forwarded_for.split(",")):
        before = _parse(written) if _is_in(client, trusted) else None
        if before is None:
            break
        client = before
    if isinstance(client, ipaddress.IPv6Address):
        return str(ipaddress.ip_network((client.packed, PREFIX), strict=False))
    return str(client)


def _is_in(address: Address, networks: Sequence[Network]) -> bool:
    return any(address in network for network in networks)


def _parse(written: str) -> Address | None:
    """The address in "192.0.2.1", "192.0.2.1:80", "2001:db8::1" or "[2001:db8::1]:80"; None for anything else."""
    text = written.strip().strip('"')
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return None
    return (address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None) or address
