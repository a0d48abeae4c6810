//! wireguard-go, configured through its socket (the protocol of `wg(8)`'s cross-platform interface).

use super::tunnel::{refused, until};
use crate::load::LabError;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use traffic::namespaces::{End, Pair};

const DEVICE: &str = "wg0";
const PORT: u16 = 51820;
/// Two pairs of keys for X25519, private and public, which protect nothing.
const KEYS: [[&str; 2]; 2] = [
    [
        "77076d0a7318a57d3c16c17251b26645df4c2f92ebc0992ac177fba51db92c2a",
        "f8a9535a2d2ff605e8e144d54f4ef5c62313a2055dbb21fddd3fd9c299eb015d",
    ],
    [
        "5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb",
        "de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f",
    ],
];

/// Starts wireguard-go at both ends; gives its processes.
pub(super) fn start(pair: &mut Pair, program: &Path) -> Result<Vec<(u32, End)>, LabError> {
    let mut planes = Vec::new();
    for end in End::BOTH {
        pair.run(end, "mkdir", ["-p", "/run/wireguard"]).map_err(refused)?;
        let mut command = pair.command(end, program);
        command.args(["-f", DEVICE]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        planes.push((pair.keep(&mut command).map_err(refused)?, end));
        // The socket's folder lies in the namespace; it is reached through the process that holds the namespace.
        let path = format!("/proc/{}/root/run/wireguard/{DEVICE}.sock", pair.holder(end));
        let socket = until("wireguard-go", || UnixStream::connect(PathBuf::from(&path)).ok())?;
        tell(socket, end).map_err(LabError::io("tell wireguard-go of its peer"))?;
        let (address, there) = (format!("{}/32", end.inner()), end.other().inner().to_string());
        pair.ip(end, ["address", "add", &address, "dev", DEVICE]).map_err(refused)?;
        pair.ip(end, ["link", "set", DEVICE, "up"]).map_err(refused)?;
        pair.ip(end, ["route", "add", &there, "dev", DEVICE]).map_err(refused)?;
    }
    Ok(planes)
}

fn tell(mut socket: UnixStream, end: End) -> std::io::Result<()> {
    let (own, other) = match end {
        End::A => (KEYS[0], KEYS[1]),
        End::B => (KEYS[1], KEYS[0]),
    };
    let (there, inner) = (end.other().outer(), end.other().inner());
    let text = format!(
        "set=1\nprivate_key={}\nlisten_port={PORT}\npublic_key={}\nendpoint={there}:{PORT}\nallowed_ip={inner}/32\n\n",
        own[0], other[1]
    );
    socket.write_all(text.as_bytes())?;
    let mut said = String::new();
    BufReader::new(socket).read_line(&mut said)?;
    match said.trim_end() {
        "errno=0" => Ok(()),
        other => Err(std::io::Error::other(format!("it answered {other:?}"))),
    }
}
