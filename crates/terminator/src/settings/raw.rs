//! The settings file as it is written, before it is checked.

use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::PathBuf;
use toml::Spanned;

/// A list of names or addresses.
pub(super) type Texts = Spanned<Vec<Spanned<String>>>;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawSettings {
    pub(super) user: Option<Spanned<String>>,
    pub(super) loops: Option<Spanned<u64>>,
    pub(super) stop_seconds: Option<Spanned<u64>>,
    pub(super) home: Option<RawHome>,
    pub(super) log: Option<RawLog>,
    pub(super) tickets: Option<RawTickets>,
    pub(super) sessions: Option<RawSessions>,
    pub(super) limits: Option<RawLimits>,
    pub(super) metrics: Option<RawMetrics>,
    pub(super) status: Option<RawStatus>,
    pub(super) reload: Option<RawReload>,
    #[serde(default)]
    pub(super) certificate: Vec<Spanned<RawCertificate>>,
    #[serde(default)]
    pub(super) listener: Vec<Spanned<RawListener>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawHome {
    pub(super) folder: Spanned<PathBuf>,
    pub(super) domain: Option<Spanned<u64>>,
    pub(super) credential: Option<Spanned<PathBuf>>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawLog {
    pub(super) access: Option<Spanned<String>>,
    pub(super) format: Option<Spanned<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawTickets {
    pub(super) rotate_hours: Option<Spanned<u64>>,
    pub(super) file: Option<Spanned<PathBuf>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawSessions {
    pub(super) cache: Option<Spanned<u64>>,
    pub(super) seconds: Option<Spanned<u64>>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawLimits {
    pub(super) connections: Option<Spanned<u64>>,
    pub(super) connections_per_address: Option<Spanned<u64>>,
    pub(super) failed_connections: Option<Spanned<u64>>,
    pub(super) handshake_seconds: Option<Spanned<u64>>,
    pub(super) idle_seconds: Option<Spanned<u64>>,
    pub(super) connect_seconds: Option<Spanned<u64>>,
    pub(super) buffer_kib: Option<Spanned<u64>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawCertificate {
    pub(super) chain: Option<Spanned<PathBuf>>,
    pub(super) key: Option<Spanned<PathBuf>>,
    pub(super) label: Option<Spanned<String>>,
    pub(super) ocsp: Option<Spanned<PathBuf>>,
    pub(super) policy: Option<Spanned<String>>,
    pub(super) default: Option<bool>,
    pub(super) clients: Option<Spanned<RawClients>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawClients {
    pub(super) ca: Spanned<PathBuf>,
    #[serde(default)]
    pub(super) crl: Vec<Spanned<PathBuf>>,
    pub(super) required: Option<bool>,
    pub(super) depth: Option<Spanned<u64>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawListener {
    pub(super) address: Option<Spanned<String>>,
    pub(super) socket: Option<Spanned<String>>,
    pub(super) policy: Option<Spanned<String>>,
    pub(super) backends: Option<Texts>,
    pub(super) answer: Option<Spanned<String>>,
    pub(super) exchange: Option<Spanned<RawExchange>>,
    pub(super) accept_proxy: Option<Texts>,
    pub(super) send_proxy: Option<Spanned<String>>,
    pub(super) alpn: Option<Texts>,
    pub(super) alpn_backends: Option<BTreeMap<Spanned<String>, Texts>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawExchange {
    pub(super) receive: Spanned<u64>,
    pub(super) send: Spanned<u64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawMetrics {
    pub(super) address: Option<Spanned<String>>,
    pub(super) socket: Option<Spanned<PathBuf>>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawStatus {
    pub(super) socket: Option<Spanned<PathBuf>>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawReload {
    #[serde(default)]
    pub(super) watch: bool,
    pub(super) quiet_milliseconds: Option<Spanned<u64>>,
}
