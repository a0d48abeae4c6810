//! Named policies: the versions, suites and groups that a server offers.

use s2n_tls::security;

/// The versions, suites and groups that a listener offers. The library's policies behind them have numbers or dates,
/// and never change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Policy {
    /// TLS 1.2 with ephemeral key agreement and authenticated encryption, and TLS 1.3; X25519MLKEM768 before X25519.
    #[default]
    Modern,
    /// As [`Policy::Modern`], with RSA key exchange in TLS 1.2 for clients that know nothing else: it has no forward
    /// secrecy.
    Compatible,
    /// Everything from TLS 1.0 on, also 3DES, RC4 and SHA-1; no SSL 3.0. For measurements and machines that cannot be
    /// replaced; insecure.
    LegacyInsecure,
}

impl Policy {
    /// All policies, from the strictest on.
    pub const ALL: [Self; 3] = [Self::Modern, Self::Compatible, Self::LegacyInsecure];

    /// The policy's name in settings.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Modern => "modern",
            Self::Compatible => "compatible",
            Self::LegacyInsecure => "legacy-insecure",
        }
    }

    /// The policy with this name; `None` if there is none.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|policy| policy.name() == name)
    }

    /// Whether clients may choose RSA key exchange, for which the server's key decrypts a premaster.
    pub const fn has_rsa_key_exchange(self) -> bool {
        !matches!(self, Self::Modern)
    }

    pub(crate) fn of_library(self) -> Result<security::Policy, s2n_tls::error::Error> {
        security::Policy::from_version(match self {
            Self::Modern => "CloudFront-TLS-1-2-2021-PQ",
            Self::Compatible => "ELBSecurityPolicy-TLS13-1-2-Ext2-PQ-2025-09",
            Self::LegacyInsecure => "CloudFront-SSL-v-3",
        })
    }
}

/// The suites of the library, by OpenSSL's names, those of TLS 1.3 first: what [`crate::Facts::cipher`] may be.
pub const SUITES: [&str; 36] = [
    "TLS_AES_128_GCM_SHA256",
    "TLS_AES_256_GCM_SHA384",
    "TLS_CHACHA20_POLY1305_SHA256",
    "ECDHE-ECDSA-AES128-GCM-SHA256",
    "ECDHE-ECDSA-AES256-GCM-SHA384",
    "ECDHE-RSA-AES128-GCM-SHA256",
    "ECDHE-RSA-AES256-GCM-SHA384",
    "ECDHE-RSA-CHACHA20-POLY1305",
    "ECDHE-ECDSA-CHACHA20-POLY1305",
    "ECDHE-ECDSA-AES128-SHA",
    "ECDHE-ECDSA-AES256-SHA",
    "ECDHE-ECDSA-AES128-SHA256",
    "ECDHE-ECDSA-AES256-SHA384",
    "ECDHE-RSA-AES128-SHA",
    "ECDHE-RSA-AES256-SHA",
    "ECDHE-RSA-AES128-SHA256",
    "ECDHE-RSA-AES256-SHA384",
    "ECDHE-RSA-DES-CBC3-SHA",
    "ECDHE-RSA-RC4-SHA",
    "AES128-GCM-SHA256",
    "AES256-GCM-SHA384",
    "AES128-SHA256",
    "AES256-SHA256",
    "AES128-SHA",
    "AES256-SHA",
    "DES-CBC3-SHA",
    "RC4-SHA",
    "RC4-MD5",
    "DHE-RSA-CHACHA20-POLY1305",
    "DHE-RSA-AES128-GCM-SHA256",
    "DHE-RSA-AES256-GCM-SHA384",
    "DHE-RSA-AES128-SHA256",
    "DHE-RSA-AES256-SHA256",
    "DHE-RSA-AES128-SHA",
    "DHE-RSA-AES256-SHA",
    "DHE-RSA-DES-CBC3-SHA",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_its_policys_and_the_library_knows_it() {
        for policy in Policy::ALL {
            assert_eq!(Policy::from_name(policy.name()), Some(policy));
            policy.of_library().unwrap();
        }
        assert_eq!(Policy::from_name("Modern"), None);
    }
}
