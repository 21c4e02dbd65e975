//! Servers behind https, whose certificates an authority of the test signs.

use std::io::Write;
use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, date_time_ymd};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::ClientCertVerifier;
use rustls::{RootCertStore, ServerConfig};
use tempfile::NamedTempFile;

use crate::fake::{Fake, whole};
use crate::{plimsoll, says};

const PROFILE: &[u8] = b"main;leak 4096\n";

/// Who signs certificates.
struct Authority {
    issuer: Issuer<'static, KeyPair>,
    /// Its own certificate, for those who trust it.
    file: NamedTempFile,
    roots: Arc<RootCertStore>,
}

impl Authority {
    fn new(name: &str) -> Authority {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let mut file = NamedTempFile::new().unwrap();
        let certificate = params.self_signed(&key).unwrap();
        file.write_all(certificate.pem().as_bytes()).unwrap();
        let mut roots = RootCertStore::empty();
        roots.add(certificate.der().clone()).unwrap();
        Authority {
            issuer: Issuer::new(params, key),
            file,
            roots: roots.into(),
        }
    }

    /// For a server of that name, until that year, which may ask its clients for certificates.
    fn signs(&self, name: &str, until: i32, clients: &Arc<dyn ClientCertVerifier>) -> ServerConfig {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new([name.to_owned()]).unwrap();
        params.not_after = date_time_ymd(until, 1, 1);
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let ring = rustls::crypto::ring::default_provider();
        ServerConfig::builder_with_provider(ring.into())
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_client_cert_verifier(Arc::clone(clients))
            .with_single_cert(vec![CertificateDer::from(certificate)], key)
            .unwrap()
    }

    /// `plimsoll show`, which trusts this authority and no other.
    #[track_caller]
    fn show(&self, server: &Fake, status: i32, expected: &[&str]) {
        let mut show = plimsoll(&["show", &server.url("/")]);
        let show = show.env("SSL_CERT_FILE", self.file.path());
        says(show, status, expected);
    }
}

#[test]
fn who_is_asked_for_a_profile() {
    let (ours, somebodys) = (Authority::new("ours"), Authority::new("somebody's"));
    let ring = Arc::new(rustls::crypto::ring::default_provider());
    let clients = WebPkiClientVerifier::builder_with_provider(Arc::clone(&ours.roots), ring);
    let (nobody, clients) = (
        WebPkiClientVerifier::no_client_auth(),
        clients.build().unwrap(),
    );
    let host = "127.0.0.1";
    let unknown = ["UnknownIssuer", "its certificate is not trusted"];
    let other_name = ["not valid for name", "its certificate is not trusted"];
    let expired = ["expired", "SSL_CERT_FILE"];
    // TiKV answers in this way.
    let asks_back = ["requires a client certificate", "curl --cert"];
    for (config, status, expected) in [
        (ours.signs(host, 4_000, &nobody), 0, ["leak", ""]),
        (somebodys.signs(host, 4_000, &nobody), 5, unknown),
        (ours.signs("a.org", 4_000, &nobody), 5, other_name),
        (ours.signs(host, 1_999, &nobody), 5, expired),
        (ours.signs(host, 4_000, &clients), 5, asks_back),
    ] {
        let server = Fake::with_tls(config, whole("200 OK", "", PROFILE));
        ours.show(&server, status, &expected);
        let requests = server.requests();
        let is_get = |head: &String| head.starts_with("GET / HTTP/1.1\r\n");
        assert_eq!(requests.iter().any(is_get), status == 0, "{expected:?}");
    }
}

#[test]
fn no_redirect_leaves_tls() {
    let authority = Authority::new("ours");
    let plain = Fake::with("200 OK", "", PROFILE);
    let to = format!("location: {}\r\n", plain.url("/"));
    let nobody = WebPkiClientVerifier::no_client_auth();
    let config = authority.signs("127.0.0.1", 4_000, &nobody);
    let server = Fake::with_tls(config, whole("302 Found", &to, b""));
    authority.show(&server, 5, &["from https to http"]);
    assert!(plain.requests().is_empty());
}
