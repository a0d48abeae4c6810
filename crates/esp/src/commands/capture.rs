//! `cryptand ipsec capture`: packets outside, by tcpdump, with the keys that open them, as Wireshark reads them.

use super::netlink::{Keys, dump_request};
use super::{Failure, print};
use crate::folder::PlaneFolder;
use options::ipsec::Capture;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketAddrUnix, SocketFlags, SocketType};
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::process::{Command, ExitCode, Stdio};
use zeroize::Zeroizing;

/// Longest datagram of an answer, in bytes.
const DATAGRAM_BYTES_MAX: usize = 64 << 10;
/// Filter of the packets to capture: protocol 50, and UDP on port 4500 (pcap-filter(7)).
const FILTER: &str = "ip proto 50 or ip6 proto 50 or udp port 4500";

/// Captures for a time, and writes the keys of all SAs that exist at the start or at the end.
pub fn run(asked: &Capture) -> Result<ExitCode, Failure> {
    let plane = PlaneFolder::of(asked.plane.folder.as_deref());
    let into = &asked.into;
    let file_error = |path: &std::path::Path, cause: std::io::Error| format!("{}: {cause}", path.display());
    DirBuilder::new().mode(0o700).create(into).map_err(|cause| file_error(into, cause))?;
    let mut rows = keys(&plane)?;
    let packets = into.join("packets.pcap");
    let mut capture = Command::new("timeout");
    capture.args([
        "--signal=INT",
        &asked.seconds.to_string(),
        "tcpdump",
        "-q",
        "-U",
        "-i",
        &asked.interface,
        "-w",
    ]);
    let captured = capture.arg(&packets).arg(FILTER).stdin(Stdio::null()).output();
    let captured = captured.map_err(|cause| format!("starting tcpdump (Debian package tcpdump): {cause}"))?;
    // 124: `timeout` ended the capture.
    if !packets.exists() || !matches!(captured.status.code(), Some(0 | 124)) {
        return Err(format!("tcpdump: {}", String::from_utf8_lossy(&captured.stderr).trim()));
    }
    for row in keys(&plane)? {
        if !rows.contains(&row) {
            rows.push(row);
        }
    }
    let path = into.join("esp_sa");
    let written = OpenOptions::new()
        .create_new(true)
        .write(true)
        .mode(0o600)
        .open(&path)
        .and_then(|mut file| rows.iter().try_for_each(|row| file.write_all(row.as_bytes())));
    written.map_err(|cause| file_error(&path, cause))?;
    let profile = fs::canonicalize(into).unwrap_or_else(|_| into.clone());
    print(&format!(
        "{}: packets\n{}: keys of {} SAs; whoever has them reads and forges what these SAs carry, also what was recorded elsewhere\n\nOn a machine of your own: copy esp_sa into Wireshark's folder of preferences (Help, About, Folders), then\n  wireshark -o esp.enable_encryption_decode:TRUE -o esp.enable_authentication_check:TRUE {}\nand remove {} when you are done.\n",
        packets.display(),
        path.display(),
        rows.len(),
        packets.display(),
        profile.display(),
    ))
}

/// The SAs with their keys, a line each, as in Wireshark's table of ESP SAs.
fn keys(plane: &PlaneFolder) -> Result<Vec<Zeroizing<String>>, Failure> {
    let path = plane.xfrm_socket();
    let error = |errno: rustix::io::Errno| match errno {
        rustix::io::Errno::NOENT | rustix::io::Errno::CONNREFUSED => {
            format!("no data plane serves {}", plane.folder().display())
        }
        other => format!("asking at {}: {other}", path.display()),
    };
    let address = SocketAddrUnix::new(&path).map_err(error)?;
    let socket =
        rustix::net::socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)
            .map_err(error)?;
    rustix::net::connect(&socket, &address).map_err(error)?;
    let mut reader = Keys::default();
    rustix::net::send(&socket, &dump_request(), SendFlags::NOSIGNAL).map_err(error)?;
    let mut datagram = Zeroizing::new(vec![0; DATAGRAM_BYTES_MAX]);
    while !reader.is_done() {
        let (_, bytes) = rustix::net::recv(&socket, &mut datagram[..], RecvFlags::empty()).map_err(error)?;
        if bytes == 0 {
            return Err(format!(
                "asking at {}: the data plane ended, or does not serve this user",
                path.display()
            ));
        }
        reader.read(&datagram[..bytes])?;
    }
    Ok(reader.rows())
}
