"""PostgreSQL: transfers of money between accounts, each with a log entry.

The cluster has data checksums and frequent checkpoints. After a cut the server recovers, every row
of every table is read, and amcheck verifies tables and indexes. The balances must be those after
the last acknowledged transfer or a later one.
"""

from __future__ import annotations

import contextlib
import os
import random
import re
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ssdlab.crashes import namespace
from ssdlab.crashes.apps import App, Lost, Place, Refused, Settings, Wrong

if TYPE_CHECKING:
    import pwd

#: The server refuses to run as root: the first existing user of these runs it.
USERS = ("postgres", "nobody")
ACCOUNTS = 1000
CHECKPOINT_EVERY = 10
START_SECONDS = 30
FAILED = re.compile(r"\b(PANIC|FATAL|ERROR): ")

CONFIGURATION = """
listen_addresses = ''
max_connections = 5
shared_buffers = 1MB
max_wal_size = 4MB
min_wal_size = 2MB
dynamic_shared_memory_type = sysv
checkpoint_completion_target = 0
autovacuum = off
"""
TABLES = f"""
CREATE EXTENSION amcheck;
CREATE TABLE account (id int PRIMARY KEY, balance bigint, pad text) WITH (fillfactor = 50);
CREATE INDEX balances ON account (balance);
CREATE TABLE log (n int PRIMARY KEY, pad text);
INSERT INTO account SELECT id, 0, repeat('x', 150) FROM generate_series(0, {ACCOUNTS - 1}) id;
"""
VERIFY = """
SELECT 'table', c.oid::regclass, v.msg FROM pg_class c, LATERAL verify_heapam(c.oid) v
 WHERE c.relkind IN ('r', 't', 'm')
"""
INDEXES = """
SELECT bt_index_check(i.indexrelid, true) FROM pg_index i
 JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_am a ON a.oid = c.relam
 WHERE a.amname = 'btree' AND c.relkind = 'i'
"""


def unavailable() -> str | None:
    """Reason why PostgreSQL cannot run here; None if it can."""
    if _user() is None:
        return f"PostgreSQL refuses to run as root, and there is no user {' or '.join(USERS)}"
    return None


def _user() -> pwd.struct_passwd | None:
    import pwd

    for name in USERS:
        with contextlib.suppress(KeyError):
            return pwd.getpwnam(name)
    return None


