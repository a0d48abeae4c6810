//! What goes over the wire of a site.

use crate::PATIENCE;
use crate::host::Host;
use crate::site::Site;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Instant;

/// Bytes of the header of a capture file (pcap-savefile(5)).
const FILE_HEADER: usize = 24;
/// Bytes of the header of a packet in it.
const PACKET_HEADER: usize = 16;
/// Bytes of Ethernet's header.
const ETHERNET: usize = 14;

/// A capture that goes on.
#[derive(Debug)]
pub struct Capture {
    child: Child,
    file: PathBuf,
    said: Receiver<String>,
}

impl Capture {
    /// Begins one of what a host sends and is sent.
    ///
    /// # Panics
    /// If it does not begin.
    pub fn start(site: &Site, host: &Host) -> Self {
        let file = site.folder().join("wire.pcap");
        let mut command = site.command("tcpdump");
        command
            .args([
                "-i",
                &format!("to-{}", host.name()),
                "-U",
                "--immediate-mode",
                "-s",
                "128",
                "-B",
                "65536",
                "-Z",
                "root",
                "-w",
            ])
            .arg(&file);
        let mut child =
            command.stderr(Stdio::piped()).stdin(Stdio::null()).spawn().expect("tcpdump is started");
        let mut said = String::new();
        let mut lines = BufReader::new(child.stderr.take().expect("it is a pipe"));
        while !said.contains("listening") {
            assert!(lines.read_line(&mut said).is_ok_and(|read| read > 0), "tcpdump: {said}");
        }
        let (say, said) = channel();
        std::thread::spawn(move || lines.lines().map_while(Result::ok).try_for_each(|line| say.send(line)));
        Self { child, file, said }
    }

    /// How many packets it has written, and how many there were for it to read.
    fn counts(&self, site: &Site) -> (u64, u64) {
        site.run("pkill -USR1 -x tcpdump");
        // tcpdump: 12 packets captured, 14 packets received by filter, 0 packets dropped by kernel
        let line = loop {
            let line = self.said.recv_timeout(PATIENCE).expect("tcpdump says what it counts");
            if line.contains("received by filter") {
                break line;
            }
        };
        let count = |what: &str| {
            let part = line.split(", ").find(|part| part.contains(what))?;
            part.split(' ').find_map(|word| word.parse::<u64>().ok())
        };
        let counts = count("captured").zip(count("received by filter"));
        assert_eq!(count("dropped by kernel"), Some(0), "a capture is whole: {line}");
        counts.unwrap_or_else(|| panic!("tcpdump said {line:?}"))
    }

    /// Ends it; the packets, each from its IP header on.
    pub fn stop(mut self, site: &Site) -> Vec<Vec<u8>> {
        // It ends without what waits for it, where it is slower than what it captures.
        let (_, all) = self.counts(site);
        let begun = Instant::now();
        while self.counts(site).0 < all {
            assert!(begun.elapsed() < PATIENCE, "not within {PATIENCE:?}: tcpdump has written {all} packets");
        }
        site.run("pkill -INT -x tcpdump");
        self.child.wait().expect("tcpdump is waited for");
        let bytes = fs::read(&self.file).expect("a capture is read");
        let mut rest = bytes.get(FILE_HEADER..).unwrap_or_default();
        let mut packets = Vec::new();
        while let Some((header, after)) = rest.split_at_checked(PACKET_HEADER) {
            let length = u32::from_ne_bytes(header[8..12].try_into().expect("four bytes")) as usize;
            let Some((packet, after)) = after.split_at_checked(length) else { break };
            let is_ip = packet.len() > ETHERNET && matches!(packet[12..14], [0x08, 0x00] | [0x86, 0xdd]);
            if is_ip {
                packets.push(packet[ETHERNET..].to_vec());
            }
            rest = after;
        }
        packets
    }
}

/// Whether a packet goes from or to the networks behind hosts (10.0.0.0/8, fd00::/8), and so is in clear.
fn is_clear(packet: &[u8]) -> bool {
    match packet.first().map(|first| first >> 4) {
        Some(4) if packet.len() >= 20 => packet[12] == 10 || packet[16] == 10,
        Some(6) if packet.len() >= 40 => packet[8] == 0xfd || packet[24] == 0xfd,
        _ => false,
    }
}

/// Whether a packet carries ESP: as its protocol, or in UDP.
pub fn is_esp(packet: &[u8]) -> bool {
    let (protocol, payload) = match packet.first().map(|first| first >> 4) {
        Some(4) if packet.len() >= 28 => (packet[9], &packet[20..]),
        Some(6) if packet.len() >= 48 => (packet[6], &packet[40..]),
        _ => return false,
    };
    let is_4500 = |at: usize| payload.get(at..at + 2) == Some(&4500u16.to_be_bytes()[..]);
    let is_marked = payload.get(8..12) == Some(&[0; 4][..]);
    protocol == 50 || protocol == 17 && (is_4500(0) || is_4500(2)) && payload.len() > 12 && !is_marked
}

/// Packets of the networks behind hosts that went over the wire in clear, as text: none are expected.
pub fn clear(packets: &[Vec<u8>]) -> Vec<String> {
    let clear = packets.iter().filter(|packet| is_clear(packet));
    clear.take(5).map(|packet| packet.iter().take(48).map(|byte| format!("{byte:02x}")).collect()).collect()
}
