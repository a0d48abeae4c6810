//! Network namespaces of a test's own, which are gone with it: this side and that side of a wire.
//!
//! ```text
//! 10.1.0.1, fd01::1  near  192.0.2.1, 2001:db8::1 ── 192.0.2.2, 2001:db8::2  far  10.2.0.1, fd02::1
//! ```

use std::fs::File;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::os::fd::{AsRawFd, OwnedFd};
use std::process::{Command, Output};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use needs::Need;
use nix::sched::{CloneFlags, setns, unshare};
use nix::sys::socket::{LinkAddr, recvfrom};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{AddressFamily, Protocol, SocketFlags, SocketType};

/// Set in the process that has a user namespace of its own.
const INSIDE: &str = "ESP_TESTS_INSIDE";
/// How long anything may take.
pub const PATIENCE: Duration = Duration::from_secs(20);
/// `ARPHRD_ETHER` of linux/if_arp.h.
const ETHERNET: u16 = 1;
/// What datagrams say, and nobody may see outside.
pub const MARKER: &[u8] = b"nobody outside may read this";

pub const NEAR: &str = "192.0.2.1";
pub const FAR: &str = "192.0.2.2";
pub const NEAR_INSIDE: &str = "10.1.0.1";
pub const FAR_INSIDE: &str = "10.2.0.1";
pub const NEAR_INSIDE_V6: &str = "fd01::1";
pub const FAR_INSIDE_V6: &str = "fd02::1";

/// Runs the test of this thread where namespaces can be made: here for root, else in a process with a user namespace of its own.
pub fn with_rights(run: impl FnOnce()) {
    if rustix::process::geteuid().is_root() {
        let is_missing =
            thread::spawn(|| unshare(CloneFlags::CLONE_NEWNET).is_err() || !has_tun()).join().unwrap();
        if !needs::did_without(Need::Tun, is_missing) {
            run();
        }
        return;
    }
    assert!(std::env::var_os(INSIDE).is_none(), "root in a user namespace is root");
    let current = thread::current();
    let test = current.name().expect("a test's thread has its name");
    let own = std::env::current_exe().unwrap();
    let inner = |program: &std::ffi::OsStr, arguments: &[&str]| {
        let mut command = Command::new("unshare");
        command.args(["--user", "--map-root-user", "--net", "--"]).arg(program).args(arguments);
        command.env(INSIDE, "1").status().is_ok_and(|status| status.success())
    };
    if !needs::did_without(Need::Tun, !inner("true".as_ref(), &[])) {
        assert!(inner(own.as_os_str(), &["--exact", test, "--nocapture"]), "{test} in a user namespace");
    }
}

fn has_tun() -> bool {
    plane::open_tun("esp0", 1, false).is_ok() && Command::new("ip").arg("-V").output().is_ok()
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

    pub fn output(&self, command: &mut Command) -> Output {
        self.run(|| command.output().unwrap_or_else(|error| panic!("{command:?}: {error}")))
    }

    /// Runs `ip` with these words; what it says.
    pub fn ip(&self, words: &str) -> String {
        let output = self.output(Command::new("ip").args(words.split(' ')));
        assert!(output.status.success(), "ip {words}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

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

pub fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

/// Both sides.
pub struct Net {
    pub near: Space,
    pub far: Space,
}

impl Net {
    pub fn new() -> Net {
        let net = Net { near: Space::new(), far: Space::new() };
        join(&net.near, &net.far);
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

/// A pair of veth between two namespaces. The second end is made in a thread's, which the kernel finds by the thread's number.
fn join(space: &Space, other: &Space) {
    thread::scope(|scope| {
        let (told, number) = std::sync::mpsc::channel();
        let (done, wait) = std::sync::mpsc::channel::<()>();
        scope.spawn(move || {
            setns(&other.0, CloneFlags::CLONE_NEWNET).unwrap();
            told.send(rustix::thread::gettid().as_raw_nonzero()).unwrap();
            let _ = wait.recv();
        });
        let thread = number.recv().unwrap();
        space.ip(&format!("link add outer type veth peer name outer netns {thread}"));
        drop(done);
    });
}

/// What passes the wire of a side, kept.
pub struct Capture {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Vec<Vec<u8>>>,
}

impl Capture {
    pub fn begin(space: &Space) -> Capture {
        let socket = space.run(|| {
            let all = Protocol::from_raw(std::num::NonZeroU32::new(u32::from(0x0003_u16.to_be())).unwrap());
            let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
            let socket =
                rustix::net::socket_with(AddressFamily::PACKET, SocketType::RAW, flags, Some(all)).unwrap();
            let _ = rustix::net::sockopt::set_socket_recv_buffer_size_force(&socket, 64 << 20);
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
                while let Ok((bytes, from)) = recvfrom::<LinkAddr>(socket.as_raw_fd(), &mut memory) {
                    // What the data plane of that side gives to programs is no Ethernet, and does not count.
                    if from.is_some_and(|link| link.hatype() == ETHERNET) {
                        packets.push(memory[..bytes].to_vec());
                    }
                }
            }
        });
        Capture { stop, thread }
    }

    /// Ends it: how many packets show the marker, and how many there were.
    pub fn end(self) -> Seen {
        self.stop.store(true, Ordering::Release);
        let packets = self.thread.join().unwrap();
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

/// Waits until something is so.
pub fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    while Instant::now() < end {
        if is_so() {
            return;
        }
        thread::sleep(Duration::from_millis(10));
    }
    panic!("{what}: not within {PATIENCE:?}");
}