def _as_user(*words: str) -> list[str]:
    user = _user()
    assert user is not None
    ids = (f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups")
    return ["setpriv", *ids, "--", *words]


def _owned(path: Path) -> Path:
    """A directory that the server's user owns."""
    user = _user()
    assert user is not None
    path.mkdir(mode=0o700, exist_ok=True)
    os.chown(path, user.pw_uid, user.pw_gid)
    return path


@contextlib.contextmanager
def _server(place: Place) -> Iterator[list[str]]:
    """A running server, and the command that starts its clients."""
    sockets = _owned(place.tmp / "sockets")
    words = _as_user("postgres", "-D", str(place.dir / "pg"), "-k", str(sockets))
    server = subprocess.Popen(words, env=namespace.environment(), stdout=2, cwd="/")
    psql = ["psql", "-h", str(sockets), "-U", "crash", "-d", "postgres", "-XqAt"]
    psql += ["-v", "ON_ERROR_STOP=1"]
    until = time.monotonic() + START_SECONDS
    while True:
        tried = subprocess.run([*psql, "-c", "SELECT 1"], capture_output=True, env=_quiet())
        if tried.returncode == 0:
            break
        if server.poll() is not None or time.monotonic() > until:
            raise RuntimeError("the server did not start")
        time.sleep(0.02)
    yield psql
    server.send_signal(signal.SIGINT)
    if server.wait():
        raise RuntimeError(f"the server ended with status {server.returncode}")


def _quiet() -> dict[str, str]:
    return namespace.environment(PGOPTIONS="--client-min-messages=warning")


def setup(place: Place, settings: Settings) -> None:
    """Make the cluster and the accounts."""
    data = _owned(place.dir / "pg")
    words = ["initdb", "-D", str(data), "-U", "crash", "--auth=trust", "--locale=C"]
    words += ["--encoding=UTF8", "--data-checksums", "--wal-segsize=1", "--no-sync"]
    words += ["--no-instructions"]
    subprocess.run(_as_user(*words), env=namespace.environment(), stdout=2, check=True, cwd="/")
    with open(data / "postgresql.conf", "a") as file:
        file.write(CONFIGURATION)
        file.writelines(f"{key} = {settings[key]}\n" for key in ("fsync", "full_page_writes"))
    with _server(place) as psql:
        subprocess.run([*psql, "-c", TABLES], env=_quiet(), stdout=2, check=True)


def _transfer(number: int) -> list[tuple[int, int]]:
    """Changes of transfer `number` by account: nothing in sum."""
    generator = random.Random(number)
    changes = [(generator.randrange(1, 1000), it) for it in generator.sample(range(ACCOUNTS), 8)]
    total = sum(amount for amount, _ in changes[1:])
    return [(-total, changes[0][1]), *changes[1:]]


def _script(transactions: int) -> str:
    lines = []
    for number in range(transactions):
        values = ", ".join(str(change) for change in _transfer(number))
        lines += [
            "BEGIN;",
            f"UPDATE account SET balance = balance + amount FROM (VALUES {values}) "
            "AS it (amount, account) WHERE id = account;",
            f"INSERT INTO log VALUES ({number}, repeat('x', 150));",
            "COMMIT;",
            f"\\echo {number}",
        ]
        if number % CHECKPOINT_EVERY == CHECKPOINT_EVERY - 1:
            lines.append("CHECKPOINT;")
    return "\n".join(lines) + "\n"


def run(place: Place, settings: Settings) -> None:
    """Transfer, and print each committed transfer."""
    with _server(place) as psql:
        script = _script(int(settings["transactions"]))
        subprocess.run(psql, input=script, text=True, env=_quiet(), check=True)


def check(place: Place, settings: Settings, lines: Sequence[str]) -> None:
    """Recover, read everything, and compare with the sum of the transfers."""
    data = place.dir / "pg"
    # The stored process number is obsolete after a cut.
    (data / "postmaster.pid").unlink(missing_ok=True)
    out = _owned(place.tmp / "out")
    for path in out.iterdir():
        path.unlink()
    queries = {
        "account": "SELECT id, balance FROM account ORDER BY id",
        "log": "SELECT n FROM log ORDER BY n",
        "tables": VERIFY,
        "indexes": INDEXES,
    }
    text = "".join(
        f"COPY ({' '.join(query.split())}) TO '{out / name}'\n" for name, query in queries.items()
    )
    # Durability after recovery is not tested.
    words = _as_user("postgres", "--single", "-F", "-j", "-D", str(data), "postgres")
    text = text.replace("\n", ";\n\n")
    done = subprocess.run(
        words, input=text, capture_output=True, text=True, env=namespace.environment(), cwd="/"
    )
    failed = [line for line in done.stderr.splitlines() if FAILED.search(line)]
    if failed or done.returncode:
        stated = failed[0].partition("] ")[2] if failed else ""
        # The server starts, or ends before the first query.
        kind = Refused if done.returncode and stated.startswith(("PANIC", "FATAL")) else ValueError
        raise kind(stated or f"the server ended with {done.returncode}")
    problems = (out / "tables").read_text().splitlines()
    if problems:
        raise ValueError(f"amcheck: {problems[0]}")
    logged = [int(line) for line in (out / "log").read_text().split()]
    count = len(logged)
    if logged != list(range(count)):
        raise Wrong(f"of the transfers up to {logged[-1]}, some are not logged")
    balances = [0] * ACCOUNTS
    for number in logged:
        for amount, account in _transfer(number):
            balances[account] += amount
    rows = [line.split("\t") for line in (out / "account").read_text().splitlines()]
    if [(int(id), int(balance)) for id, balance in rows] != list(enumerate(balances)):
        raise Wrong(f"the balances are not those after {count} transfers")
    if count < len(lines):
        raise Lost(f"{len(lines) - count} of {len(lines)} committed transfers are missing")


APP = App(
    summary="PostgreSQL: transfers between accounts, each logged",
    settings={
        "fsync": ("on", "off"),
        "full_page_writes": ("on", "off"),
        "transactions": ("150",),
    },
    setup=setup,
    run=run,
    check=check,
    size="128MiB",
    programs=("postgres", "initdb", "psql", "setpriv"),
    unavailable=unavailable,
)
