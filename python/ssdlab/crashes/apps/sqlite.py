"""SQLite: transfers of money between accounts, each with a log entry.

After a cut the database must be intact, and the balances those after the last acknowledged transfer
or a later one.
"""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Sequence

from ssdlab.crashes.apps import App, Lost, Place, Settings, Wrong

ACCOUNTS = 300
PAD = "x" * 150
#: Pages between checkpoints of the write-ahead log: few, so that cuts hit checkpoints.
CHECKPOINT_PAGES = 60


def _connect(place: Place, settings: Settings) -> sqlite3.Connection:
    database = sqlite3.connect(place.dir / "db", isolation_level=None)
    database.execute(f"PRAGMA journal_mode = {settings['journal']}")
    database.execute(f"PRAGMA synchronous = {settings['synchronous']}")
    database.execute(f"PRAGMA wal_autocheckpoint = {CHECKPOINT_PAGES}")
    return database


def setup(place: Place, settings: Settings) -> None:
    """Make the accounts."""
    database = _connect(place, settings)
    database.execute("BEGIN")
    database.execute("CREATE TABLE account (id INTEGER PRIMARY KEY, balance, pad)")
    database.execute("CREATE TABLE log (n INTEGER PRIMARY KEY, pad)")
    rows = [(number, 0, PAD) for number in range(ACCOUNTS)]
    database.executemany("INSERT INTO account VALUES (?, ?, ?)", rows)
    database.execute("CREATE INDEX balances ON account (balance)")
    database.execute("COMMIT")
    database.close()


def _transfer(number: int) -> list[tuple[int, int]]:
    """Changes of transfer `number` by account: nothing in sum."""
    generator = random.Random(number)
    changes = [(generator.randrange(1, 1000), it) for it in generator.sample(range(ACCOUNTS), 8)]
    total = sum(amount for amount, _ in changes[1:])
    return [(-total, changes[0][1]), *changes[1:]]


def run(place: Place, settings: Settings) -> None:
    """Transfer, and print each committed transfer."""
    database = _connect(place, settings)
    for number in range(int(settings["transactions"])):
        database.execute("BEGIN")
        change = "UPDATE account SET balance = balance + ? WHERE id = ?"
        database.executemany(change, _transfer(number))
        database.execute("INSERT INTO log VALUES (?, ?)", (number, PAD))
        database.execute("COMMIT")
        print(number, flush=True)
    database.close()


def check(place: Place, settings: Settings, lines: Sequence[str]) -> None:
    """Recover, and compare with the sum of the transfers."""
    database = sqlite3.connect(place.dir / "db", isolation_level=None)
    problems = [row[0] for row in database.execute("PRAGMA integrity_check(3)")]
    if problems != ["ok"]:
        raise ValueError("integrity_check: " + "; ".join(problems).replace("\n", " "))
    count, last = database.execute("SELECT count(*), max(n) FROM log").fetchone()
    if count and last != count - 1:
        raise Wrong(f"of the transfers up to {last}, {last + 1 - count} are not logged")
    balances = [0] * ACCOUNTS
    for number in range(count):
        for amount, account in _transfer(number):
            balances[account] += amount
    found = [row[0] for row in database.execute("SELECT balance FROM account ORDER BY id")]
    if found != balances:
        wrong = sum(a != b for a, b in zip(found, balances, strict=False))
        raise Wrong(f"{wrong} of {ACCOUNTS} balances are not those after {count} transfers")
    database.close()
    if count < len(lines):
        raise Lost(f"{len(lines) - count} of {len(lines)} committed transfers are missing")


APP = App(
    summary="SQLite: transfers between accounts, each logged",
    settings={
        "journal": ("wal", "delete", "truncate", "persist"),
        "synchronous": ("full", "normal", "extra", "off"),
        "transactions": ("200",),
    },
    setup=setup,
    run=run,
    check=check,
)
