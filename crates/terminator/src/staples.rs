//! OCSP responses that are shown with certificates (stapling).

use tls::{Chain, OcspError, OcspHash, OcspResponse, OcspStatus};

/// Longest file of an OCSP response, in bytes.
pub(crate) const FILE_BYTES_MAX: u64 = 64 << 10;

/// An OCSP response that belongs to a certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Staple {
    pub(crate) der: Vec<u8>,
    /// Second since 1970 after which the response is not shown; `None` if the response states no end.
    pub(crate) until: Option<i64>,
}

/// Why an OCSP response is not shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NoStaple {
    /// The file is not an OCSP response for the chain's certificate.
    Wrong(String),
    /// The file is an OCSP response that helps no client: serving goes on without it.
    Useless(String),
}

impl Staple {
    /// The response in a file that can be shown with a chain at the second `now` since 1970.
    ///
    /// # Errors
    /// [`NoStaple`].
    pub(crate) fn new(der: Vec<u8>, chain: &Chain, now: i64) -> Result<Self, NoStaple> {
        let response = OcspResponse::from_der(&der).map_err(|error| match error {
            OcspError::Unreadable => NoStaple::Wrong(error.to_string()),
            OcspError::Unsuccessful(_) => NoStaple::Useless(error.to_string()),
        })?;
        let leaf = chain.leaf();
        let issuer_key = chain.issuer_key_bits();
        let answer = response.answers.iter().find(|answer| {
            let is = |hashed: &[u8], bytes: &[u8]| match answer.hash {
                OcspHash::Sha1 => hashed == engine::sha1(bytes),
                OcspHash::Sha256 => hashed == engine::sha256(bytes),
                OcspHash::Other => false,
            };
            // The issuer's key is known only if the chain has the issuer's certificate.
            answer.serial == leaf.serial
                && is(&answer.issuer_name, &leaf.issuer)
                && issuer_key.as_ref().is_none_or(|key| is(&answer.issuer_key, key))
        });
        let Some(answer) = answer else {
            return Err(NoStaple::Wrong(
                "it is of another certificate than the chain's first one".to_owned(),
            ));
        };
        let useless = |why: &str| Err(NoStaple::Useless(why.to_owned()));
        match answer.status {
            OcspStatus::Good => {}
            OcspStatus::Revoked => return useless("it says that the certificate is revoked"),
            OcspStatus::Unknown => return useless("the responder does not know the certificate"),
        }
        if answer.this_update > now {
            return useless("it does not hold yet");
        }
        if answer.next_update.is_some_and(|next| next < now) {
            return useless("its time is over");
        }
        Ok(Self { until: answer.next_update, der })
    }
}
