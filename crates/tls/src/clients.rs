//! Certificates of clients as values: whom they are asked of, and what a caller says of those that are shown. The
//! library checks only that the client has the private key of the first one.

/// Bytes of a certificate's length in a chain (RFC 8446, 4.4.2).
const LENGTH_BYTES: usize = 3;

/// That clients of a chain's names are asked for certificates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Clients {
    /// The caller's number of what they are held against.
    pub number: u32,
    /// Whether a client that has none is refused.
    pub is_required: bool,
}

/// What a client has shown, to be judged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientChain {
    /// [`Clients::number`] of the name that it asked for.
    pub number: u32,
    /// Its certificates in DER, its own first; as it sent them: nothing is checked, and they may be no certificates.
    pub certificates: Vec<Vec<u8>>,
}

/// Why a client is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The alert that it gets (RFC 8446, 6.2).
    pub alert: u8,
    /// For logs: [`crate::Failure::name`].
    pub name: &'static str,
}

impl Refusal {
    /// Said of clients that show none where one is required, with this version.
    pub(crate) fn none(is_tls13: bool) -> Self {
        // Older versions have no alert of its own for it (RFC 5246, 7.4.6).
        Self { alert: if is_tls13 { 116 } else { 40 }, name: "none" }
    }

    /// What the library has refused by itself, by its name of the error: what it cannot read, or keys of a kind that it
    /// does not know.
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

/// The certificates of a chain, each behind its length; none where it does not hold together.
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
