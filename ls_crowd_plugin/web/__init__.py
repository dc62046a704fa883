"""Flask: webhook receiver, pages behind a login, metrics, health."""

from .app import create_app

__all__ = ["create_app"]
