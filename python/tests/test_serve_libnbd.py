"""What libnbd, nbdkit and fio say to the live device, with several drives and TLS at once."""

import contextlib
import json
import os
import subprocess
import sys
import time

import certificates
import pytest
from haggler import address_of
from other_programs import call, need

import ssdlab

MIB = 1 << 20

#: What a script of `nbdsh` begins with.
BEGIN = """
import errno
def refused(what, *arguments):
    try:
        what(*arguments)
    except nbd.Error as error:
        return errno.errorcode.get(error.errnum, error.string)
    raise SystemExit(f"{what} was not refused")
"""


def nbdsh(script, *words):
    """Runs a script with a handle `h`; its module belongs to the system's Python."""
    need("nbdsh")
    environment = os.environ | {"PATH": "/usr/bin:/bin"}
    for name in ("PYTHONPATH", "VIRTUAL_ENV"):
        environment.pop(name, None)
    done = subprocess.run(
        ["nbdsh", "-c", BEGIN + script, *words],
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
    )
    if "No module named" in done.stderr:
        pytest.skip("nbdsh has no python3-libnbd")
    assert done.returncode == 0, done.stderr


@pytest.fixture
def live(tmp_path):
    exports = {
        "one": {"device": "null", "size": "64MiB", "description": "the first"},
        "two": {"device": "null", "size": "1MiB", "read_only": True},
    }
    with ssdlab.serve_exports(exports, socket=tmp_path / "s") as live:
        yield live


def test_options_in_any_order(live):
    path = address_of(live["one"].uri)
    nbdsh(f"""
h.set_opt_mode(True)
h.set_full_info(True)
h.connect_unix({path!r})
assert h.aio_is_negotiating() and h.get_protocol() == "newstyle-fixed"
found = []
assert h.opt_list(lambda *export: found.append(export)) == 2
assert found == [("one", "the first"), ("two", "null, simulated by ssdlab")], found
# Without a name, by name, and by a name that does not exist.
for name, size in (("", 64 << 20), ("one", 64 << 20), ("two", 1 << 20)):
    h.set_export_name(name)
    h.opt_info()
    assert (h.get_size(), h.get_canonical_export_name()) == (size, name or "one")
assert h.get_export_description() == "null, simulated by ssdlab"
assert h.is_read_only() and not h.can_cache()
h.set_export_name("three")
refused(h.opt_info)
refused(h.opt_go)
refused(h.opt_list_meta_context, lambda *_: None)
# After all that it can still be chosen.
h.set_export_name("one")
h.add_meta_context("base:allocation")
assert h.opt_list_meta_context(lambda name: found.append(name)) == 1
assert found[-1] == "base:allocation"
h.clear_meta_contexts()
h.add_meta_context("x-nosuch:")
h.opt_list_meta_context(lambda name: found.append(name))
h.clear_meta_contexts()
assert h.opt_list_meta_context(lambda name: found.append(name)) == 1
h.add_meta_context("base:allocation")
h.opt_go()
assert h.aio_is_ready() and h.can_meta_context("base:allocation") and h.get_size() == 64 << 20
h.shutdown()
""")


def test_flags_and_sizes_say_what_is_so(live):
    path = address_of(live["one"].uri)
    nbdsh(f"""
h.set_export_name("one")
h.connect_unix({path!r})
assert all([h.can_flush(), h.can_fua(), h.can_trim(), h.can_zero(), h.can_fast_zero()])
assert all([h.can_df(), h.can_multi_conn(), h.get_structured_replies_negotiated()])
assert not h.is_rotational() and not h.is_read_only() and not h.can_cache()
sizes = [h.get_block_size(it) for it in (nbd.SIZE_MINIMUM, nbd.SIZE_PREFERRED, nbd.SIZE_MAXIMUM)]
assert sizes == [512, 4096, 32 << 20], sizes
h.pwrite(b"x" * (32 << 20), 0)
pieces = []
def piece(data, offset, status, error):
    pieces.append((len(data), offset, status))
h.pread_structured(32 << 20, 0, piece, nbd.CMD_FLAG_DF)
assert pieces == [(32 << 20, 0, nbd.READ_DATA)], pieces
h.set_strict_mode(0)  # what is wrong is for the server to judge
for wrong in ((h.pread, 512, 1), (h.pread, 100, 0), (h.pread, 512, 64 << 20), (h.pread, 0, 0),
              (h.pwrite, b"a" * 100, 0), (h.trim, 512, 256), (h.zero, 100, 0),
              (h.cache, 512, 0), (h.pread, (32 << 20) + 512, 0),
              (h.flush, 1 << 9)):
    assert refused(*wrong) == "EINVAL", wrong
assert refused(h.pwrite, b"a" * 512, 64 << 20) == "ENOSPC"
assert refused(h.zero, 512, 64 << 20) == "ENOSPC"
slow = nbd.CMD_FLAG_FAST_ZERO | nbd.CMD_FLAG_NO_HOLE
assert refused(h.zero, 512, 0, slow) in ("ENOTSUP", "EOPNOTSUPP")
assert h.pread(512, 0) == b"x" * 512
h.zero(1 << 20, 0, nbd.CMD_FLAG_FAST_ZERO | nbd.CMD_FLAG_FUA)
assert h.pread(512, 0) == bytes(512)
h.shutdown()
""")


