//! Network namespaces of a test's own, which are gone with it:
//!
//! ```text
//! first ── 192.0.2.0/24, 2001:db8:1::/64 ── middle ── 198.51.100.0/24, 2001:db8:2::/64 ── second
//! ```
//!
//! In the middle there is no TUN: all that is captured there is what is outside.
#![allow(dead_code)] // each test file takes what it needs

use std::fs::File;
use std::io;
use std::net::IpAddr;
use std::os::fd::OwnedFd;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use needs::Need;
use nix::sched::{CloneFlags, setns, unshare};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{AddressFamily, Protocol, RecvFlags, SocketFlags, SocketType};

/// Set in the process that has a user namespace of its own.
const INSIDE: &str = "PLANE_TESTS_INSIDE";

/// Runs a test where namespaces can be made: here for root, else in a process with a user namespace of its own.
pub fn with_rights(test: &str, run: impl FnOnce()) {
    if rustix::process::geteuid().is_root() {
        let missing =
            thread::spawn(|| unshare(CloneFlags::CLONE_NEWNET).is_err() || !has_tun()).join().unwrap();
        if !needs::did_without(Need::Tun, missing) {
            run();
        }
        return;
    }
    assert!(std::env::var_os(INSIDE).is_none(), "root in a user namespace is root");
    let own = std::env::current_exe().unwrap();
    let inner = |program: &std::ffi::OsStr, arguments: &[&str]| {
        let mut command = Command::new("unshare");
        command
            .args(["--user", "--map-root-user", "--net", "--"])
            .arg(program)
            .args(arguments)
            .env(INSIDE, "1");
        command.status().is_ok_and(|status| status.success())
    };
    if !needs::did_without(Need::Tun, !inner("true".as_ref(), &[])) {
        assert!(inner(own.as_os_str(), &["--exact", test, "--nocapture"]), "{test} in a user namespace");
    }
}

fn has_tun() -> bool {
    let opened = plane::open_tun("plane0", 1, false);
    opened.is_ok() && Command::new("ip").arg("-V").output().is_ok()
}

/// A network namespace.
pub struct Space(OwnedFd);

impl Space {
    pub fn new() -> Space {
        let made = thread::spawn(|| {
            unshare(CloneFlags::CLONE_NEWNET).unwrap();
            File::open("/proc/thread-self/ns/net").unwrap()
        });
        let space = Space(made.join().unwrap().into());
        // Addresses are nobody else's: no second is spent on asking.
        space.write("/proc/sys/net/ipv6/conf/all/accept_dad", "0");
        space.write("/proc/sys/net/ipv6/conf/default/accept_dad", "0");
        space.ip("link set lo up");
        space
    }

    /// Runs something on a thread within it.
    pub fn run<T: Send>(&self, run: impl FnOnce() -> T + Send) -> T {
        thread::scope(|scope| {
            let inside = scope.spawn(|| {
                setns(&self.0, CloneFlags::CLONE_NEWNET).unwrap();
                run()
            });
            inside.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }

    /// Runs `ip` with these words.
    pub fn ip(&self, words: &str) {
        let output = self.run(|| Command::new("ip").args(words.split(' ')).output().unwrap());
        assert!(output.status.success(), "ip {words}: {}", String::from_utf8_lossy(&output.stderr));
    }

    pub fn write(&self, path: &str, text: &str) {
        self.run(|| std::fs::write(path, text).unwrap_or_else(|error| panic!("{path}: {error}")));
    }
}

/// The three of the picture.
pub struct Net {
    pub first: Space,
    pub middle: Space,
    pub second: Space,
}

pub fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

impl Net {
    pub fn new() -> Net {
        let net = Net { first: Space::new(), middle: Space::new(), second: Space::new() };
        for (number, space) in [(1, &net.first), (2, &net.second)] {
            let (v4, v6) = (["192.0.2", "198.51.100"][number - 1], format!("2001:db8:{number}"));
            join(space, "outer", &net.middle, &format!("middle{number}"));
            // Up before they have addresses: else the first question for a neighbour may go to one that does not listen yet.
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

/// A pair of veth between two namespaces. The second end is made in a thread's, which the kernel finds by the thread's number.
fn join(space: &Space, name: &str, other: &Space, other_name: &str) {
    thread::scope(|scope| {
        let (told, number) = std::sync::mpsc::channel();
        let (done, wait) = std::sync::mpsc::channel::<()>();
        scope.spawn(move || {
            setns(&other.0, CloneFlags::CLONE_NEWNET).unwrap();
            told.send(rustix::thread::gettid().as_raw_nonzero()).unwrap();
            let _ = wait.recv();
        });
        let thread = number.recv().unwrap();
        space.ip(&format!("link add {name} type veth peer name {other_name} netns {thread}"));
        drop(done);
    });
}

/// What passes a namespace, kept.
pub struct Capture {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Vec<Vec<u8>>>,
}

/// Bytes of each packet that are kept.
const KEPT_BYTES: usize = 2048;

impl Capture {
    pub fn begin(space: &Space) -> Capture {
        let socket = space.run(|| {
            let all = Protocol::from_raw(std::num::NonZeroU32::new(u32::from(0x0003_u16.to_be())).unwrap());
            let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
            let socket =
                rustix::net::socket_with(AddressFamily::PACKET, SocketType::RAW, flags, Some(all)).unwrap();
            let _ = rustix::net::sockopt::set_socket_recv_buffer_size_force(&socket, 256 << 20);
            socket
        });
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = thread::spawn(move || {
            let mut packets = Vec::new();
            let mut memory = vec![0; 1 << 17];
            loop {
                let mut fds = [PollFd::new(&socket, PollFlags::IN)];
                let wait = Timespec { tv_sec: 0, tv_nsec: 20_000_000 };
                if poll(&mut fds, Some(&wait)).unwrap() == 0 && stopped.load(Ordering::Acquire) {
                    return packets;
                }
                while let Ok((bytes, _)) = rustix::net::recv(&socket, &mut memory[..], RecvFlags::empty()) {
                    packets.push(memory[..bytes.min(KEPT_BYTES)].to_vec());
                }
            }
        });
        Capture { stop, thread }
    }

    /// Ends it: what passed, each twice where it was forwarded.
    pub fn end(self) -> Vec<Vec<u8>> {
        self.stop.store(true, Ordering::Release);
        self.thread.join().unwrap()
    }
}

/// Waits until something is so, for ten seconds.
pub fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    for _ in 0..1000 {
        if is_so() {
            return;
        }
        thread::sleep(Duration::from_millis(10));
    }
    panic!("{what}: not within ten seconds");
}

/// Reads from a socket that has a timeout: where the process was stopped for a while, such a one does not go on by itself.
pub fn uninterrupted<T>(mut read: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    loop {
        match read() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            other => return other,
        }
    }
}

/// An error of reading that says nothing is there.
pub fn is_nothing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}
