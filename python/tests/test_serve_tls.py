"""The live device with TLS: which clients and programs are accepted, and what is rejected."""

import json
import os
import ssl
import time

import certificates
import haggler
import pytest
from haggler import Haggler, name, option
from other_programs import call, need

import ssdlab

MIB = 1 << 20
READ, WRITE = 0, 1
SIMPLE_REPLY, STRUCTURED_REPLY = 0x67446698, 0x668E33EF


@pytest.fixture(scope="module")
def pki(tmp_path_factory):
    return certificates.make(tmp_path_factory.mktemp("pki") / "right")


@pytest.fixture(scope="module")
def others(tmp_path_factory):
    """Certificates of an unknown authority."""
    return certificates.make(tmp_path_factory.mktemp("pki") / "others")


@pytest.fixture
def serve(tmp_path, pki):
    """A small device behind TLS."""
    running = []

    def start(**options):
        options = {"size": "8MiB", "tls_certificates": pki, "socket": tmp_path / "s"} | options
        if "port" in options:
            del options["socket"]
        running.append(ssdlab.serve("null", **options))
        return running[-1]

    yield start
    for live in running:
        live.stop()


def with_certificates(uri, directory):
    """As libnbd wants to be told."""
    return f"{uri}{'&' if '?' in uri else '?'}tls-certificates={directory}"


@pytest.mark.parametrize("place", [{}, {"port": 0, "host": "127.0.0.1"}], ids=["unix", "tcp"])
def test_libnbd_s_programs_come_in(serve, pki, tmp_path, place):
    need("nbdinfo", "nbdcopy")
    live = serve(**place)
    assert live.uri.startswith("nbds://" if place else "nbds+unix:///")
    uri = with_certificates(live.uri, pki)
    info = json.loads(call("nbdinfo", "--json", uri))
    assert info["TLS"] is True and info["exports"][0]["export-size"] == 8 * MIB
    (tmp_path / "source").write_bytes(os.urandom(8 * MIB))
    call("nbdcopy", "--flush", tmp_path / "source", uri)
    call("nbdcopy", "--connections", "4", uri, tmp_path / "back")
    assert (tmp_path / "back").read_bytes() == (tmp_path / "source").read_bytes()
    # Neither without TLS nor where the server's certificate is not believed.
    plain = live.uri.replace("nbds", "nbd", 1)
    assert "export-size" not in call("nbdinfo", plain, check=False)


def test_qemu_comes_in(serve, pki, tmp_path):
    need("qemu-io", "qemu-img")
    live = serve(port=0, tls_verify_peer=True)
    port = haggler.address_of(live.uri)[1]
    words = ["--object", f"tls-creds-x509,id=t,dir={pki},endpoint=client,verify-peer=yes"]
    image = f"driver=nbd,host=localhost,port={port},tls-creds=t"
    commands = ["write -P 7 0 1M", "write -f -P 9 3M 64k", "flush", "read -P 7 512k 512k"]
    commands += ["read -P 9 3M 64k", "read -P 0 4M 1M"]
    said = call("qemu-io", *words, *(w for c in commands for w in ("-c", c)), "--image-opts", image)
    assert "failed" not in said and "error" not in said.lower(), said
    target = tmp_path / "copy"
    call("qemu-img", "convert", *words, "-O", "raw", "--image-opts", image, target)
    assert target.read_bytes()[3 * MIB : 3 * MIB + 4] == b"\t\t\t\t"


def test_clients_outside_tls_are_not_served(serve):
    live = serve()
    with Haggler(live.uri) as it:
        for number, data in [
            (haggler.GO, name("")),
            (haggler.INFO, name("nobody")),
            (haggler.LIST, b""),
            (haggler.STRUCTURED, b""),
            (99, b""),
        ]:
            assert it.kinds(number, data) == [haggler.TLS_REQUIRED]
        it.socket.sendall(option(haggler.EXPORT_NAME))
        assert it.hears_no_more()


def test_tls_may_be_offered_or_refused(serve, pki, tmp_path):
    live = serve(tls="on", socket=tmp_path / "on")
    for secure in (False, True):
        with Haggler(live.uri) as it:
            if secure:
                it.secure(pki)
            assert it.kinds(haggler.GO, name("")) == [haggler.INFORMATION, haggler.ACK]
            assert it.ask(READ, 0, 512) == SIMPLE_REPLY
    live = serve(tls="off", socket=tmp_path / "off")
    with Haggler(live.uri) as it:
        assert it.kinds(haggler.STARTTLS) == [haggler.UNSUPPORTED]
        assert it.kinds(haggler.GO, name("")) == [haggler.INFORMATION, haggler.ACK]


