"""One flush that fails: what databases do whose fsync ends with an error (docs/crash.md).

A system that has reported the error of a write-back may call the pages clean. Whoever asks for the
flush again, and takes its success for durability, loses data: PostgreSQL did before version 12.
"""

import contextlib
import glob
import os
import shutil
import sqlite3
import subprocess
import time

import pytest
from other_programs import call, mounted, need

import ssdlab
from ssdlab.control import order

KEYS = {"device.blocks_per_plane": 32}
ROWS = 20


@contextlib.contextmanager
def place(tmp_path):
    """A file system on a live device, and what orders its next flush to fail."""
    need("nbdfuse")
    options = {"socket": tmp_path / "s", "control": tmp_path / "c", "backing": tmp_path / "data"}
    with (
        ssdlab.serve("agrawal2008", size="128MiB", set=KEYS, **options) as live,
        mounted(live, tmp_path, check=False) as directory,
    ):
        yield directory, lambda: order(tmp_path / "c", "fail flush 1")
    assert live.results.host.flush.failures.unreadable == 1


@pytest.mark.parametrize("journal", ["wal", "delete"])
def test_sqlite_says_so_and_keeps_what_it_has_committed(tmp_path, journal):
    with place(tmp_path) as (directory, fail):
        database = sqlite3.connect(directory / "db", isolation_level=None)
        database.execute(f"PRAGMA journal_mode = {journal}")
        database.execute("PRAGMA synchronous = FULL")
        database.execute("CREATE TABLE t (n INTEGER)")
        for number in range(ROWS):
            database.execute("INSERT INTO t VALUES (?)", (number,))
        fail()
        with pytest.raises(sqlite3.OperationalError, match="disk I/O error"):
            for number in range(ROWS):
                database.execute("INSERT INTO t VALUES (?)", (ROWS + number,))
        count = database.execute("SELECT count(*) FROM t").fetchone()[0]
        assert ROWS <= count <= ROWS + 1
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        database.close()


@pytest.mark.nightly
def test_postgresql_panics_and_recovers(tmp_path):
    """Version 12 and later; a commit whose flush failed is never taken for durable."""
    need("setpriv", "psql")
    found = sorted(glob.glob("/usr/lib/postgresql/*/bin"))
    if not found:
        pytest.skip("the server of PostgreSQL is not installed")
    programs = found[-1]
    try:
        shutil.chown(tmp_path, "postgres")
    except LookupError:
        pytest.skip("there is no user postgres")
    for parent in tmp_path.parents:
        if parent != parent.parent and parent.stat().st_uid == os.geteuid():
            with contextlib.suppress(OSError):
                parent.chmod(parent.stat().st_mode | 0o011)
    user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups", "--"]
    with place(tmp_path) as (directory, fail):
        cluster, sockets = directory / "pg", tmp_path / "sockets"
        for new in (cluster, sockets):
            new.mkdir(mode=0o700)
            shutil.chown(new, "postgres")
        words = [f"{programs}/initdb", "-D", cluster, "-U", "test", "--auth=trust", "--no-sync"]
        call(*user, *words, "--locale=C", "--wal-segsize=1", cwd="/")
        with open(cluster / "postgresql.conf", "a") as file:
            file.write("listen_addresses = ''\nmax_wal_size = 4MB\nmin_wal_size = 2MB\n")
        log = open(tmp_path / "log", "w+")  # noqa: SIM115
        words = [*user, f"{programs}/postgres", "-D", cluster, "-k", sockets]
        server = subprocess.Popen([str(word) for word in words], stderr=log, stdout=log, cwd="/")

        def ask(text):
            psql = ["psql", "-h", sockets, "-U", "test", "-d", "postgres", "-XqAt", "-c", text]
            done = subprocess.run([str(it) for it in psql], capture_output=True, text=True)
            return done.stdout.strip() if done.returncode == 0 else None

        def ask_until_answered(text):
            until = time.monotonic() + 60
            while (answer := ask(text)) is None:
                assert server.poll() is None and time.monotonic() < until
                time.sleep(0.2)
            return answer

        try:
            ask_until_answered("CREATE TABLE IF NOT EXISTS t (n int)")
            for number in range(ROWS):
                ask_until_answered(f"INSERT INTO t VALUES ({number})")
            ask_until_answered("CHECKPOINT")
            fail()
            assert ask("INSERT INTO t VALUES (-1)") is None
            # It recovers by itself. The commit in doubt may be there, all others must be.
            assert ROWS <= int(ask_until_answered("SELECT count(*) FROM t")) <= ROWS + 1
            ask_until_answered("INSERT INTO t VALUES (-2)")
            log.seek(0)
            said = log.read()
            assert "PANIC" in said and "Input/output error" in said
            assert "automatic recovery in progress" in said
        finally:
            server.terminate()
            server.wait(timeout=60)
            log.close()
