"""`ls-crowd password`: makes a new password for the dashboard where the old one is lost."""

from __future__ import annotations

import click

from ..errors import UnusableInput


@click.command(short_help="Make a new password for the dashboard.")
@click.option("--reset", is_flag=True, help="Replace the generated password by a new one, and print it.")
def password(reset: bool) -> None:
    """Make a new password for the dashboard; everybody has to log in again once the service is restarted."""
    from werkzeug.security import generate_password_hash

    from ..settings import read_settings
    from ..store.secrets import replace_secret
    from .serve import NAME_OF_HASH, new_password
    from .setup import data_database

    if not reset:
        raise click.UsageError("A password is kept as a hash only, so it cannot be shown; --reset makes a new one.")
    if read_settings(needs_label_studio=False).password:
        raise UnusableInput("LS_CROWD_PASSWORD sets the password; change it there and restart 'ls-crowd serve'.")
    new = new_password()
    with data_database() as engine, engine.begin() as connection:
        replace_secret(connection, NAME_OF_HASH, generate_password_hash(new))
    click.echo(f"New password for the dashboard, shown only once: {new}")
    click.echo("Restart 'ls-crowd serve': until then the old password counts.")
