//! Whoever speaks to the sockets in ways that make no sense, or does not listen: others go on being served.

use crate::commands::ask;
use crate::net::{Net, with_rights};
use crate::plane::Plane;
use crate::xfrm::{self, DUMP, Xfrm};
use rustix::net::{RecvFlags, SendFlags};
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

/// Where the worker has no memory left.
const ENOMEM: i32 = 12;

fn observe(plane: &Plane<'_>) -> UnixStream {
    let stream = UnixStream::connect(plane.folder.join("observe.sock")).unwrap();
    stream.set_read_timeout(Some(crate::net::PATIENCE)).unwrap();
    stream
}

/// What the supervisor answers.
fn asks_supervisor(plane: &Plane<'_>, request: &[u8]) -> Option<String> {
    let socket = xfrm::connect(&plane.folder.join("plane.sock")).unwrap();
    rustix::net::send(&socket, request, SendFlags::NOSIGNAL).ok()?;
    let mut answer = [0; 1000];
    let received =
        rustix::io::retry_on_intr(|| rustix::net::recv(&socket, &mut answer[..], RecvFlags::empty()));
    let (_, bytes) = received.ok()?;
    (bytes > 0).then(|| String::from_utf8(answer[..bytes].to_vec()).unwrap())
}

#[test]
fn what_observers_send() {
    with_rights(|| {
        let net = Net::new();
        let plane = Plane::start(&net.near, &[]);
        let mut slow = observe(&plane);
        slow.write_all(b"sta").unwrap();
        for bytes in [
            &b"status"[..],
            b"\n",
            b"STATUS\n",
            b"status\r\n",
            b"status\nstatus\n",
            &[0xff; 64],
            &[b'a'; 5000],
            b"\0",
        ] {
            let mut stream = observe(&plane);
            let _ = stream.write_all(bytes);
            let _ = stream.shutdown(std::net::Shutdown::Write);
            let mut answer = Vec::new();
            let _ = stream.read_to_end(&mut answer);
            assert!(answer.is_empty(), "{bytes:?}: {}", String::from_utf8_lossy(&answer));
        }
        // Half a line at a time is a line.
        slow.write_all(b"tus\n").unwrap();
        let mut answer = String::new();
        slow.read_to_string(&mut answer).unwrap();
        assert!(answer.contains("\"restarts\":0"), "{answer}");
    });
}

#[test]
fn what_the_supervisor_is_sent() {
    with_rights(|| {
        let net = Net::new();
        let plane = Plane::start(&net.near, &[]);
        for request in [
            &b"up"[..],
            b"down now",
            b"DOWN",
            b"bind",
            b"bind 192.0.2.1:4501",
            b"bind 192.0.2.99:4500",
            b"bind nowhere:4500",
            &[0xff; 100],
            &[b'a'; 10_000],
            &[0; 60_000],
        ] {
            let answer = asks_supervisor(&plane, request).expect("an answer");
            assert!(answer.starts_with("error "), "{answer}");
        }
        assert_eq!(asks_supervisor(&plane, b"bind 192.0.2.1:4500").as_deref(), Some("ok"));
        assert_eq!(asks_supervisor(&plane, b"bind 192.0.2.1:4500").as_deref(), Some("ok"));
        assert_eq!(plane.status()["restarts"], 0);
    });
}

#[test]
fn what_is_sent_as_to_xfrm() {
    with_rights(|| {
        let net = Net::new();
        let plane = Plane::start(&net.near, &[]);
        plane.protect(true);
        for datagram in [&[0][..], &[0xff; 15], &[0xff; 16], &[0xff; 4096], &[0; 64 << 10], &[0x10; 64 << 10]]
        {
            let mut client = Xfrm::connect(&plane.xfrm_socket(), u32::MAX);
            client.raw(datagram);
            drop(client);
        }
        // Longer than any request: the connection ends.
        let mut client = plane.xfrm();
        client.raw(&vec![0; (64 << 10) + 1]);
        assert!(client.receive().is_none());
        plane.key(0x1001);
        assert_eq!(plane.status()["sas"], 2);
        assert_eq!(plane.status()["restarts"], 0);
    });
}

#[test]
fn one_that_asks_for_everything_and_never_reads() {
    with_rights(|| {
        let net = Net::new();
        let plane = Plane::start(&net.near, &[]);
        let mut xfrm = plane.xfrm();
        for spi in 1..=600 {
            let errno = xfrm.errno(xfrm::sa(crate::net::NEAR, crate::net::FAR, 0x1000 + spi));
            if errno == ENOMEM {
                // Said, and nothing lost.
                assert_eq!(plane.status()["restarts"], 0);
                assert_eq!(xfrm.dump().len(), spi as usize - 1);
                needs::did_without(needs::Need::LockedMemory, true);
                return;
            }
            assert_eq!(errno, 0);
        }
        let memory = || memory_of(plane.worker());
        let before = memory();
        let mut deaf: Vec<Xfrm> = (0..20).map(|_| Xfrm::connect(&plane.xfrm_socket(), u32::MAX)).collect();
        for client in &mut deaf {
            for _ in 0..5 {
                client.send(netlink_packet_xfrm::XfrmMessage::GetDumpSa(Default::default()), DUMP);
            }
        }
        let mut deaf_observers: Vec<UnixStream> = (0..20).map(|_| observe(&plane)).collect();
        for stream in &mut deaf_observers {
            stream.write_all(b"sas\n").unwrap();
        }
        // Others are served meanwhile, and soon.
        let began = Instant::now();
        assert_eq!(plane.xfrm().dump().len(), 600);
        for spi in 1..=100 {
            xfrm.ok(xfrm::sa(crate::net::NEAR, crate::net::FAR, 0x8000 + spi));
        }
        assert!(ask(&plane, "sas\n").len() > 50_000);
        assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
        assert!(memory() < before + (256 << 20), "{} bytes before, {} bytes after", before, memory());
        drop((deaf, deaf_observers));
        assert_eq!(plane.status()["restarts"], 0);
    });
}

/// Resident memory of a process, in bytes.
fn memory_of(process: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
}

#[test]
fn more_connections_than_there_may_be() {
    with_rights(|| {
        let net = Net::new();
        let plane = Plane::start(&net.near, &[]);
        let mut first = plane.xfrm();
        let others: Vec<Xfrm> = (0..300).map(|_| Xfrm::connect(&plane.xfrm_socket(), 0)).collect();
        first.ok(xfrm::sa(crate::net::NEAR, crate::net::FAR, 0x1001));
        drop(others);
        let supervisors: Vec<_> =
            (0..100).map(|_| xfrm::connect(&plane.folder.join("plane.sock")).unwrap()).collect();
        drop(supervisors);
        assert_eq!(asks_supervisor(&plane, b"bind 192.0.2.1:4500").as_deref(), Some("ok"));
        // Observers that ask for nothing do not keep others out for ever.
        let silent: Vec<UnixStream> = (0..8).map(|_| observe(&plane)).collect();
        assert!(ask(&plane, "status\n").contains("\"restarts\":0"));
        drop(silent);
        plane.key(0x2001);
        assert_eq!(plane.status()["sas"], 3);
    });
}
