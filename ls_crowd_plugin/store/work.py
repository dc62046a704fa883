"""The work list: which projects have something to do, since when, and which worker is at it.

One row per project. An event is one UPSERT; claiming is one UPDATE; a worker that dies loses its lease.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Engine, Float, case, delete, literal_column, select, update
from sqlalchemy.dialects import postgresql, sqlite

from . import tables

CLOCKS = {
    "sqlite": "((julianday('now') - 2440587.5) * 86400.0)",
    "postgresql": "CAST(extract(epoch from clock_timestamp()) AS double precision)",
}
LEASE_SECONDS = 60.0
PATIENT_ATTEMPTS = 3  # begun and not ended so often, a project still has its turn at once
FIRST_PAUSE, LONGEST_PAUSE = 2.0, 3600.0
ALIVE_SECONDS = 30.0  # a worker that has not been seen for longer is taken for dead


@dataclass(frozen=True)
class Claim:
    """A project that one worker has for itself until its lease runs out."""

    project: int
    wanted: int
    attempts: int
    owner: str


@dataclass(frozen=True)
class Work:
    """A row of the list; times are seconds ago (positive) or ahead (negative)."""

    project: int
    waiting: float | None  # since when something is to do; None if nothing is
    due: float
    held_by: str
    attempts: int
    done: float | None
    error: str | None


class WorkList:
    """The list in a database. Every method is one short transaction."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self._dialect: Any = sqlite if engine.dialect.name == "sqlite" else postgresql
        self._now = literal_column(CLOCKS[engine.dialect.name], Float)

    def want(self, project: int, *, quiet: float = 0.0, longest: float = 0.0, snapshot: str | None = None) -> None:
        """Something changed in a project: it is due once nothing more has come for `quiet` seconds, but no later than
        `longest` seconds after the first event. What was set aside gets another chance."""
        work, now = tables.work, self._now
        values = {
            "project": project,
            "wanted": 1,
            "done": 0,
            "first_wanted": now,
            "not_before": now + min(quiet, longest),
            "lease_until": 0.0,
            "owner": "",
            "attempts": 0,
            "snapshot": snapshot,
        }
        first = case((work.c.wanted > work.c.done, work.c.first_wanted), else_=now)
        latest, after_quiet = first + longest, now + quiet
        changes = {
            "wanted": work.c.wanted + 1,
            "first_wanted": first,
            "not_before": case((after_quiet < latest, after_quiet), else_=latest),
            "attempts": 0,
        }
        if snapshot is not None:
            changes["snapshot"] = snapshot
        statement = self._dialect.insert(work).values(values)
        with self.engine.begin() as connection:
            connection.execute(statement.on_conflict_do_update(index_elements=[work.c.project], set_=changes))

    def claim(self, owner: str, lease: float = LEASE_SECONDS) -> Claim | None:
        """The project that has been due longest and that nobody holds, if there is one."""
        work, now = tables.work, self._now
        free = (work.c.wanted > work.c.done) & (work.c.not_before <= now) & (work.c.lease_until <= now)
        longest_due = select(work.c.project).where(free).order_by(work.c.not_before, work.c.project).limit(1)
        with self.engine.begin() as connection:
            row = connection.execute(
                update(work)
                .where(work.c.project == longest_due.with_for_update(skip_locked=True).scalar_subquery())
                .values(lease_until=now + lease, owner=owner, attempts=work.c.attempts + 1)
                .returning(work.c.project, work.c.wanted, work.c.attempts)
            ).first()
        return None if row is None else Claim(int(row.project), int(row.wanted), int(row.attempts), owner)

    def renew(self, claim: Claim, lease: float = LEASE_SECONDS) -> bool:
        """Keeps a claim for longer; False if it was lost."""
        return self._change(claim, {"lease_until": self._now + lease})

    def is_due_again(self, claim: Claim) -> bool:
        """Whether something has come since a project was claimed that has waited long enough."""
        work = tables.work
        newer = (work.c.project == claim.project) & (work.c.wanted > claim.wanted) & (work.c.not_before <= self._now)
        with self.engine.connect() as connection:
            return connection.execute(select(work.c.project).where(newer)).first() is not None

    def finish(self, claim: Claim, trouble: str | None = None) -> bool:
        """The pass has ended; what came meanwhile is still to do. `trouble` is why nothing could be written, and will
        be until something changes."""
        now, not_before = self._now, tables.work.c.not_before
        ended = {"done": claim.wanted, "last_done": now, "last_error": trouble, "attempts": 0}
        # What came meanwhile gets into line behind what others have been waiting for.
        ended |= {"first_wanted": now, "not_before": case((not_before < now, now), else_=not_before)}
        return self._change(claim, {**ended, **RELEASED})

    def fail(self, claim: Claim, sentence: str | None, longest: float = LONGEST_PAUSE) -> bool:
        """The pass failed and is to be tried again, later and later, up to `longest` seconds.

        Without a sentence nothing is wrong, and it was only put off.
        """
        work, now = tables.work, self._now
        newer = now + FIRST_PAUSE  # for what has come meanwhile the waiting begins anew
        later = case((work.c.wanted > claim.wanted, newer), else_=now + min(pause(claim.attempts), longest))
        again = {"first_wanted": now, "not_before": later, "last_error": sentence}
        return self._change(claim, {**again, **RELEASED})

    def release(self, owner: str) -> None:
        """What a worker held that has stopped may be taken at once."""
        work, held = tables.work, tables.holding
        mine = update(work).where(work.c.owner == owner, work.c.lease_until > 0)
        with self.engine.begin() as connection:
            connection.execute(mine.values(**RELEASED))
            connection.execute(delete(held).where(held.c.owner == owner))

    def bury(self, owner: str) -> None:
        """The leases of a worker that has died end now, as they would have by themselves."""
        work, held = tables.work, tables.holding
        theirs = update(work).where(work.c.owner == owner, work.c.lease_until > self._now)
        with self.engine.begin() as connection:
            connection.execute(theirs.values(lease_until=self._now))
            connection.execute(delete(held).where(held.c.owner == owner))
        self.set_back()

    def want_all(self) -> None:
        """After a gap every project has its turn; what is to be tried later anyway stays where it is in line."""
        work, now = tables.work, self._now
        idle = update(work).where(work.c.wanted <= work.c.done)
        with self.engine.begin() as connection:
            connection.execute(idle.values(wanted=work.c.wanted + 1, first_wanted=now, not_before=now))

    def owners(self) -> set[str]:
        """All who hold something."""
        work, held = tables.work, tables.holding
        with self.engine.connect() as connection:
            claims = connection.execute(select(work.c.owner).where(work.c.lease_until > 0)).scalars().all()
            return {*claims, *connection.execute(select(held.c.owner)).scalars().all()}

    def set_back(self) -> None:
        """Projects whose worker died get into line behind the others; where that happens again and again, they have
        their next turn later and later."""
        work, now = tables.work, self._now
        died = (work.c.lease_until > 0) & (work.c.lease_until <= now)
        with self.engine.begin() as connection:
            for row in connection.execute(select(work.c.project, work.c.attempts).where(died)).all():
                changes: dict[str, Any] = {"not_before": now, **RELEASED}
                if row.attempts > PATIENT_ATTEMPTS:
                    changes["not_before"] = now + pause(int(row.attempts))
                    changes["last_error"] = f"{row.attempts} passes ended without a word; the log may say why."
                one = update(work).where(work.c.project == row.project, died)
                connection.execute(one.values(**changes))

    def forget(self, project: int) -> None:
        with self.engine.begin() as connection:
            connection.execute(delete(tables.work).where(tables.work.c.project == project))

    def snapshots(self) -> dict[int, str | None]:
        """Project → what it looked like when it was last polled."""
        with self.engine.connect() as connection:
            rows = connection.execute(select(tables.work.c.project, tables.work.c.snapshot))
            return {int(row.project): row.snapshot for row in rows}

    def rows(self) -> list[Work]:
        """The whole list, for people."""
        work, now = tables.work, self._now
        columns = (work, (now - work.c.first_wanted).label("since"), (now - work.c.not_before).label("due"))
        held, ended = (work.c.lease_until > now).label("held"), (now - work.c.last_done).label("ended")
        with self.engine.connect() as connection:
            rows = connection.execute(select(*columns, held, ended).order_by(work.c.project)).all()
        return [
            Work(
                project=int(row.project),
                waiting=float(row.since) if row.wanted > row.done else None,
                due=float(row.due),
                held_by=row.owner if row.held else "",
                attempts=int(row.attempts),
                done=None if row.ended is None else float(row.ended),
                error=row.last_error,
            )
            for row in rows
        ]

    def hold(self, project: int, owner: str, lease: float = LEASE_SECONDS) -> bool:
        """Gets a project for oneself, or keeps it for longer; False while another has it."""
        table, now = tables.holding, self._now
        changes = {"owner": owner, "until": now + lease}
        statement = self._dialect.insert(table).values(project=project, **changes)
        mine_or_free = (table.c.owner == owner) | (table.c.until <= now)
        statement = statement.on_conflict_do_update(
            index_elements=[table.c.project], set_=changes, where=mine_or_free
        ).returning(table.c.project)
        with self.engine.begin() as connection:
            return connection.execute(statement).first() is not None

    def let_go(self, project: int, owner: str) -> None:
        table = tables.holding
        with self.engine.begin() as connection:
            connection.execute(delete(table).where(table.c.project == project, table.c.owner == owner))

    def take_duty(self, name: str, every: float) -> bool:
        """Whether the caller is the one to do something that is due; it is due again `every` seconds from now."""
        duty, now = tables.duty, self._now
        with self.engine.begin() as connection:
            first = self._dialect.insert(duty).values(name=name, due=now + every).on_conflict_do_nothing()
            if connection.execute(first.returning(duty.c.name)).first() is not None:
                return True
            mine = update(duty).where(duty.c.name == name, duty.c.due <= now).values(due=now + every)
            return connection.execute(mine).rowcount == 1

    def put_off(self, name: str, seconds: float) -> None:
        """A duty that has just been done is due again so many seconds from now."""
        duty = tables.duty
        with self.engine.begin() as connection:
            connection.execute(update(duty).where(duty.c.name == name).values(due=self._now + seconds))

    def alive(self, worker: str, trouble: str | None = None) -> None:
        """A worker says that it is there, and what keeps it from working, if anything does."""
        table, changes = tables.worker, {"seen": self._now, "trouble": trouble}
        statement = self._dialect.insert(table).values(name=worker, **changes)
        with self.engine.begin() as connection:
            connection.execute(statement.on_conflict_do_update(index_elements=[table.c.name], set_=changes))
            connection.execute(delete(table).where(table.c.seen < self._now - 100 * ALIVE_SECONDS))

    def gone(self, worker: str) -> None:
        with self.engine.begin() as connection:
            connection.execute(delete(tables.worker).where(tables.worker.c.name == worker))

    def workers(self) -> dict[str, str | None]:
        """The workers that are alive, with their trouble."""
        table = tables.worker
        query = select(table.c.name, table.c.trouble).where(table.c.seen > self._now - ALIVE_SECONDS)
        with self.engine.connect() as connection:
            return {str(row.name): row.trouble for row in connection.execute(query)}

    def add(self, sums: Mapping[tuple[str, str], float]) -> None:
        """Adds to the tallies: (name, label) → by how much."""
        table = tables.tally
        with self.engine.begin() as connection:
            for (name, label), value in sorted(sums.items()):
                statement = self._dialect.insert(table).values(name=name, label=label, value=value)
                changes = {"value": table.c.value + value}
                key = [table.c.name, table.c.label]
                connection.execute(statement.on_conflict_do_update(index_elements=key, set_=changes))

    def tallies(self) -> dict[tuple[str, str], float]:
        with self.engine.connect() as connection:
            return {(row.name, row.label): float(row.value) for row in connection.execute(select(tables.tally))}

    def _change(self, claim: Claim, changes: Mapping[str, Any]) -> bool:
        """Changes a row if the claim still holds."""
        work = tables.work
        held = (work.c.project == claim.project) & (work.c.owner == claim.owner) & (work.c.lease_until > 0)
        with self.engine.begin() as connection:
            return connection.execute(update(work).where(held).values(**changes)).rowcount == 1


RELEASED = {"lease_until": 0.0, "owner": ""}


def pause(attempts: int) -> float:
    """Seconds until the next try: 2, 4, 8 … up to an hour."""
    return float(min(FIRST_PAUSE * 2.0 ** min(max(attempts - 1, 0), 20), LONGEST_PAUSE))
