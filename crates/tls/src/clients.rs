//! Clients' certificates as values: who is asked for one, and the caller's verdict on those that are shown. The library
//! only checks that the client has the private key of the first certificate.

/// Bytes of a certificate's length in a chain (RFC 8446, 4.4.2).
const LENGTH_BYTES: usize = 3;

/// The demand for certificates from clients of a chain's names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Clients {
    /// The caller's number for the authorities that certificates are checked against.
    pub number: u32,
    /// Whether a client without a certificate is refused.
    pub is_required: bool,
}

/// The certificates that a client has shown, to be judged by the caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientChain {
    /// [`Clients::number`] of the name that the client asked for.
    pub number: u32,
    /// The client's certificates in DER, its own first. They are as the client sent them: nothing is checked, and they
    /// may be no certificates.
    pub certificates: Vec<Vec<u8>>,
}

/// Why a client is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The TLS alert that the client gets (RFC 8446, 6.2).
    pub alert: u8,
    /// The reason, for logs: becomes [`crate::Failure::name`].
    pub name: &'static str,
}

impl Refusal {
    /// The refusal of a client that shows no certificate although one is required.
    pub(crate) fn none(is_tls13: bool) -> Self {
        // TLS versions before 1.3 have no alert for this case (RFC 5246, 7.4.6).
        Self { alert: if is_tls13 { 116 } else { 40 }, name: "none" }
    }

    /// The refusal for an error of the library, by the error's name: a certificate cannot be read, or has an unknown
    /// kind of key. `None` for other errors.
    pub(crate) fn of_library(name: &str) -> Option<Self> {
        match name {
            "S2N_ERR_CERT_TYPE_UNSUPPORTED" => Some(Self { alert: 43, name: "unsupported" }),
            "S2N_ERR_DECODE_CERTIFICATE" | "S2N_ERR_CERT_INVALID" | "S2N_ERR_NO_CERT_FOUND" => {
                Some(Self { alert: 42, name: "malformed" })
            }
            _ => None,
        }
    }
}

/// The certificates in a chain in which each is preceded by its length; `None` if the chain is malformed.
pub(crate) fn split(mut chain: &[u8]) -> Option<Vec<Vec<u8>>> {
    let mut certificates = Vec::new();
    while !chain.is_empty() {
        let (length, rest) = chain.split_first_chunk::<LENGTH_BYTES>()?;
        let length = length.iter().fold(0, |sum, byte| (sum << 8) | usize::from(*byte));
        let (certificate, rest) = rest.split_at_checked(length)?;
        certificates.push(certificate.to_vec());
        chain = rest;
    }
    Some(certificates)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chains_are_split_where_they_hold_together() {
        assert_eq!(split(&[]), Some(Vec::new()));
        assert_eq!(split(&[0, 0, 2, 5, 6, 0, 0, 0]), Some(vec![vec![5, 6], vec![]]));
        for wrong in [&[0][..], &[0, 0, 1], &[0, 0, 2, 5], &[255, 255, 255, 1], &[0, 0, 1, 1, 0, 0]] {
            assert_eq!(split(wrong), None, "{wrong:?}");
        }
    }
}
