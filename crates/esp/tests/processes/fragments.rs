//! Datagrams that are longer than the device, under policies that name ports: they arrive, sealed, and no piece of them
//! is seen outside.

use crate::net::{
    Capture, FAR, FAR_INSIDE, FAR_INSIDE_V6, FAR_OUTSIDE_V6, MARKER, NEAR, NEAR_INSIDE, NEAR_INSIDE_V6,
    NEAR_OUTSIDE_V6, Net, ip, wait_until, with_rights,
};
use crate::plane::Plane;
use crate::xfrm::{self, with_ports};
use netlink_packet_xfrm::XfrmMessage;
use serde_json::Value;
use std::io::ErrorKind;
use std::net::{SocketAddr, UdpSocket};
use std::time::Duration;

/// The port that policies name, as L2TP has it.
const PORT: u16 = 1701;
/// Datagrams of so many bytes: in two pieces and in many, up to almost the longest.
const LENGTHS: [usize; 4] = [1500, 4000, 20_000, 60_000];

/// Marked in each of its pieces.
fn marked(bytes: usize) -> Vec<u8> {
    MARKER.iter().copied().cycle().take(bytes).collect()
}

fn bind(net: &Net, is_near: bool, address: &str, port: u16) -> UdpSocket {
    let space = if is_near { &net.near } else { &net.far };
    let mut bound = None;
    // The one that had the port before may be on its way out.
    wait_until(&format!("port {port} of {address} is free"), || {
        bound = space.run(|| UdpSocket::bind(SocketAddr::new(ip(address), port))).ok();
        bound.is_some()
    });
    let socket = bound.unwrap();
    socket.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
    socket
}

/// Sends datagrams of all lengths until each has arrived.
fn long_ones_arrive(sender: &UdpSocket, receiver: &UdpSocket) {
    let to = receiver.local_addr().unwrap();
    for bytes in LENGTHS {
        let (text, mut read) = (marked(bytes), vec![0; 1 << 16]);
        wait_until(&format!("a datagram of {bytes} bytes arrives at {to}"), || {
            let _ = sender.send_to(&text, to);
            receiver.recv(&mut read).is_ok_and(|count| read[..count] == text)
        });
    }
}

/// Adds policies that name the port, of this direction and back, for one family.
fn protect(plane: &Plane<'_>, own: &str, other: &str, ends: (&str, &str), is_tunnel: bool) {
    let bits = if ip(own).is_ipv4() { 32 } else { 128 };
    let mut client = plane.xfrm();
    let out = xfrm::policy(1, (own, other), bits, ends);
    let back = xfrm::policy(0, (other, own), bits, (ends.1, ends.0));
    for (policy, ports) in [(out, (0, PORT)), (back, (PORT, 0))] {
        // Either end may be the port: both ends send from it, too.
        let mode = if is_tunnel { policy } else { xfrm::transport(policy) };
        client.ok(with_ports(mode, 17, ports));
    }
}

#[test]
fn long_datagrams_arrive_under_policies_with_ports_and_none_of_their_pieces_leaves_in_clear() {
    with_rights(|| {
        for is_tunnel in [true, false] {
            let net = Net::new();
            let planes = [Plane::start(&net.near, &[]), Plane::start(&net.far, &[])];
            let (v4, v6) = if is_tunnel {
                ((NEAR_INSIDE, FAR_INSIDE), (NEAR_INSIDE_V6, FAR_INSIDE_V6))
            } else {
                ((NEAR, FAR), (NEAR_OUTSIDE_V6, FAR_OUTSIDE_V6))
            };
            for (near, far) in [v4, v6] {
                let outside = if is_tunnel { (NEAR, FAR) } else { (near, far) };
                protect(&planes[0], near, far, outside, is_tunnel);
                protect(&planes[1], far, near, (outside.1, outside.0), is_tunnel);
            }
            let capture = Capture::begin(&net.far);
            // Without SAs all is dropped, and nothing passes.
            for (near, far) in [v4, v6] {
                let sender = bind(&net, true, near, PORT);
                for bytes in LENGTHS.repeat(50) {
                    let _ = sender.send_to(&marked(bytes), SocketAddr::new(ip(far), PORT));
                }
            }
            assert_eq!(capture.seen().clear, 0, "tunnel {is_tunnel}, without SAs");
            for plane in &planes {
                let mut client = plane.xfrm();
                for sa in xfrm::sas(0x1001) {
                    client.ok(if is_tunnel { sa } else { xfrm::transport(sa) });
                }
                if !is_tunnel {
                    for (source, destination, spi) in
                        [(NEAR_OUTSIDE_V6, FAR_OUTSIDE_V6, 0x2001), (FAR_OUTSIDE_V6, NEAR_OUTSIDE_V6, 0x2002)]
                    {
                        client.ok(xfrm::transport(xfrm::sa(source, destination, spi)));
                    }
                }
            }
            let capture = Capture::begin(&net.far);
            // Both ends stay bound until all is counted: one that comes late to a closed port is answered by an ICMP
            // error, which quotes it and is of another protocol than the policies name.
            let ends =
                [v4, v6].map(|(near, far)| (bind(&net, true, near, PORT), bind(&net, false, far, PORT)));
            for (near, far) in &ends {
                long_ones_arrive(near, far);
                long_ones_arrive(far, near);
            }
            let seen = capture.seen();
            drop(ends);
            assert!(seen.clear == 0 && seen.all > 100, "tunnel {is_tunnel}: {seen:?}");
            // What no policy is for goes on its way as it is, in pieces too.
            let capture = Capture::begin(&net.far);
            for (near, far) in [v4, v6] {
                let (sender, receiver) = (bind(&net, true, near, 9), bind(&net, false, far, 9));
                let (text, mut read) = (marked(4000), vec![0; 1 << 16]);
                wait_until("a datagram that no policy is for arrives", || {
                    let _ = sender.send_to(&text, receiver.local_addr().unwrap());
                    receiver.recv(&mut read).is_ok_and(|count| read[..count] == text)
                });
            }
            assert!(capture.seen().clear >= 4, "tunnel {is_tunnel}: it was not protected");
        }
    });
}