def test_clients_that_do_not_ask_for_block_sizes_may_read_bytes(live):
    path = address_of(live["one"].uri)
    nbdsh(f"""
h.set_request_block_size(False)
h.connect_unix({path!r})
assert h.get_block_size(nbd.SIZE_MINIMUM) == 0
h.pwrite(b"abc", 777)
assert h.pread(5, 776) == b"\\0abc\\0"
h.shutdown()
""")


def test_nothing_changes_what_is_read_only(live):
    path = address_of(live["two"].uri)
    nbdsh(f"""
h.set_export_name("two")
h.connect_unix({path!r})
assert h.is_read_only()
h.set_strict_mode(0)
for wrong in ((h.pwrite, bytes(512), 0), (h.trim, 512, 0), (h.zero, 512, 0)):
    assert refused(*wrong) == "EPERM", wrong
h.flush()
assert h.pread(512, 0) == bytes(512)
h.shutdown()
""")


def test_extents_are_those_of_what_was_written(live):
    path = address_of(live["one"].uri)
    nbdsh(f"""
h.add_meta_context("base:allocation")
h.connect_unix({path!r})
h.pwrite(b"x" * 65536, 1 << 20)
found = []
def extent(metacontext, offset, entries, err):
    assert metacontext == "base:allocation"
    found.extend(zip(entries[::2], entries[1::2]))
h.block_status(4 << 20, 0, extent)
assert found == [(1 << 20, 3), (65536, 0), ((3 << 20) - 65536, 3)], found
found.clear()
h.block_status(4 << 20, 0, extent, nbd.CMD_FLAG_REQ_ONE)
assert found == [(1 << 20, 3)], found
h.trim(65536, 1 << 20)
found.clear()
h.block_status(4 << 20, 0, extent)
assert found == [(4 << 20, 3)], found
h.shutdown()
""")


def test_a_flush_on_one_connection_covers_what_was_written_on_another(tmp_path):
    """What was answered on one is in the file when a flush on another is."""
    exports = {"a": {"device": "null", "size": "1MiB", "backing": tmp_path / "data"}}
    with ssdlab.serve_exports(exports, socket=tmp_path / "s") as live:
        path = address_of(live["a"].uri)
        nbdsh(f"""
h.connect_unix({path!r})
other = nbd.NBD()
other.connect_unix({path!r})
for number in range(50):
    h.pwrite(bytes([number]) * 4096, 4096 * number)
    other.flush()
    with open({os.fspath(tmp_path / "data")!r}, "rb") as file:
        file.seek(4096 * number)
        assert file.read(4096) == bytes([number]) * 4096
    assert other.pread(4096, 4096 * number) == bytes([number]) * 4096
h.shutdown(); other.shutdown()
""")


def test_nbdkit_passes_it_on(live, tmp_path):
    """nbdkit's plugin nbd is a client of ours, and its clients are content."""
    need("nbdkit", "nbdcopy", "nbdinfo")
    source = tmp_path / "source"
    source.write_bytes(os.urandom(MIB) + bytes(63 * MIB))
    path = address_of(live["one"].uri)
    words = ["nbdkit", "--exit-with-parent", "-U", "-", "nbd", f"socket={path}", "export=one"]
    copies = f'nbdcopy "{source}" "$uri" && nbdcopy "$uri" "{tmp_path}/back"'
    script = f'{copies} && nbdinfo --map "$uri"'
    done = subprocess.run([*words, "--run", script], capture_output=True, text=True, timeout=120)
    if "plugin-nbd" in done.stderr and "cannot open plugin" in done.stderr:
        pytest.skip("nbdkit has no plugin nbd")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "back").read_bytes() == source.read_bytes()
    assert "hole,zero" in done.stdout


