//! Certificates of a server, in the directory layout of libnbd, nbdkit and QEMU: `server-cert.pem`,
//! `server-key.pem`, and `ca-cert.pem` to verify client certificates.

use crate::error::{Error, reason};
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, CertificateRevocationListDer, PrivateKeyDer};
use rustls::server::{NoServerSessionStorage, WebPkiClientVerifier};
use rustls::{RootCertStore, ServerConfig};
use std::path::Path;
use std::sync::Arc;

/// TLS configuration: the server's certificate, and the requirements for clients.
#[derive(Debug, Clone)]
pub struct Tls(pub(crate) Arc<ServerConfig>);

impl Tls {
    /// Reads the certificates in a directory. With `verify_peer` a client needs a certificate
    /// signed by `ca-cert.pem` and not revoked by `ca-crl.pem`, if that file exists.
    ///
    /// # Errors
    /// When a file is missing or invalid.
    pub fn new(directory: &Path, verify_peer: bool) -> Result<Self, Error> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let refuse = |name: &str, problem: String| {
            Error::Input(format!("{}: {problem}", directory.join(name).display()))
        };
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(|error| Error::System(error.to_string()))?;
        let builder = if verify_peer {
            let mut roots = RootCertStore::empty();
            for certificate in all::<CertificateDer<'_>>(directory, "ca-cert.pem")? {
                roots.add(certificate).map_err(|it| refuse("ca-cert.pem", it.to_string()))?;
            }
            let mut verifier =
                WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
            if directory.join("ca-crl.pem").exists() {
                let lists = all::<CertificateRevocationListDer<'_>>(directory, "ca-crl.pem")?;
                verifier = verifier.with_crls(lists).only_check_end_entity_revocation();
            }
            let verifier = verifier.build().map_err(|it| refuse("ca-cert.pem", it.to_string()))?;
            builder.with_client_cert_verifier(verifier)
        } else {
            builder.with_no_client_auth()
        };
        let certificates = all::<CertificateDer<'_>>(directory, "server-cert.pem")?;
        let key = PrivateKeyDer::from_pem_file(directory.join("server-key.pem"))
            .map_err(|error| refuse("server-key.pem", problem(&error, "private key")))?;
        let mut config = builder
            .with_single_cert(certificates, key)
            .map_err(|error| refuse("server-cert.pem", words(&error)))?;
        // No session resumption: no state is kept for reconnecting clients.
        config.session_storage = Arc::new(NoServerSessionStorage {});
        config.send_tls13_tickets = 0;
        Ok(Tls(Arc::new(config)))
    }
}

/// All items of one kind in a file; at least one.
fn all<T: PemObject>(directory: &Path, name: &str) -> Result<Vec<T>, Error> {
    let path = directory.join(name);
    let refuse = |error: &pem::Error| {
        Error::Input(format!("{}: {}", path.display(), problem(error, "certificate")))
    };
    let items: Result<Vec<T>, pem::Error> =
        T::pem_file_iter(&path).map_err(|it| refuse(&it))?.collect();
    match items {
        Ok(items) if !items.is_empty() => Ok(items),
        Ok(_) => Err(refuse(&pem::Error::NoItemsFound)),
        Err(error) => Err(refuse(&error)),
    }
}

fn problem(error: &pem::Error, kind: &str) -> String {
    match error {
        pem::Error::Io(error) => reason(error),
        pem::Error::NoItemsFound => format!("contains no {kind} (PEM)"),
        other => format!("not a PEM file: {other}"),
    }
}

fn words(error: &rustls::Error) -> String {
    match error {
        rustls::Error::InconsistentKeys(_) => "does not match the key in server-key.pem".to_owned(),
        other => other.to_string(),
    }
}