/// An error of ICMP quotes the datagram that it is about, and is of another protocol than a policy with ports is for.
#[test]
fn icmp_errors_about_sealed_datagrams_are_sealed_where_a_policy_is_for_icmp() {
    with_rights(|| {
        for has_policy in [false, true] {
            let net = Net::new();
            let planes = [Plane::start(&net.near, &[]), Plane::start(&net.far, &[])];
            protect(&planes[0], NEAR_INSIDE, FAR_INSIDE, (NEAR, FAR), true);
            protect(&planes[1], FAR_INSIDE, NEAR_INSIDE, (FAR, NEAR), true);
            for (index, plane) in planes.iter().enumerate() {
                let mut client = plane.xfrm();
                xfrm::sas(0x1001).into_iter().for_each(|sa| client.ok(sa));
                if has_policy {
                    let (out, back) = ((FAR_INSIDE, NEAR_INSIDE), (FAR, NEAR));
                    let policy = xfrm::policy([0, 1][index], out, 32, back);
                    client.ok(with_ports(policy, 1, (0, 0)));
                }
            }
            let capture = Capture::begin(&net.far);
            let sender = bind(&net, true, NEAR_INSIDE, PORT);
            sender.connect((FAR_INSIDE, PORT)).unwrap();
            wait_until("the error of a closed port comes", || {
                let _ = sender.send(&marked(200));
                let told = sender.recv(&mut [0; 200]);
                told.is_err_and(|error| error.kind() == ErrorKind::ConnectionRefused)
            });
            assert_eq!(capture.seen().clear == 0, has_policy);
        }
    });
}

/// A policy that drops a port drops later pieces too; and what a worker had of pieces when it was killed is gone with
/// it.
#[test]
fn pieces_of_what_is_blocked_do_not_pass_while_workers_are_killed() {
    with_rights(|| {
        let net = Net::new();
        let plane = Plane::start(&net.near, &[]);
        let inside = [(NEAR_INSIDE, FAR_INSIDE, 32), (NEAR_INSIDE_V6, FAR_INSIDE_V6, 128)];
        for (near, far, bits) in inside {
            let XfrmMessage::AddPolicy(mut policy) = xfrm::policy(1, (near, far), bits, (NEAR, FAR)) else {
                unreachable!("a policy")
            };
            policy.nlas.clear();
            policy.user_policy_info.action = 1;
            plane.xfrm().ok(with_ports(XfrmMessage::AddPolicy(policy), 17, (0, PORT)));
        }
        let capture = Capture::begin(&net.far);
        std::thread::scope(|scope| {
            let load = scope.spawn(|| {
                for (near, far, _) in inside {
                    let sender = bind(&net, true, near, 0);
                    for bytes in LENGTHS.repeat(400) {
                        let _ = sender.send_to(&marked(bytes), SocketAddr::new(ip(far), PORT));
                    }
                }
            });
            plane.kill_worker();
            plane.kill_worker();
            load.join().unwrap();
        });
        let seen = capture.seen();
        assert_eq!(seen.clear, 0, "{seen:?}");
        // The one that serves last judges whole datagrams, and says so.
        for (near, far, _) in inside {
            let sender = bind(&net, true, near, 0);
            wait_until("a datagram is blocked", || {
                let _ = sender.send_to(&marked(4000), SocketAddr::new(ip(far), PORT));
                let policies: Vec<Value> = serde_json::from_str(&plane.shows("policy", true)).unwrap();
                let of = |row: &&Value| row["selector"].as_str().unwrap().contains(far);
                let drops = &policies.iter().find(of).unwrap()["drops"];
                drops.as_array().unwrap().iter().any(|drop| drop["reason"] == "blocked")
            });
        }
    });
}