def test_qemu_finds_exports_and_what_is_written(live, tmp_path):
    need("qemu-img")
    uri = live["one"].uri
    source = tmp_path / "source"
    source.write_bytes(os.urandom(2 * MIB) + bytes(62 * MIB))
    call("qemu-img", "convert", "-n", "-f", "raw", "-O", "raw", source, uri)
    assert "identical" in call("qemu-img", "compare", "-f", "raw", "-F", "raw", source, uri)
    extents = json.loads(call("qemu-img", "map", "-f", "raw", "--output=json", uri))
    assert sum(it["length"] for it in extents if it["data"]) == 2 * MIB
    failed = call("qemu-img", "info", uri.replace("/one?", "/three?"), check=False)
    assert failed == ""


@contextlib.contextmanager
def many(tmp_path, script):
    """Two drives behind TLS, of which one has things go wrong that lose nothing."""
    pki = certificates.make(tmp_path / "pki")
    (tmp_path / "script").write_text(script)
    small = {"device.blocks_per_plane": 16}
    exports = {
        "a": {"device": "agrawal2008", "size": "32MiB", "backing": tmp_path / "data"},
        "b": {"device": "zeus-linear", "size": "32MiB"},
    }
    exports["a"]["set"] = small | {"run.faults": os.fspath(tmp_path / "script")}
    with ssdlab.serve_exports(exports, socket=tmp_path / "s", tls_certificates=pki) as live:
        yield live, pki


@contextlib.contextmanager
def within_tls(uri, export, pki, directory):
    """Where a client that cannot name certificates finds an export: nbdkit can."""
    need("nbdkit")
    path = directory / f"plain-{export}"
    words = ["nbdkit", "-f", "--exit-with-parent", "-U", path, "nbd"]
    words += [f"socket={address_of(uri)}", f"export={export}"]
    words += ["tls=require", f"tls-certificates={pki}"]
    process = subprocess.Popen(words, stderr=subprocess.PIPE, text=True)
    try:
        until = time.monotonic() + 20
        while not path.exists():
            if process.poll() is not None:
                pytest.skip(f"nbdkit speaks no TLS here: {process.stderr.read()}")
            assert time.monotonic() < until
            time.sleep(0.02)
        yield f"nbd+unix:///?socket={path}"
    finally:
        process.kill()
        process.wait()
        process.stderr.close()


SCRIPT = "100ms latency add 2ms p=0.01\n300ms stall 50ms\n500ms slow 2\n800ms slow 1\n"


def verified(tmp_path, size, depth):
    """fio writes and reads back what it wrote, on both drives at once, through TLS."""
    need("fio")
    engines = subprocess.run(["fio", "--enghelp"], capture_output=True, text=True, check=False)
    if "nbd" not in engines.stdout:
        pytest.skip("fio has no engine nbd")
    with many(tmp_path, SCRIPT) as (live, pki), contextlib.ExitStack() as stack:
        jobs = ["[global]\nioengine=nbd\nverify=crc32c\ndo_verify=1\n"]
        jobs.append(f"iodepth={depth}\nsize={size}\n")
        for export, words in (
            ("a", "rw=randwrite\nbssplit=4k/60:16k/30:128k/10"),
            ("b", "rw=randrw\nbs=8k\nverify_backlog=64"),
        ):
            uri = stack.enter_context(within_tls(live[export].uri, export, pki, tmp_path))
            jobs.append(f"[{export}]\nuri={uri}\n{words}\n")
        job = tmp_path / "job.fio"
        job.write_text("".join(jobs))
        done = subprocess.run(
            ["fio", "--output-format=json", job],
            capture_output=True,
            text=True,
            timeout=540,
            cwd=tmp_path,
        )
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr
        found = json.loads(done.stdout[done.stdout.index("{") :])["jobs"]
        assert [it["error"] for it in found] == [0, 0], done.stderr
        assert all(it["read"]["total_ios"] and it["write"]["total_ios"] for it in found)
        print(json.dumps({it["jobname"]: it["read"]["iops"] for it in found}), file=sys.stderr)


def test_fio_finds_what_it_wrote(tmp_path):
    verified(tmp_path, "6m", 8)


@pytest.mark.nightly
def test_fio_finds_all_that_it_wrote(tmp_path):
    verified(tmp_path, "32m", 32)
