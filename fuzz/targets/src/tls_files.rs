//! What the terminator of TLS reads: its settings, certificates, and bytes of clients.

use certificates::{Authorities, Client, ecdsa_sig_value};
use std::path::Path;
use std::sync::OnceLock;
use std::time::{Duration, UNIX_EPOCH};
use terminator::proxy;
use terminator::settings::Settings;
use tls::{Acceptor, Certificate, Chain, Connection, OcspResponse, Policy, Progress, Unnamed};

/// The settings file: what is wrong with it is said with a line that it has.
pub fn tls_settings(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    match Settings::from_text(Path::new("/etc/tls.toml"), text) {
        Ok(settings) => {
            let lines = text.matches('\n').count() + 1;
            assert!(settings.listeners.iter().all(|listener| (1..=lines).contains(&listener.place.line)));
            assert!(
                settings
                    .certificates
                    .iter()
                    .all(|item| item.chain.as_ref().is_none_or(|chain| (1..=lines).contains(&chain.line)))
            );
        }
        Err(wrong) => {
            let lines = text.matches('\n').count() + 1;
            assert!(wrong.line.is_some_and(|line| (1..=lines).contains(&line)), "{wrong}");
        }
    }
}

/// A certificate in DER, an OCSP response, and a signature's two numbers.
pub fn tls_certificate(data: &[u8]) {
    if let Ok(response) = OcspResponse::from_der(data) {
        assert!(!response.answers.is_empty() && response.answers.len() < data.len());
    }
    if let Some(certificate) = Certificate::from_der(data) {
        assert!(certificate.names.iter().all(|name| *name == name.to_ascii_lowercase()));
        assert!(data.len() >= certificate.subject.len() + certificate.issuer.len());
    }
    if let Some(signature) = ecdsa_sig_value(data) {
        assert!(signature.len() <= data.len() + 9);
    }
}

/// What a client sends, in parts as long as the first byte says: the handshake goes on, fails, or asks for a key, which
/// has no answer.
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
            Ok(Progress::Done | Progress::NeedsVerdict) => {
                panic!("nobody knows the key, and no client is asked")
            }
            Ok(Progress::NeedsBytes) => {}
            Err(_) => return,
        }
        let count = connection.outgoing().len();
        connection.sent(count);
    }
    connection.receive_end();
    assert!(connection.handshake().is_err());
}

/// What a proxy says of a connection: a header is one wherever the bytes behind it were cut, and what is none stays
/// none.
pub fn proxy_header(data: &[u8]) {
    let whole = proxy::read(data);
    match whole {
        Ok(proxy::Progress::Done { bytes, .. }) => {
            assert!(bytes <= data.len().min(proxy::HEADER_BYTES_MAX));
            assert_eq!(proxy::read(&data[..bytes]), whole);
            assert_eq!(proxy::read(&data[..bytes - 1]), Ok(proxy::Progress::NeedsBytes));
        }
        Ok(proxy::Progress::NeedsBytes) => assert!(data.len() < proxy::HEADER_BYTES_MAX),
        Err(_) => {
            let more = [data, &[0; 20]].concat();
            assert!(proxy::read(&more).is_err());
        }
    }
}

/// Authorities and revocation lists as files, and the same bytes as what a client shows: nobody whom no authority knows
/// is let in.
pub fn tls_clients(data: &[u8]) {
    static AUTHORITIES: OnceLock<String> = OnceLock::new();
    let own = AUTHORITIES.get_or_init(|| include_str!("tls_client_authority.pem").to_owned());
    if let Ok(text) = std::str::from_utf8(data) {
        let _ = Authorities::from_pem(text, 1);
    }
    let mut authorities = Authorities::from_pem(own, 1).expect("an authority");
    let had = authorities.add_lists(data).map(|lists| lists.len()).unwrap_or_default();
    let chain: Vec<Vec<u8>> = data.chunks(data.len() / 2 + 1).map(<[u8]>::to_vec).collect();
    for chain in [&chain[..], &[data.to_vec()]] {
        let verdict = authorities.check(chain, UNIX_EPOCH + Duration::from_secs(1_800_000_000));
        assert!(verdict.is_err(), "nobody has the authority's key, with {had} lists");
    }
    if let Some(client) = Client::from_der(data.to_vec()) {
        assert_eq!(client.der, data);
    }
}
