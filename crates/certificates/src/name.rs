//! Names that a certificate is for: DNS names and IP addresses (RFC 5280, section 4.2.1.6).

use crate::CertificateError;
use std::fmt;
use std::net::IpAddr;

/// Longest DNS name (RFC 1035, section 2.3.4), and longest label in one, in bytes.
const NAME_BYTES_MAX: usize = 253;
const LABEL_BYTES_MAX: usize = 63;

/// A name that a certificate is for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Name {
    /// A DNS name in ASCII, lower case, `*` at most as its first label (RFC 6125, section 6.4.3).
    Dns(String),
    /// An IP address.
    Ip(IpAddr),
}

impl Name {
    /// A name or an address as people type it.
    ///
    /// # Errors
    /// [`CertificateError::Wanted`], which says what is wrong.
    pub fn parse(text: &str) -> Result<Self, CertificateError> {
        if let Ok(address) = text.parse() {
            return Ok(Self::Ip(address));
        }
        let wrong = |cause: &str| CertificateError::Wanted(format!("{text:?} is no name: {cause}"));
        if !text.is_ascii() {
            return Err(wrong("other letters than ASCII are written as xn--… (`idn2` makes it)"));
        }
        let name = text.to_ascii_lowercase();
        if name.is_empty() || name.len() > NAME_BYTES_MAX {
            return Err(wrong("it has 1 to 253 characters"));
        }
        for (at, label) in name.split('.').enumerate() {
            if at == 0 && label == "*" && name.len() > 2 {
                continue;
            }
            let letters =
                label.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'));
            if label.is_empty() || label.len() > LABEL_BYTES_MAX || !letters {
                return Err(wrong(
                    "between dots stand 1 to 63 letters, digits and hyphens; * stands first and alone",
                ));
            }
            if label.starts_with('-') || label.ends_with('-') {
                return Err(wrong("a part begins or ends with a hyphen"));
            }
        }
        Ok(Self::Dns(name))
    }
}

impl fmt::Display for Name {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Dns(name) => out.write_str(name),
            Self::Ip(address) => address.fmt(out),
        }
    }
}
