"""The schema has a version: tables cannot change without a step, and only known versions are opened."""

from __future__ import annotations

import hashlib
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import Dialect, MetaData, Table, func, inspect, select, text
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.schema import CreateIndex, CreateTable, ExecutableDDLElement

from ls_crowd_plugin.errors import CrowdError
from ls_crowd_plugin.store import Store, open_store
from ls_crowd_plugin.store.schema import DATA_SCHEMA, WORK_SCHEMA, Schema
from tests.support.previous_schema import data_3, work_1

# Of the statements that create the tables of a version. Entries stay; a new version adds one.
DDL_HASHES = {
    ("data", 3): "2e51c4f5e2688e1b104206912f3b4050b978a99168ea09fc14ebb66ec2ffb5f0",
    ("data", 4): "36bfa771aaf27ae7f21436e655e2e05e2ed7da31dbede28fd26b449a454eb251",
    ("data", 5): "6c028832d76e9550b802624b8e4e06701ceaeba366eec531f0fca7d0a6cc172c",
    ("data", 6): "3f01e48b2282ffedd01133f47deaa29436b21698d39551af5fbc74494c9bc101",
    ("data", 7): "70ae1d8d4e7d63399390a31fba48b3bf61e4c82b4ec448a0b0b403a28faf4cc9",
    ("data", 8): "00968b0870e458e697ac276fc7f6da82648b5e67c4fe17c69fe21dade2428e81",
    ("data", 9): "b90186839a99ee45c186553ac150afa1853175d997da918d903e9021f7022128",
    ("data", 10): "f5efdc8dbd7b31f14ee1464a18644d9c9d18a80f803d0afd79f6cbf385363dc4",
    ("work", 1): "cf8c83d69427cbdbbc3a33332df2186b4ea962747b0bf36a111d461922d4e18e",
    ("work", 2): "b29937b5d788c1723c6af9ab77e45930c7f06d7b4a9739b06d6128076fea2f7b",
    ("work", 3): "429b9d33bb257368389df2abc578b781b45516005c308923ca09a0b99339f75d",
}
SCHEMAS = {"data": DATA_SCHEMA, "work": WORK_SCHEMA}


def ddl_hash(tables: MetaData) -> str:
    """A digest of the statements that create tables and indexes in both databases."""
    dialects: list[Dialect] = [sqlite.dialect(), postgresql.dialect()]  # type: ignore[no-untyped-call]
    ordered = sorted(tables.tables.values(), key=lambda table: table.name)
    statements = [statement for dialect in dialects for table in ordered for statement in _ddl(table, dialect)]
    return hashlib.sha256("\n".join(statements).encode()).hexdigest()


def _ddl(table: Table, dialect: Dialect) -> list[str]:
    indexes = sorted(table.indexes, key=lambda index: str(index.name))
    statements: list[ExecutableDDLElement] = [CreateTable(table), *map(CreateIndex, indexes)]
    return [" ".join(str(statement.compile(dialect=dialect)).split()) for statement in statements]


class TestTables:
    @pytest.mark.parametrize("name", SCHEMAS)
    def test_do_not_change_without_a_new_version(self, name: str) -> None:
        schema = SCHEMAS[name]
        current = ddl_hash(schema.tables)
        assert current == DDL_HASHES.get((name, schema.version)), (
            f"The {name} tables differ from those of version {schema.version}. Add an upgrade step to"
            f" ls_crowd_plugin/store/schema.py and the hash of the new version here: {current}"
        )

    @pytest.mark.parametrize(
        ("name", "version", "tables"), [("data", 3, data_3), ("work", 1, work_1)], ids=["data 3", "work 1"]
    )
    def test_of_earlier_versions_are_those_that_upgrades_are_tested_with(
        self, name: str, version: int, tables: MetaData
    ) -> None:
        assert ddl_hash(tables) == DDL_HASHES[name, version]

    @pytest.mark.parametrize("name", SCHEMAS)
    def test_have_names_of_our_own(self, name: str) -> None:
        """Label Studio may use the same Postgres database."""
        assert all(table.startswith("crowd_") for table in SCHEMAS[name].tables.tables)

    @pytest.mark.parametrize("name", SCHEMAS)
    def test_record_their_version(self, store: Store, name: str) -> None:
        engine = store.data if name == "data" else store.work
        schema = SCHEMAS[name]
        with engine.connect() as connection:
            assert connection.execute(select(schema.version_table.c.version)).scalars().all() == [schema.version]


class TestOpening:
    @pytest.mark.parametrize("name", SCHEMAS)
    def test_refuses_the_database_of_a_newer_release(self, database_url: str, name: str) -> None:
        schema: Schema = SCHEMAS[name]
        with open_store(database_url) as store:
            engine = store.data if name == "data" else store.work
            with engine.begin() as connection:
                connection.execute(schema.version_table.update().values(version=99))
        message = rf"schema 99, .* up to {schema.version}; install a newer release"
        with pytest.raises(CrowdError, match=message), open_store(database_url):
            pass

    def test_creates_everything_once_if_many_processes_start_together(self, database_url: str) -> None:
        def start(_: int) -> int:
            with open_store(database_url) as store:
                return len(inspect(store.data).get_table_names())

        with ThreadPoolExecutor(6) as threads:
            counts = list(threads.map(start, range(6)))
        assert (len(set(counts)), min(counts) > 0) == (1, True)

    def test_leaves_the_tables_of_label_studio_alone(self, database_url: str) -> None:
        """Some of them have names that version 1 of the data schema used."""
        with open_store(database_url) as store, store.data.begin() as connection:
            for table in DATA_SCHEMA.tables.sorted_tables[::-1]:
                table.drop(connection)
            for name in (*DATA_SCHEMA.first_tables, "django_migrations"):
                connection.execute(text(f"CREATE TABLE {name} (id INTEGER)"))
        with open_store(database_url) as store, store.data.connect() as connection:
            for name in DATA_SCHEMA.first_tables:
                assert connection.execute(select(func.count()).select_from(text(name))).scalar() == 0