def test_clients_show_whose_they_are(serve, pki, others):
    live = serve(tls_verify_peer=True)
    with Haggler(live.uri) as it:
        it.secure(pki, show=True)
        assert it.kinds(haggler.GO, name(""))[-1] == haggler.ACK
    with Haggler(live.uri) as it, pytest.raises((ssl.SSLError, OSError, EOFError)):
        # With TLS 1.3 the client hears of it at its first word.
        it.secure(pki)
        it.say(haggler.GO, name(""))
    stranger = ssl.create_default_context(cafile=pki / "ca-cert.pem")
    stranger.load_cert_chain(others / "client-cert.pem", others / "client-key.pem")
    with Haggler(live.uri) as it, pytest.raises((ssl.SSLError, OSError, EOFError)):
        assert it.kinds(haggler.STARTTLS) == [haggler.ACK]
        it.socket = stranger.wrap_socket(it.socket, server_hostname="localhost")
        it.say(haggler.GO, name(""))
    # The server's own certificate is no client's: it says what it is for.
    wrong = ssl.create_default_context(cafile=pki / "ca-cert.pem")
    wrong.load_cert_chain(pki / "server-cert.pem", pki / "server-key.pem")
    with Haggler(live.uri) as it, pytest.raises((ssl.SSLError, OSError, EOFError)):
        assert it.kinds(haggler.STARTTLS) == [haggler.ACK]
        it.socket = wrong.wrap_socket(it.socket, server_hostname="localhost")
        it.say(haggler.GO, name(""))
    assert live.stop().host is not None


def test_data_injected_before_tls_are_discarded(serve, pki):
    live = serve()
    # Behind STARTTLS, in the clear: an attacker on the network could have sent it.
    for slipped in (option(haggler.GO, name("")), option(haggler.STRUCTURED), b"x"):
        with Haggler(live.uri) as it:
            it.socket.sendall(option(haggler.STARTTLS) + slipped)
            assert it.reply() == (haggler.ACK, b"")
            assert it.hears_no_more()
    # The same, when it comes a little later: it is no beginning of TLS.
    with Haggler(live.uri) as it:
        assert it.kinds(haggler.STARTTLS) == [haggler.ACK]
        it.socket.sendall(option(haggler.GO, name("")))
        it.socket.settimeout(30)
        rest = b""
        while piece := it.socket.recv(1000):
            rest += piece
        assert b"IHAVEOPT" not in rest and len(rest) < 20, "at most an alert of TLS"
    live.stop()
    assert live.results.host.all.requests == 0


def test_what_was_agreed_on_before_tls_is_forgotten(serve, pki):
    live = serve(tls="on")
    with Haggler(live.uri) as it:
        assert it.kinds(haggler.STRUCTURED) == [haggler.ACK]
        it.secure(pki)
        assert it.kinds(haggler.STARTTLS) == [haggler.INVALID]
        it.say(haggler.GO, name(""))
        assert it.ask(READ, 0, 512) == SIMPLE_REPLY
    with Haggler(live.uri) as it:
        it.secure(pki)
        it.say(haggler.STRUCTURED)
        it.say(haggler.GO, name(""))
        assert it.ask(READ, 0, 512) == STRUCTURED_REPLY


def threads():
    """The threads of this process that speak TLS."""
    names = []
    for task in os.listdir("/proc/self/task"):
        try:
            with open(f"/proc/self/task/{task}/comm") as file:
                names.append(file.read().strip())
        except OSError:
            continue
    return names.count("tls")


def test_clients_that_do_not_finish_the_handshake_are_disconnected(serve):
    live = serve()
    with Haggler(live.uri) as before, Haggler(live.uri) as within:
        assert within.kinds(haggler.STARTTLS) == [haggler.ACK]
        within.socket.sendall(b"\x16\x03\x01\x02\x00")
        started = time.monotonic()
        for it in (before, within):
            assert it.hears_no_more()
        assert 5 < time.monotonic() - started < 25
    until = time.monotonic() + 30
    while threads() and time.monotonic() < until:
        time.sleep(0.05)
    assert threads() == 0


def test_clients_that_read_nothing_cost_little_and_delay_no_other(serve, pki):
    live = serve()
    with Haggler(live.uri) as greedy, Haggler(live.uri) as other:
        for it in (greedy, other):
            it.secure(pki)
            it.say(haggler.GO, name(""))
        request = b"\x25\x60\x95\x13\0\0\0\0" + bytes(8) + bytes(8) + (MIB).to_bytes(4, "big")
        before = memory()
        for _ in range(400):
            greedy.socket.sendall(request)
        assert other.ask(WRITE, 0, data=b"x" * 512) == SIMPLE_REPLY
        assert memory() - before < 32 * MIB
        # And it does not keep the server from ending.
        started = time.monotonic()
        live.stop()
        assert time.monotonic() - started < 15


