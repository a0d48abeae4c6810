//! The TLS library of a client: s2n-tls, or GnuTLS if one exact suite or an old one is asked for.

use crate::gnutls_ffi::{Code, Session, Settings};
use crate::signing::Signed;
use tls::{Cause, Facts, Failure, Initiator, KeyRequest, Progress, Read};
use zeroize::Zeroizing;

/// The library with the settings for all connections.
pub(crate) enum Library {
    S2n(Initiator),
    Gnutls(Settings),
}

/// The client's end of a connection, which maps bytes of TLS to plaintext and back.
pub(crate) enum Client {
    S2n(Box<tls::Client>),
    Gnutls(Session),
}

impl Client {
    pub(crate) fn new(
        library: &Library,
        name: Option<&str>,
        session: Option<&[u8]>,
    ) -> Result<Self, Failure> {
        match library {
            Library::S2n(initiator) => {
                tls::Client::new(initiator, name, session).map(|one| Self::S2n(Box::new(one)))
            }
            Library::Gnutls(settings) => {
                let internal = |_| Failure { cause: Cause::Internal, name: "" };
                Session::new(settings, name, session).map(Self::Gnutls).map_err(internal)
            }
        }
    }

    pub(crate) fn receive(&mut self, bytes: &[u8]) {
        match self {
            Self::S2n(one) => one.receive(bytes),
            Self::Gnutls(one) => one.receive(bytes),
        }
    }

    pub(crate) fn receive_end(&mut self) {
        match self {
            Self::S2n(one) => one.receive_end(),
            Self::Gnutls(one) => one.receive_end(),
        }
    }

    pub(crate) fn outgoing(&self) -> &[u8] {
        match self {
            Self::S2n(one) => one.outgoing(),
            Self::Gnutls(one) => one.outgoing(),
        }
    }

    pub(crate) fn sent(&mut self, bytes: usize) {
        match self {
            Self::S2n(one) => one.sent(bytes),
            Self::Gnutls(one) => one.sent(bytes),
        }
    }

    pub(crate) fn handshake(&mut self) -> Result<Progress, Failure> {
        match self {
            Self::S2n(one) => one.handshake(),
            Self::Gnutls(one) => match one.handshake() {
                Ok(true) => Ok(Progress::Done),
                Ok(false) => Ok(Progress::NeedsBytes),
                Err(code) => Err(failed(one, code)),
            },
        }
    }

    /// The request for a signature that the handshake waits for. GnuTLS signs by itself, and has none.
    pub(crate) fn take_request(&mut self) -> Option<KeyRequest> {
        match self {
            Self::S2n(one) => one.take_request(),
            Self::Gnutls(_) => None,
        }
    }

    pub(crate) fn answer(&mut self, signed: Signed) {
        if let Self::S2n(one) = self {
            one.answer(signed);
        }
    }

    pub(crate) fn read(&mut self, into: &mut [u8]) -> Result<Read, Failure> {
        match self {
            Self::S2n(one) => one.read(into),
            Self::Gnutls(one) => match one.read(into) {
                Ok(None) => Ok(Read::NeedsBytes),
                Ok(Some(0)) => Ok(Read::End),
                Ok(Some(count)) => Ok(Read::Bytes(count)),
                Err(code) => Err(failed(one, code)),
            },
        }
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        match self {
            Self::S2n(one) => one.write(bytes),
            Self::Gnutls(one) => one.write(bytes).map_err(|code| failed(one, code)),
        }
    }

    pub(crate) fn close(&mut self) -> Result<(), Failure> {
        match self {
            Self::S2n(one) => one.close(),
            Self::Gnutls(one) => {
                one.close();
                Ok(())
            }
        }
    }

    pub(crate) fn session(&mut self) -> Option<Zeroizing<Vec<u8>>> {
        match self {
            Self::S2n(one) => one.session(),
            Self::Gnutls(one) => one.session(),
        }
    }

    pub(crate) fn facts(&self) -> Facts {
        match self {
            Self::S2n(one) => one.facts(),
            Self::Gnutls(one) => {
                let agreed = one.agreed();
                let group = match agreed.group {
                    "" => None,
                    "SECP256R1" => Some("secp256r1".to_owned()),
                    "SECP384R1" => Some("secp384r1".to_owned()),
                    other => Some(other.to_owned()),
                };
                Facts {
                    version: agreed.version,
                    cipher: suite(agreed.version == "TLS1.3", agreed.exchange, agreed.cipher, agreed.mac),
                    group,
                    is_resumed: agreed.is_resumed,
                    ..Facts::default()
                }
            }
        }
    }
}

fn failed(session: &Session, code: Code) -> Failure {
    let cause = match code.0 {
        -12 | -16 => Cause::Alert(session.alert()),
        -43 | -348 => Cause::Certificate,
        -110 => Cause::Cut,
        _ => Cause::Protocol,
    };
    Failure { cause, name: "" }
}

