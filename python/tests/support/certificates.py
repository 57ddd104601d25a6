"""Certificates for tests of TLS, made by openssl in the layout of libnbd, nbdkit and QEMU."""

import subprocess

from other_programs import need


def _openssl(directory, *words):
    done = subprocess.run(["openssl", *words], cwd=directory, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def make(directory):
    """A directory with certificates of an authority, a server on this machine, and a client."""
    need("openssl")
    directory.mkdir()
    key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")
    subject = ("-days", "2", "-subj", f"/CN={directory.name}")
    names = ("-keyout", "ca-key.pem", "-out", "ca-cert.pem")
    _openssl(directory, "req", "-x509", *key, *subject, *names)
    for name, usage, extra in [
        ("server", "serverAuth", "subjectAltName = DNS:localhost, IP:127.0.0.1\n"),
        ("client", "clientAuth", ""),
    ]:
        words = ("-subj", f"/CN={name}", "-keyout", f"{name}-key.pem", "-out", f"{name}.csr")
        _openssl(directory, "req", *key, *words)
        (directory / "extensions").write_text(
            f"basicConstraints = CA:FALSE\nkeyUsage = digitalSignature\n"
            f"extendedKeyUsage = {usage}\n{extra}"
        )
        words = ("-in", f"{name}.csr", "-CA", "ca-cert.pem", "-CAkey", "ca-key.pem", "-days", "2")
        words += ("-CAcreateserial", "-extfile", "extensions", "-out", f"{name}-cert.pem")
        _openssl(directory, "x509", "-req", *words)
    return directory
