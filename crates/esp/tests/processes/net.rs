//! Network namespaces of a test's own, which are gone with it: this side and that side of a wire.
//!
//! ```text
//! 10.1.0.1, fd01::1  near  192.0.2.1, 2001:db8::1 ── 192.0.2.2, 2001:db8::2  far  10.2.0.1, fd02::1
//! ```

use crate::spaces::join;
pub use crate::spaces::{Capture, PATIENCE, Space, ip, is_in_user_namespace, wait_until, with_rights};
use std::net::{SocketAddr, UdpSocket};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

/// What datagrams say, and nobody may see outside.
pub const MARKER: &[u8] = b"nobody outside may read this";

pub const NEAR: &str = "192.0.2.1";
pub const FAR: &str = "192.0.2.2";
pub const NEAR_OUTSIDE_V6: &str = "2001:db8::1";
pub const FAR_OUTSIDE_V6: &str = "2001:db8::2";
pub const NEAR_INSIDE: &str = "10.1.0.1";
pub const FAR_INSIDE: &str = "10.2.0.1";
pub const NEAR_INSIDE_V6: &str = "fd01::1";
pub const FAR_INSIDE_V6: &str = "fd02::1";

impl Space {
    /// The rules and the routes of the data plane, and devices but for those of the test.
    pub fn traces(&self) -> String {
        let mut found = String::new();
        for family in ["-4", "-6"] {
            let rules = self.ip(&format!("{family} rule show"));
            found.extend(rules.lines().filter(|line| line.contains("58624")).map(|line| format!("{line}\n")));
            // Of a table that never had a route there is nothing, not even an empty list.
            let mut routes = Command::new("ip");
            routes.args([family, "route", "show", "table", "58624"]);
            found += &String::from_utf8(self.output(&mut routes).stdout).unwrap();
        }
        let links = self.ip("-o link show");
        let is_tests = |line: &&str| ["lo:", "outer@", "outer:"].iter().any(|name| line.contains(name));
        found.extend(links.lines().filter(|line| !is_tests(line)).map(|line| format!("{line}\n")));
        found
    }
}

/// Both sides.
pub struct Net {
    pub near: Space,
    pub far: Space,
}

impl Net {
    pub fn new() -> Net {
        let net = Net { near: Space::new(), far: Space::new() };
        join(&net.near, "outer", &net.far, "outer");
        for (space, number, other) in [(&net.near, 1, 2), (&net.far, 2, 1)] {
            space.ip(&format!("addr add 192.0.2.{number}/24 dev outer"));
            space.ip(&format!("addr add 2001:db8::{number}/64 dev outer nodad"));
            space.ip(&format!("addr add 10.{number}.0.1/32 dev lo"));
            space.ip(&format!("addr add fd0{number}::1/128 dev lo nodad"));
            space.ip("link set outer up");
            space.ip(&format!("route add default via 192.0.2.{other}"));
            space.ip(&format!("-6 route add default via 2001:db8::{other}"));
        }
        net
    }
}

impl Capture {
    /// Ends it: how many packets show the marker, and how many there were.
    pub fn seen(self) -> Seen {
        let packets = self.end();
        let shows = |packet: &&Vec<u8>| packet.windows(MARKER.len()).any(|part| part == MARKER);
        Seen { clear: packets.iter().filter(shows).count(), all: packets.len() }
    }
}

/// Packets on the wire.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Seen {
    pub clear: usize,
    pub all: usize,
}

/// A socket of UDP in a namespace.
pub fn udp(space: &Space, address: &str) -> UdpSocket {
    let socket = space.run(|| UdpSocket::bind(SocketAddr::new(ip(address), 0)).unwrap());
    socket.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
    socket
}

/// Sends marked datagrams until one arrives, for [`PATIENCE`].
pub fn arrives(sender: &UdpSocket, receiver: &UdpSocket) {
    let to = receiver.local_addr().unwrap();
    let mut read = [0; 100];
    wait_until("a datagram arrives", || {
        // While routes say that there is no way, so does this.
        let _ = sender.send_to(MARKER, to);
        receiver.recv(&mut read).is_ok_and(|bytes| &read[..bytes] == MARKER)
    });
}

/// Sends marked datagrams of both families for so long, one after another.
pub fn send_for(space: &Space, time: Duration) {
    let sockets = [(NEAR_INSIDE, FAR_INSIDE), (NEAR_INSIDE_V6, FAR_INSIDE_V6)]
        .map(|(source, destination)| (udp(space, source), SocketAddr::new(ip(destination), 7)));
    let end = Instant::now() + time;
    while Instant::now() < end {
        for (socket, to) in &sockets {
            let _ = socket.send_to(MARKER, to);
        }
        thread::sleep(Duration::from_millis(1));
    }
}