/// Ciphers: OpenSSL's name within names of suites, and GnuTLS's name.
const CIPHERS: [(&str, &str); 7] = [
    ("AES128-GCM", "AES-128-GCM"),
    ("AES256-GCM", "AES-256-GCM"),
    ("CHACHA20-POLY1305", "CHACHA20-POLY1305"),
    ("AES128", "AES-128-CBC"),
    ("AES256", "AES-256-CBC"),
    ("DES-CBC3", "3DES-CBC"),
    ("RC4", "ARCFOUR-128"),
];
/// Suites of TLS 1.3, by their names.
const SUITES_13: [(&str, &str); 3] = [
    ("TLS_AES_128_GCM_SHA256", "AES-128-GCM"),
    ("TLS_AES_256_GCM_SHA384", "AES-256-GCM"),
    ("TLS_CHACHA20_POLY1305_SHA256", "CHACHA20-POLY1305"),
];

/// OpenSSL's name of a negotiated suite.
fn suite(is_13: bool, exchange: &str, cipher: &str, mac: &str) -> String {
    if is_13 {
        let found = SUITES_13.iter().find(|(_, of_library)| *of_library == cipher);
        return found.map_or(cipher, |(name, _)| name).to_owned();
    }
    let cipher =
        CIPHERS.iter().find(|(_, of_library)| *of_library == cipher).map_or(cipher, |(name, _)| name);
    let exchange = if exchange == "RSA" { String::new() } else { format!("{exchange}-") };
    // For an AEAD GnuTLS names no hash; the cipher determines it.
    let hash = match (mac, cipher) {
        ("AEAD", "AES256-GCM") => "-SHA384",
        ("AEAD", "AES128-GCM") => "-SHA256",
        ("AEAD", _) => "",
        ("SHA1", _) => "-SHA",
        ("MD5", _) => "-MD5",
        ("SHA256", _) => "-SHA256",
        ("SHA384", _) => "-SHA384",
        (other, _) => other,
    };
    format!("{exchange}{cipher}{hash}")
}

/// The priority string that offers exactly one version, suite and group, as far as each is given.
pub(crate) fn priorities(
    version: Option<&str>,
    suite: Option<&str>,
    group: Option<&str>,
) -> Result<String, String> {
    let group = match group {
        None => "+GROUP-ALL".to_owned(),
        Some("secp256r1") => "+GROUP-SECP256R1".to_owned(),
        Some("secp384r1") => "+GROUP-SECP384R1".to_owned(),
        Some("X25519") => "+GROUP-X25519".to_owned(),
        Some(other) => return Err(format!("--group {other}: not by GnuTLS")),
    };
    let versions = match version {
        Some("TLSv1.3") => "+VERS-TLS1.3",
        Some("TLSv1.2") => "+VERS-TLS1.2",
        _ => "+VERS-TLS1.3:+VERS-TLS1.2",
    };
    let Some(suite) = suite else {
        return Ok(format!("NORMAL:-VERS-ALL:{versions}:-GROUP-ALL:{group}"));
    };
    let (exchange, cipher, mac) = if let Some((_, cipher)) = SUITES_13.iter().find(|(name, _)| *name == suite)
    {
        ("+ECDHE-RSA:+ECDHE-ECDSA", *cipher, "AEAD")
    } else {
        let (exchange, rest) = if let Some(rest) = suite.strip_prefix("ECDHE-RSA-") {
            ("+ECDHE-RSA", rest)
        } else if let Some(rest) = suite.strip_prefix("ECDHE-ECDSA-") {
            ("+ECDHE-ECDSA", rest)
        } else {
            ("+RSA", suite)
        };
        let found =
            CIPHERS.iter().find_map(|(name, of_library)| Some((*of_library, rest.strip_prefix(name)?)));
        let unknown = || format!("--suite {suite}: not by GnuTLS");
        let (cipher, hash) = found.ok_or_else(unknown)?;
        let is_aead = cipher.ends_with("GCM") || cipher.ends_with("POLY1305");
        let mac = match hash {
            _ if is_aead => "AEAD",
            "-SHA" => "SHA1",
            "-MD5" => "MD5",
            "-SHA256" => "SHA256",
            "-SHA384" => "SHA384",
            _ => return Err(unknown()),
        };
        (exchange, cipher, mac)
    };
    // Old suites go with keys of 1,024 bits.
    Ok(format!(
        "NONE:{versions}:{exchange}:+{cipher}:+{mac}:+COMP-NULL:+SIGN-ALL:+CTYPE-X509:{group}:%PROFILE_VERY_WEAK"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suites_have_the_same_name_both_ways() {
        for name in tls::SUITES {
            let Ok(string) = priorities(Some("TLSv1.2"), Some(name), None) else { continue };
            let parts: Vec<&str> = string.split(':').map(|part| part.trim_start_matches('+')).collect();
            let is_13 = name.starts_with("TLS_");
            let at = if is_13 { 4 } else { 3 };
            assert_eq!(suite(is_13, parts[2], parts[at], parts[at + 1]), name, "{string}");
        }
        for name in ["RC4-MD5", "DES-CBC3-SHA", "AES128-SHA", "ECDHE-RSA-CHACHA20-POLY1305"] {
            assert!(priorities(Some("TLSv1.2"), Some(name), None).is_ok(), "{name}");
        }
        assert!(priorities(None, Some("SEED-SHA"), None).is_err());
        assert!(priorities(None, None, Some("X25519MLKEM768")).is_err());
    }
}
