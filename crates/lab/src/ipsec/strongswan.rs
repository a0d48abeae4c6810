//! strongSwan's own ESP, the plugin `kernel-libipsec`: an IKE daemon at each end, which carries the packets too.

use super::desk::{CHARON, Strongswan, write};
use super::suite::Suite;
use super::tunnel::{refused, until};
use crate::load::LabError;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use traffic::namespaces::{End, Pair};

/// The shared secret of the daemons. It protects nothing.
const SECRET: &str = "measured, not kept";

/// Starts both daemons, and has the first one set up the tunnel.
pub(super) fn start(
    pair: &mut Pair,
    strongswan: &Strongswan,
    folder: &Path,
    suite: Suite,
) -> Result<Vec<(u32, End)>, LabError> {
    let mut daemons = Vec::new();
    for end in End::BOTH {
        if let Some(usr) = &strongswan.over_usr {
            let layers = format!("lowerdir={}:/usr", usr.display());
            pair.run(end, "mount", ["-t", "overlay", "overlay", "-o", &layers, "/usr"]).map_err(refused)?;
        }
        let of = Files::of(folder, end);
        write(&of.settings, &settings(&of))?;
        write(&of.connections, &connections(end, suite))?;
        let mut command = pair.command(end, CHARON);
        command.env("STRONGSWAN_CONF", &of.settings);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        daemons.push((pair.keep(&mut command).map_err(refused)?, end));
    }
    for end in End::BOTH {
        let of = Files::of(folder, end);
        until("strongSwan", || of.vici.exists().then_some(()))?;
        let connections = of.connections.display().to_string();
        swanctl(pair, end, &of, &["--load-all", "--file", &connections])?;
    }
    swanctl(pair, End::A, &Files::of(folder, End::A), &["--initiate", "--child", "tunnel"])?;
    Ok(daemons)
}

struct Files {
    settings: PathBuf,
    connections: PathBuf,
    vici: PathBuf,
    log: PathBuf,
}

impl Files {
    fn of(folder: &Path, end: End) -> Self {
        let path = |name: &str| folder.join(format!("{name}-{}", end.name()));
        Self {
            settings: path("settings"),
            connections: path("connections"),
            vici: path("vici"),
            log: path("log"),
        }
    }
}

fn swanctl(pair: &Pair, end: End, of: &Files, arguments: &[&str]) -> Result<(), LabError> {
    let (settings, socket) =
        (format!("STRONGSWAN_CONF={}", of.settings.display()), format!("unix://{}", of.vici.display()));
    let before = [settings.as_str(), "swanctl"];
    let words = before.into_iter().chain(arguments.iter().copied()).chain(["--uri", &socket]);
    pair.run(end, "env", words).map_err(refused).map(drop)
}

/// Settings of a daemon. strongSwan's own cryptography comes first, as in Debian: with it AES-GCM uses the processor's
/// instructions.
fn settings(of: &Files) -> String {
    format!(
        "charon {{\n load_modular = no\n load = {PLUGINS}\n filelog {{ log {{ path = {log}\n default = 1\n }} }}\n \
         syslog {{ daemon {{ default = -1\n }} auth {{ default = -1\n }} }}\n plugins {{ vici {{ socket = unix://{vici}\n }} }}\n}}\n\
         swanctl {{ load = random nonce openssl pem\n socket = unix://{vici}\n}}\n",
        log = of.log.display(),
        vici = of.vici.display()
    )
}

const PLUGINS: &str = "aesni aes sha1 sha2 hmac random nonce openssl kdf pem gcm kernel-libipsec kernel-netlink socket-default vici";

fn connections(end: End, suite: Suite) -> String {
    let (local, remote) = (end.outer(), end.other().outer());
    let (from, to) = (end.inner(), end.other().inner());
    format!(
        "connections {{ peer {{ version = 2\n local_addrs = {local}\n remote_addrs = {remote}\n encap = yes\n \
         proposals = aes128-sha256-ecp256\n local {{ auth = psk\n id = {name}\n }}\n remote {{ auth = psk\n }}\n \
         children {{ tunnel {{ local_ts = {from}/32\n remote_ts = {to}/32\n esp_proposals = {proposal}\n mode = tunnel\n \
         rekey_time = 0\n }} }} }} }}\nsecrets {{ ike-both {{ secret = \"{SECRET}\"\n }} }}\n",
        name = end.name(),
        proposal = suite.proposal()
    )
}
