//! Three network namespaces of a test's own:
//!
//! ```text
//! first ── 192.0.2.0/24, 2001:db8:1::/64 ── middle ── 198.51.100.0/24, 2001:db8:2::/64 ── second
//! ```
//!
//! In the middle there is no TUN: all that is captured there is what is outside.

use std::io;

mod spaces;
pub mod tunnel;

pub use spaces::*;

/// The three of the picture.
pub struct Net {
    pub first: Space,
    pub middle: Space,
    pub second: Space,
}

impl Net {
    pub fn new() -> Net {
        let net = Net { first: Space::new(), middle: Space::new(), second: Space::new() };
        for (number, space) in [(1, &net.first), (2, &net.second)] {
            let (v4, v6) = (["192.0.2", "198.51.100"][number - 1], format!("2001:db8:{number}"));
            join(space, "outer", &net.middle, &format!("middle{number}"));
            // Up before they have addresses: else the first question for a neighbour may go to one that does not listen
            // yet.
            space.ip("link set outer up");
            net.middle.ip(&format!("link set middle{number} up"));
            space.ip(&format!("addr add {v4}.1/24 dev outer"));
            space.ip(&format!("addr add {v6}::1/64 dev outer nodad"));
            net.middle.ip(&format!("addr add {v4}.254/24 dev middle{number}"));
            net.middle.ip(&format!("addr add {v6}::fe/64 dev middle{number} nodad"));
            space.ip(&format!("route add default via {v4}.254"));
            space.ip(&format!("route add default via {v6}::fe"));
        }
        net.middle.write("/proc/sys/net/ipv4/ip_forward", "1");
        net.middle.write("/proc/sys/net/ipv6/conf/all/forwarding", "1");
        net
    }
}

/// An error of reading that says nothing is there.
pub fn is_nothing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}
