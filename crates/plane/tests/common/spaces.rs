//! Network namespaces of a test's own, which are gone with it, and what passes them.

use needs::Need;
use nix::sched::{CloneFlags, setns, unshare};
use nix::sys::socket::{LinkAddr, recvfrom};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{AddressFamily, Protocol, SocketFlags, SocketType};
use std::fs::File;
use std::net::IpAddr;
use std::os::fd::{AsRawFd, OwnedFd};
use std::process::{Command, Output};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Set in the process that has a user namespace of its own.
const INSIDE: &str = "TESTS_INSIDE_NAMESPACE";
/// How long anything may take.
pub const PATIENCE: Duration = Duration::from_secs(20);
/// `ARPHRD_ETHER` of linux/if_arp.h.
const ETHERNET: u16 = 1;
/// Bytes of each packet that are kept.
const KEPT_BYTES: usize = 2048;

/// Whether this process is the one with a user namespace of its own, in which root is nobody outside.
pub fn is_in_user_namespace() -> bool {
    std::env::var_os(INSIDE).is_some()
}

/// Runs the test of this thread where namespaces can be made: here for root, else in a process with a user namespace of
/// its own.
pub fn with_rights(run: impl FnOnce()) {
    if rustix::process::geteuid().is_root() {
        let is_missing =
            thread::spawn(|| unshare(CloneFlags::CLONE_NEWNET).is_err() || !has_tun()).join().unwrap();
        if !needs::did_without(Need::Tun, is_missing) {
            run();
        }
        return;
    }
    assert!(!is_in_user_namespace(), "root in a user namespace is root");
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
    plane::open_tun("plane0", 1, false).is_ok() && Command::new("ip").arg("-V").output().is_ok()
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

    pub fn output(&self, command: &mut Command) -> Output {
        self.run(|| command.output().unwrap_or_else(|error| panic!("{command:?}: {error}")))
    }

    /// Runs `ip` with these words; what it says.
    pub fn ip(&self, words: &str) -> String {
        let output = self.output(Command::new("ip").args(words.split(' ')));
        assert!(output.status.success(), "ip {words}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    pub fn write(&self, path: &str, text: &str) {
        self.run(|| std::fs::write(path, text).unwrap_or_else(|error| panic!("{path}: {error}")));
    }
}

pub fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

/// A pair of veth between two namespaces. The second end is made in a thread's, which the kernel finds by the thread's
/// number.
pub fn join(space: &Space, name: &str, other: &Space, other_name: &str) {
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

/// What passes the wires of a namespace, kept.
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
                while let Ok((bytes, from)) = recvfrom::<LinkAddr>(socket.as_raw_fd(), &mut memory) {
                    // What a data plane there gives to programs is no Ethernet, and does not count.
                    if from.is_some_and(|link| link.hatype() == ETHERNET) {
                        packets.push(memory[..bytes.min(KEPT_BYTES)].to_vec());
                    }
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
