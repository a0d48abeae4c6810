//! What the terminator of TLS reads: its settings, certificates, and bytes of clients.

use std::path::Path;
use std::sync::OnceLock;
use terminator::proxy::{self, Progress};
use terminator::settings::Settings;
use tls::{Acceptor, Certificate, Chain, Connection, Policy, Progress, Unnamed, ecdsa_signature};

/// The settings file: what is wrong with it is said with a line that it has.
pub fn tls_settings(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    match Settings::from_text(Path::new("/etc/tls.toml"), text) {
        Ok(settings) => {
            let lines = text.matches('\n').count() + 1;
            assert!(settings.listeners.iter().all(|listener| (1..=lines).contains(&listener.place.line)));
            assert!(settings.certificates.iter().all(|item| (1..=lines).contains(&item.chain.line)));
        }
        Err(wrong) => {
            let lines = text.matches('\n').count() + 1;
            assert!(wrong.line.is_some_and(|line| (1..=lines).contains(&line)), "{wrong}");
        }
    }
}

/// A certificate in DER, and a signature's two numbers.
pub fn tls_certificate(data: &[u8]) {
    if let Some(certificate) = Certificate::from_der(data) {
        assert!(certificate.names.iter().all(|name| *name == name.to_ascii_lowercase()));
        assert!(data.len() >= certificate.subject.len() + certificate.issuer.len());
    }
    if let Some(signature) = ecdsa_signature(data) {
        assert!(signature.len() <= data.len() + 9);
    }
}

/// What a client sends, in parts as long as the first byte says: the handshake goes on, fails, or asks for a key, which has no answer.
pub fn tls_client(data: &[u8]) {
    static ACCEPTOR: OnceLock<Acceptor> = OnceLock::new();
    let acceptor = ACCEPTOR.get_or_init(|| {
        let chain = Chain::with_key_elsewhere(include_bytes!("tls_client.pem"), 0).expect("a chain");
        Acceptor::new(Policy::LegacyInsecure, &[chain], &Unnamed::Chains(vec![0]), None).expect("an acceptor")
    });
    let Some((&first, rest)) = data.split_first() else { return };
    let mut connection = Connection::new(acceptor).expect("a connection");
    for part in rest.chunks(usize::from(first).max(1)) {
        connection.receive(part);
        match connection.handshake() {
            Ok(Progress::NeedsKey) => {
                assert!(connection.take_request().is_some_and(|request| request.key == 0));
                connection.answer(None);
                assert!(connection.handshake().is_err());
                return;
            }
            Ok(Progress::Done) => panic!("nobody knows the key"),
            Ok(Progress::NeedsBytes) => {}
            Err(_) => return,
        }
        let count = connection.outgoing().len();
        connection.sent(count);
    }
    connection.receive_end();
    assert!(connection.handshake().is_err());
}

/// What a proxy says of a connection: a header is one wherever the bytes behind it were cut, and what is none stays none.
pub fn proxy_header(data: &[u8]) {
    let whole = proxy::read(data);
    match whole {
        Ok(Progress::Done { bytes, .. }) => {
            assert!(bytes <= data.len().min(proxy::HEADER_BYTES_MAX));
            assert_eq!(proxy::read(&data[..bytes]), whole);
            assert_eq!(proxy::read(&data[..bytes - 1]), Ok(Progress::NeedsBytes));
        }
        Ok(Progress::NeedsBytes) => assert!(data.len() < proxy::HEADER_BYTES_MAX),
        Err(_) => {
            let more = [data, &[0; 20]].concat();
            assert!(proxy::read(&more).is_err());
        }
    }
}
