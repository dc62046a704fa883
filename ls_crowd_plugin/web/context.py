"""What the application needs from outside, and how its parts reach it."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, field

from flask import current_app

from ..store import Store

Network = ipaddress.IPv4Network | ipaddress.IPv6Network


@dataclass(frozen=True)
class AppContext:
    store: Store
    webhook_secret: str = field(repr=False)
    password_hash: str = field(repr=False)
    session_key: str = field(repr=False)
    quiet_seconds: float = 0.5
    max_wait_seconds: float = 15.0
    studio_url: str = ""  # where people open Label Studio
    public_url: str = ""  # where Label Studio, and usually people, reach the service
    trusted_proxies: tuple[Network, ...] = ()
    answer_price: float = 0.0  # of one answer; 0: not known
    password: str = field(default="", repr=False)  # if configured; of a generated one only the hash is known


def app_context() -> AppContext:
    """The context of the application that handles the present request."""
    context: AppContext = current_app.extensions["ls_crowd"]
    return context
