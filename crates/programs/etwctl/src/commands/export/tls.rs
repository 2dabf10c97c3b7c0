//! Connections to collectors with TLS.

use std::io;
use std::net::TcpStream;
use std::sync::Arc;

use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

/// Makes a connection secure. The collector's certificate must be one that the operating system trusts for this host; on Linux, the
/// variables `SSL_CERT_FILE` and `SSL_CERT_DIR` name other certificates.
pub(super) fn secure(stream: TcpStream, host: &str) -> io::Result<StreamOwned<ClientConnection, TcpStream>> {
    let mut roots = RootCertStore::empty();
    // Some certificates of a system may be unreadable; the others are used.
    let found = rustls_native_certs::load_native_certs();
    let (added, _) = roots.add_parsable_certificates(found.certs);
    if added == 0 {
        return Err(io::Error::other("this system has no trusted certificates; SSL_CERT_FILE can name a file of them"));
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = host.trim_start_matches('[').trim_end_matches(']').to_owned();
    let name = name.try_into().map_err(io::Error::other)?;
    let connection = ClientConnection::new(Arc::new(config), name).map_err(io::Error::other)?;
    Ok(StreamOwned::new(connection, stream))
}