def memory():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_certificates_that_cannot_be_used_are_named(tmp_path, pki, others):
    broken = tmp_path / "broken"
    broken.mkdir()
    place = {"socket": tmp_path / "s", "tls_certificates": broken}

    def refused(**options):
        with pytest.raises(ssdlab.InputError) as error:
            ssdlab.serve("null", size="1MiB", **place | options)
        return str(error.value)

    assert "server-cert.pem: No such file" in refused()
    assert "ca-cert.pem: No such file" in refused(tls_verify_peer=True)
    (broken / "server-cert.pem").write_text("a certificate\n")
    assert "server-cert.pem: contains no certificate" in refused()
    (broken / "server-cert.pem").write_bytes((pki / "server-cert.pem").read_bytes())
    assert "server-key.pem: No such file" in refused()
    (broken / "server-key.pem").write_bytes((others / "server-key.pem").read_bytes())
    assert "server-cert.pem: does not match the key" in refused()
    assert "none of require, on, off" in refused(tls="maybe")
    assert "a directory with certificates is needed" in refused(
        tls="require", tls_certificates=None
    )
    for mode in ("on", "off"):
        assert "verified only where TLS is required" in refused(tls=mode, tls_verify_peer=True)
    assert not (tmp_path / "s").exists()


def test_a_revoked_client_stays_outside(tmp_path, pki, serve):
    need("openssl")
    from certificates import _openssl

    own = tmp_path / "own"
    own.mkdir()
    for path in pki.iterdir():
        (own / path.name).write_bytes(path.read_bytes())
    (own / "index").touch()
    (own / "number").write_text("01\n")
    (own / "conf").write_text(
        "[ca]\ndefault_ca = it\n[it]\ndatabase = index\ncrlnumber = number\n"
        "default_md = sha256\ndefault_crl_days = 2\n"
        "crl_extensions = ext\n[ext]\nauthorityKeyIdentifier = keyid\n"
    )
    words = ("-config", "conf", "-cert", "ca-cert.pem", "-keyfile", "ca-key.pem")
    _openssl(own, "ca", *words, "-revoke", "client-cert.pem")
    _openssl(own, "ca", *words, "-gencrl", "-out", "ca-crl.pem")
    live = serve(tls_certificates=own, tls_verify_peer=True)
    with Haggler(live.uri) as it, pytest.raises((ssl.SSLError, OSError, EOFError)):
        it.secure(own, show=True)
        it.say(haggler.GO, name(""))


# ---- NVMe/TCP -------------------------------------------------------------------------------


def context_of(directory, shows=None):
    context = ssl.create_default_context(cafile=os.fspath(directory / "ca-cert.pem"))
    context.check_hostname = False
    if shows is not None:
        context.load_cert_chain(shows / "client-cert.pem", shows / "client-key.pem")
    return context


def test_hosts_of_nvme_come_in_within_tls(pki):
    from initiator import Ended, Host, Queue

    nvme = {"nvme": "tcp://127.0.0.1:0", "tls_certificates": pki}
    data = os.urandom(MIB)
    with ssdlab.serve("null", size="8MiB", **nvme) as live:
        with Host(live.nvme, queues=2, context=context_of(pki)) as host:
            host[0].write(4096, data)
            assert host[1].read(4096, MIB) == data
            host[0].flush()
        # Who does not speak TLS is not heard, and costs the others nothing.
        with pytest.raises((Ended, OSError)):
            Queue(live.nvme, timeout=20).connect()
        with Host(live.nvme, context=context_of(pki)) as host:
            assert host[0].read(4096, 512) == data[:512]
    assert live.results.host.write.bytes == MIB


def test_hosts_of_nvme_show_certificates_where_they_must(pki, others):
    from initiator import Ended, Host

    with ssdlab.serve(
        "null",
        size="8MiB",
        nvme="tcp://127.0.0.1:0",
        tls_certificates=pki,
        tls_verify_peer=True,
    ) as live:
        with Host(live.nvme, context=context_of(pki, pki)) as host:
            host[0].write(0, bytes(512))
        for shows in (None, others):
            with pytest.raises((Ended, OSError)):
                Host(live.nvme, context=context_of(pki, shows))


def test_tls_that_a_host_of_nvme_could_ask_for_is_refused(pki):
    with pytest.raises(ssdlab.InputError, match="TLS is required there or off"):
        ssdlab.serve("null", nvme="tcp://127.0.0.1:0", tls_certificates=pki, tls="on")


def test_namespaces_behind_one_target_are_within_tls(pki, tmp_path):
    from initiator import Host

    drives = {name: {"device": "null", "size": "8MiB"} for name in ("a", "b")}
    place = {"nvme": "tcp://127.0.0.1:0", "socket": tmp_path / "s", "tls_certificates": pki}
    with ssdlab.serve_exports(drives, **place) as live:
        uri = live["a"].nvme
        with Host(uri, context=context_of(pki)) as host:
            host[0].write(0, b"b" * 512, namespace=2)
    assert live.results["b"].host.write.bytes == 512 and live.results["a"].host.all.requests == 0
