//! Sockets share a port with a daemon's, by the filter; what threads and their control share is bounded.

use crate::common::{Space, ip, is_nothing, with_rights};
use engine::{Engine, Options};
use needs::uninterrupted;
use plane::{Shared, SocketError, attach_filter, open_udp};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::OwnedFd;
use std::time::Duration;

const IKE: [u8; 12] = [0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8];

fn esp(spi: u32) -> Vec<u8> {
    [&spi.to_be_bytes()[..], &[7; 20]].concat()
}

/// Binds as an IKE daemon does, after all others.
fn bind_as_daemon(address: SocketAddr) -> UdpSocket {
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let socket = socket_with(family, SocketType::DGRAM, SocketFlags::CLOEXEC, None).unwrap();
    rustix::net::sockopt::set_socket_reuseport(&socket, true).unwrap();
    if address.is_ipv6() {
        rustix::net::sockopt::set_ipv6_v6only(&socket, true).unwrap();
    }
    rustix::net::bind(&socket, &address).unwrap();
    socket.into()
}

/// The sockets that a datagram reaches.
fn reached(sockets: &[UdpSocket], sender: &UdpSocket, to: SocketAddr, datagram: &[u8]) -> Vec<usize> {
    // On a busy processor the kernel delivers what went over loopback after the call that sent it. And a child of
    // another test may have a copy of a socket that is closed here, and get what is sent, until its program starts.
    let is_there = (0..10).any(|_| {
        sender.send_to(datagram, to).unwrap();
        let mut waiting: Vec<_> = sockets.iter().map(|socket| PollFd::new(socket, PollFlags::IN)).collect();
        let second = Timespec { tv_sec: 1, tv_nsec: 0 };
        uninterrupted(|| Ok(poll(&mut waiting, Some(&second))?)).unwrap() != 0
    });
    assert!(is_there, "{} bytes reached no socket", datagram.len());
    let arrived = |socket: &UdpSocket| match uninterrupted(|| socket.recv(&mut [0; 100])) {
        Ok(bytes) => bytes == datagram.len(),
        Err(error) => {
            assert!(is_nothing(&error), "{error}");
            false
        }
    };
    sockets.iter().enumerate().filter(|(_, socket)| arrived(socket)).map(|(number, _)| number).collect()
}

fn plain(sockets: Vec<OwnedFd>) -> Vec<UdpSocket> {
    sockets.into_iter().map(UdpSocket::from).collect()
}

#[test]
fn datagrams_reach_the_thread_of_their_spi_and_the_daemon() {
    with_rights(|| {
        let space = Space::new();
        space.run(|| {
            for (bound, to) in
                [("0.0.0.0", "127.0.0.1"), ("127.0.0.1", "127.0.0.1"), ("::", "::1"), ("::1", "::1")]
            {
                let address = SocketAddr::new(ip(bound), 4500);
                let to = SocketAddr::new(ip(to), 4500);
                let mut sockets = plain(open_udp(address, 3).unwrap());
                let sender = UdpSocket::bind(SocketAddr::new(to.ip(), 0)).unwrap();
                for restart in 0..3 {
                    let daemon = bind_as_daemon(address);
                    daemon.set_read_timeout(Some(Duration::from_millis(1))).unwrap();
                    sockets.push(daemon);
                    for spi in 300..310 {
                        let expected = [(spi % 3) as usize];
                        assert_eq!(reached(&sockets, &sender, to, &esp(spi)), expected, "{bound} {restart}");
                    }
                    assert_eq!(reached(&sockets, &sender, to, &IKE), [3]);
                    assert_eq!(reached(&sockets, &sender, to, &[0xff]), [3]);
                    assert_eq!(reached(&sockets, &sender, to, &[1; 8]), [3]);
                    sockets.pop();
                }
                // Without it the kernel chooses, and ESP is where it was.
                assert_eq!(reached(&sockets, &sender, to, &esp(301)), [1]);
                assert_eq!(reached(&sockets, &sender, to, &IKE).len(), 1);
            }
        });
    });
}

#[test]
fn sockets_that_others_bound_before_are_counted() {
    with_rights(|| {
        let space = Space::new();
        space.run(|| {
            let address = SocketAddr::new(ip("127.0.0.1"), 4500);
            let daemon = bind_as_daemon(address);
            daemon.set_read_timeout(Some(Duration::from_millis(1))).unwrap();
            let ours = open_udp(address, 2).unwrap();
            attach_filter(&ours[0], 1, 2, 0).unwrap();
            assert!(attach_filter(&ours[0], 1, 0, 0).is_err());
            let mut sockets = plain(ours);
            sockets.insert(0, daemon);
            let sender = UdpSocket::bind("127.0.0.1:0").unwrap();
            for spi in 300..304 {
                assert_eq!(reached(&sockets, &sender, address, &esp(spi)), [1 + (spi % 2) as usize]);
            }
            assert_eq!(reached(&sockets, &sender, address, &IKE), [0]);
        });
    });
}

#[test]
fn a_port_that_is_not_shared_is_named() {
    with_rights(|| {
        let space = Space::new();
        space.run(|| {
            let _other = UdpSocket::bind("127.0.0.1:4500").unwrap();
            let error = open_udp("127.0.0.1:4500".parse().unwrap(), 1).unwrap_err().to_string();
            assert!(
                error.contains("binding UDP 127.0.0.1:4500") && error.contains("SO_REUSEPORT"),
                "{error}"
            );
            let error = open_udp("192.0.2.77:4500".parse().unwrap(), 1).unwrap_err().to_string();
            assert!(error.contains("not on this machine"), "{error}");
            assert!(open_udp("127.0.0.1:4501".parse().unwrap(), 0).is_err());
            let error = plane::open_tun("a-name-that-is-too-long-for-linux", 1, false).err().unwrap();
            assert!(error.to_string().contains("the TUN a-name"), "{error}");
            assert!(plane::open_tun("plane1", 0, false).is_err());
        });
    });
}

#[test]
fn sockets_are_one_for_each_thread_and_bounded() {
    let engine = Engine::new(Options::default()).unwrap();
    let shared = Shared::new(engine, 2).unwrap();
    assert!(Shared::new(engine, 0).is_err());
    let any = || UdpSocket::bind("127.0.0.1:0").unwrap().into();
    let address = |number: u16| SocketAddr::new(ip("127.0.0.1"), number);
    let wrong = shared.add_sockets(address(1), vec![any()]);
    assert_eq!(wrong, Err(SocketError::Count { sockets: 1, threads: 2 }));
    assert_eq!(shared.add_sockets(address(1), vec![any(), any()]), Ok(()));
    assert_eq!(shared.add_sockets(address(1), vec![any(), any()]), Err(SocketError::Exists(address(1))));
    assert!(shared.remove_sockets(address(1)));
    assert!(!shared.remove_sockets(address(1)));
    let threads = Shared::new(engine, 1).unwrap();
    for number in 0..plane::bounds::ADDRESSES_MAX as u16 {
        threads.add_sockets(address(number), vec![any()]).unwrap();
    }
    assert_eq!(threads.add_sockets(address(9999), vec![any()]), Err(SocketError::Full));
}
