//! A program with the library preloaded, and a data plane that this test plays.
//!
//! The program is this test itself, started again: `client` does what `ACT` names.

use libc::{c_int, c_void};
use rustix::fd::{AsFd, OwnedFd};
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketAddrUnix, SocketFlags, SocketType, accept, bind, listen, recv,
    send, socket_with,
};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};
use std::{env, fs, ptr, thread};

/// What the program does.
const ACT: &str = "CRYPTAND_TEST_ACT";
/// Set where the program has no inotify instance.
const UNTOLD: &str = "CRYPTAND_TEST_UNTOLD";
/// How long this test and the program wait for each other, at the most.
const PATIENCE: Duration = Duration::from_secs(120);
/// NETLINK_XFRM's group of expiring associations, as a bit.
const EXPIRE: u32 = 2;

// ---------------------------------------------------------------- the data plane

fn listener(folder: &Path, name: &str) -> OwnedFd {
    let path = folder.join(name);
    let _ = fs::remove_file(&path);
    // It listens before it has its name, as a data plane's does.
    let draft = folder.join(format!("{name}.draft"));
    let socket = socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None).unwrap();
    bind(&socket, &SocketAddrUnix::new(&draft).unwrap()).unwrap();
    listen(&socket, 16).unwrap();
    // Who connects in vain, or says nothing, fails a test and does not hold it up.
    set_socket_timeout(&socket, Timeout::Recv, Some(PATIENCE)).unwrap();
    fs::rename(draft, path).unwrap();
    socket
}

fn next(socket: &OwnedFd) -> Option<Vec<u8>> {
    let mut bytes = vec![0; 70_000];
    let received = recv(socket, &mut bytes[..], RecvFlags::empty());
    assert_ne!(received, Err(rustix::io::Errno::AGAIN), "the program has said nothing for {PATIENCE:?}");
    let (length, _) = received.ok()?;
    bytes.truncate(length);
    (length > 0).then_some(bytes)
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_ne_bytes(bytes[at..at + 4].try_into().unwrap())
}

fn half(bytes: &[u8], at: usize) -> u16 {
    u16::from_ne_bytes(bytes[at..at + 2].try_into().unwrap())
}

fn message(kind: u16, flags: u16, sequence: u32, port: u32, payload: &[u8]) -> Vec<u8> {
    let mut bytes = (16 + payload.len() as u32).to_ne_bytes().to_vec();
    bytes.extend(kind.to_ne_bytes());
    bytes.extend(flags.to_ne_bytes());
    bytes.extend(sequence.to_ne_bytes());
    bytes.extend(port.to_ne_bytes());
    bytes.extend(payload);
    bytes
}

/// The next connection, which is heard for a while.
fn accepted(listener: &OwnedFd) -> OwnedFd {
    let socket = accept(listener).expect("the program connects in time");
    set_socket_timeout(&socket, Timeout::Recv, Some(PATIENCE)).unwrap();
    socket
}

/// A connection of the program, whose hellos are kept apart from its requests.
struct Connection {
    socket: OwnedFd,
    /// Port, groups and options of the last hello.
    hello: (u32, u32, u32),
}

impl Connection {
    fn take(listener: &OwnedFd) -> Self {
        let mut connection = Self { socket: accepted(listener), hello: (0, 0, 0) };
        let first = next(&connection.socket).unwrap();
        assert!(connection.is_hello(&first), "{first:?}");
        connection
    }

    fn is_hello(&mut self, bytes: &[u8]) -> bool {
        if half(bytes, 4) != 1 {
            return false;
        }
        assert_eq!(bytes.len(), 28);
        self.hello = (word(bytes, 16), word(bytes, 20), word(bytes, 24));
        true
    }

    /// The next request.
    fn request(&mut self) -> Option<Vec<u8>> {
        loop {
            let bytes = next(&self.socket)?;
            if !self.is_hello(&bytes) {
                return Some(bytes);
            }
        }
    }

    /// Hellos, until one has these groups.
    fn until_groups(&mut self, groups: u32) {
        while self.hello.1 != groups {
            let bytes = next(&self.socket).unwrap();
            assert!(self.is_hello(&bytes));
        }
    }

    fn acknowledge(&self, request: &[u8]) {
        let payload = [&0i32.to_ne_bytes()[..], &request[..16]].concat();
        self.send(&message(2, 0, word(request, 8), self.hello.0, &payload));
    }

    fn send(&self, bytes: &[u8]) {
        send(&self.socket, bytes, SendFlags::NOSIGNAL).unwrap();
    }
}

/// The library, beside the folder of this test.
fn library() -> PathBuf {
    let path = env::current_exe().unwrap().ancestors().nth(2).unwrap().join("libcryptand_xfrm.so");
    assert!(path.exists(), "{} is missing: cargo build --release -p cryptand-xfrm", path.display());
    path
}

/// How the program learns of a data plane that comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Told {
    /// By inotify(7).
    ByFolder,
    /// By a timer: its user may have no inotify instance.
    ByTimer,
}

impl Told {
    /// Those that this machine can have.
    fn all() -> Vec<Self> {
        if needs::without_inotify().is_some() {
            vec![Self::ByFolder, Self::ByTimer]
        } else {
            vec![Self::ByFolder]
        }
    }

    /// Whether what is to be said of it is said on standard error. This test's user may have no more instances either.
    fn is_said(self, said: &str) -> bool {
        said.contains("raise fs.inotify.max_user_instances")
            == (self == Self::ByTimer || !needs::has_inotify())
    }
}

/// The program, which does `act` with a data plane in `folder`.
fn start(folder: &Path, act: &str) -> Child {
    start_as(Told::ByFolder, folder, act)
}

fn start_as(told: Told, folder: &Path, act: &str) -> Child {
    let mut command = match told {
        Told::ByFolder => Command::new("env"),
        Told::ByTimer => {
            let mut command = needs::without_inotify().expect("it is one of all");
            command.arg("env").env(UNTOLD, "1");
            command
        }
    };
    let mut preload = std::ffi::OsString::from("LD_PRELOAD=");
    preload.push(library());
    command.arg(preload).arg(env::current_exe().unwrap());
    command.args(["client", "--exact", "--nocapture", "--test-threads=1"]);
    command.env(ACT, act).env("CRYPTAND_ESP", folder);
    if !needs::has_inotify() {
        command.env(UNTOLD, "1");
    }
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().unwrap()
}

fn finish(child: Child) -> Output {
    let output = child.wait_with_output().unwrap();
    let said = [&output.stdout[..], &output.stderr[..]].concat();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&said));
    output
}

/// Lets the program go on.
fn go(child: &mut Child) {
    use std::io::Write;
    writeln!(child.stdin.as_mut().unwrap(), "go").unwrap();
}

fn folder() -> tempfile::TempDir {
    tempfile::Builder::new().prefix("xfrm-preload-").tempdir().unwrap()
}

// ---------------------------------------------------------------- the program

fn errno() -> c_int {
    std::io::Error::last_os_error().raw_os_error().unwrap()
}

fn xfrm(flags: c_int) -> c_int {
    // SAFETY: no pointers.
    let fd = unsafe { libc::socket(libc::AF_NETLINK, libc::SOCK_RAW | flags, libc::NETLINK_XFRM) };
    assert!(fd >= 0, "{}", errno());
    fd
}

fn bind_groups(fd: c_int, groups: u32) {
    // SAFETY: zero bytes are an address.
    let mut address: libc::sockaddr_nl = unsafe { std::mem::zeroed() };
    address.nl_family = libc::AF_NETLINK as u16;
    address.nl_groups = groups;
    // SAFETY: the address is as long as is said.
    assert_eq!(unsafe { libc::bind(fd, (&raw const address).cast(), 12) }, 0);
}

fn send_to_kernel(fd: c_int, bytes: &[u8]) -> isize {
    // SAFETY: zero bytes are an address.
    let mut address: libc::sockaddr_nl = unsafe { std::mem::zeroed() };
    address.nl_family = libc::AF_NETLINK as u16;
    // SAFETY: bytes and address are as long as is said.
    unsafe { libc::sendto(fd, bytes.as_ptr().cast(), bytes.len(), 0, (&raw const address).cast(), 12) }
}

fn wait_readable(fd: c_int, milliseconds: c_int) -> bool {
    let mut descriptor = libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
    // SAFETY: one descriptor.
    unsafe { libc::poll(&raw mut descriptor, 1, milliseconds) > 0 }
}

/// As charon reads: the length, then the message.
fn read_message(fd: c_int) -> Result<Vec<u8>, c_int> {
    // SAFETY: nothing is written.
    let length = unsafe { libc::recv(fd, ptr::null_mut(), 0, libc::MSG_PEEK | libc::MSG_TRUNC) };
    if length < 0 {
        return Err(errno());
    }
    let mut bytes = vec![0u8; length as usize];
    let mut address = [0xffu8; 16];
    let mut address_length = 16u32;
    // SAFETY: bytes and address are as long as is said.
    let read = unsafe {
        libc::recvfrom(
            fd,
            bytes.as_mut_ptr().cast(),
            bytes.len(),
            0,
            address.as_mut_ptr().cast(),
            &raw mut address_length,
        )
    };
    assert_eq!(read, length, "{}", errno());
    assert_eq!((address_length, half(&address, 0), word(&address, 4)), (12, libc::AF_NETLINK as u16, 0));
    Ok(bytes)
}

/// As iproute2 reads.
fn read_by_parts(fd: c_int) -> Vec<u8> {
    let mut bytes = vec![0u8; 70_000];
    let mut address = [0xffu8; 12];
    let mut part = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
    // SAFETY: zero bytes are a message without parts.
    let mut header: libc::msghdr = unsafe { std::mem::zeroed() };
    (header.msg_name, header.msg_namelen) = (address.as_mut_ptr().cast(), 12);
    (header.msg_iov, header.msg_iovlen) = (&raw mut part, 1);
    // SAFETY: all parts are as long as is said.
    let read = unsafe { libc::recvmsg(fd, &raw mut header, 0) };
    assert!(read > 0 && header.msg_flags & libc::MSG_TRUNC == 0);
    assert_eq!((header.msg_namelen, half(&address, 0), word(&address, 4)), (12, libc::AF_NETLINK as u16, 0));
    bytes.truncate(read as usize);
    bytes
}

fn pid() -> u32 {
    std::process::id()
}

fn request(sequence: u32) -> Vec<u8> {
    message(0x10, 5, sequence, pid(), b"key")
}

/// A request that is acknowledged with what `expected` says.
fn ask(fd: c_int, sequence: u32, expected: i32) {
    let bytes = request(sequence);
    assert_eq!(send_to_kernel(fd, &bytes), bytes.len() as isize, "{}", errno());
    let answer = read_message(fd).unwrap();
    assert_eq!((half(&answer, 4), word(&answer, 8), word(&answer, 12)), (2, sequence, pid()));
    assert_eq!(word(&answer, 16) as i32, -expected, "{answer:?}");
}

/// Waits for the word of the test.
fn wait_for_go() {
    let mut line = String::new();
    std::io::stdin().read_line(&mut line).unwrap();
}

fn option(fd: c_int, level: c_int, name: c_int) -> c_int {
    let (mut value, mut length) = (-1, 4);
    // SAFETY: an integer and its length.
    let result = unsafe { libc::getsockopt(fd, level, name, (&raw mut value).cast(), &raw mut length) };
    assert_eq!(result, 0, "{}", errno());
    value
}

fn set(fd: c_int, level: c_int, name: c_int, value: c_int) -> c_int {
    // SAFETY: an integer and its length.
    unsafe { libc::setsockopt(fd, level, name, (&raw const value).cast::<c_void>(), 4) }
}

#[test]
fn client() {
    let Ok(act) = env::var(ACT) else { return };
    // SAFETY: no pointers. Whatever it waits for, it ends.
    unsafe { libc::alarm(2 * PATIENCE.as_secs() as u32) };
    match act.as_str() {
        "requests" => requests(),
        "copies" => copies(),
        "restart" => restart(),
        "pending" => pending(),
        "events" => events(),
        "absent" => absent(),
        "ike" => ike(),
        other => panic!("{other}"),
    }
}

// ---------------------------------------------------------------- requests, addresses, options

fn requests() {
    let fd = xfrm(libc::SOCK_CLOEXEC);
    assert_eq!(set(fd, libc::SOL_SOCKET, libc::SO_SNDBUF, 32_768), 0);
    assert_eq!(set(fd, libc::SOL_NETLINK, libc::NETLINK_EXT_ACK, 1), 0);
    assert_eq!(set(fd, libc::SOL_NETLINK, 99, 1), -1);
    assert_eq!(errno(), libc::ENOPROTOOPT);
    bind_groups(fd, EXPIRE);
    assert_eq!(set(fd, libc::SOL_NETLINK, libc::NETLINK_ADD_MEMBERSHIP, 6), 0);
    assert_eq!(set(fd, libc::SOL_NETLINK, libc::NETLINK_DROP_MEMBERSHIP, 2), 0);
    let mut address = [0u8; 12];
    let mut length = 12u32;
    // SAFETY: the address is as long as is said.
    assert_eq!(unsafe { libc::getsockname(fd, address.as_mut_ptr().cast(), &raw mut length) }, 0);
    assert_eq!((length, half(&address, 0)), (12, libc::AF_NETLINK as u16));
    assert_eq!((word(&address, 4), word(&address, 8)), (pid(), 32));
    assert_eq!(option(fd, libc::SOL_SOCKET, libc::SO_DOMAIN), libc::AF_NETLINK);
    assert_eq!(option(fd, libc::SOL_SOCKET, libc::SO_TYPE), libc::SOCK_RAW);
    // SAFETY: no pointers.
    let flags = unsafe { (libc::fcntl(fd, libc::F_GETFL), libc::fcntl(fd, libc::F_GETFD)) };
    assert_eq!((flags.0 & libc::O_NONBLOCK, flags.1), (0, libc::FD_CLOEXEC));
    ask(fd, 1, 0);
    // pluto writes.
    let bytes = request(2);
    // SAFETY: bytes are as long as is said.
    let written = unsafe { libc::write(fd, bytes.as_ptr().cast(), bytes.len()) };
    assert_eq!(written, bytes.len() as isize);
    assert_eq!(word(&read_by_parts(fd), 8), 2);
    // A dump of many datagrams.
    let bytes = message(0x12, 0x301, 3, pid(), b"");
    assert_eq!(send_to_kernel(fd, &bytes), 16);
    let (mut parts, mut total) = (0, 0);
    loop {
        let part = read_by_parts(fd);
        (parts, total) = (parts + 1, total + part.len());
        if half(&part, 4) == 3 {
            break;
        }
    }
    assert_eq!((parts, total), (101, 100 * 32_768 + 16));
    // What is not ours stays the kernel's.
    // SAFETY: no pointers.
    let route = unsafe { libc::socket(libc::AF_NETLINK, libc::SOCK_RAW, libc::NETLINK_ROUTE) };
    assert_eq!(option(route, libc::SOL_SOCKET, libc::SO_PROTOCOL), libc::NETLINK_ROUTE);
    // SAFETY: the descriptors are this function's.
    unsafe { (libc::close(fd), libc::close(route)) };
}

#[test]
fn requests_go_to_the_data_plane_and_answers_come_from_the_kernels_address() {
    let folder = folder();
    let listener = listener(folder.path(), "xfrm.sock");
    let child = start(folder.path(), "requests");
    let pid = child.id();
    let mut connection = Connection::take(&listener);
    for sequence in [1, 2] {
        let asked = connection.request().unwrap();
        assert_eq!((word(&asked, 8), &asked[16..]), (sequence, &b"key"[..]));
        assert_eq!(connection.hello, (pid, 32, 1));
        connection.acknowledge(&asked);
    }
    let dump = connection.request().unwrap();
    assert_eq!(half(&dump, 4), 0x12);
    for _ in 0..100 {
        connection.send(&message(0x10, 2, 3, pid, &[7; 32_752]));
    }
    connection.send(&message(3, 2, 3, pid, b""));
    finish(child);
    assert!(connection.request().is_none(), "the program has closed it");
}

// ---------------------------------------------------------------- copies of descriptors, children

fn copies() {
    let fd = xfrm(0);
    ask(fd, 1, 0);
    // SAFETY: descriptors of this function's.
    unsafe {
        let copy = libc::dup(fd);
        ask(copy, 2, 0);
        let other = libc::fcntl(copy, libc::F_DUPFD_CLOEXEC, 100);
        assert!(other >= 100);
        assert_eq!(libc::dup2(other, 200), 200);
        libc::close(fd);
        libc::close(copy);
        ask(200, 3, 0);
        // Nothing of ours is under a number that another file has taken.
        let file = libc::open(c"/dev/null".as_ptr(), libc::O_RDONLY);
        assert_eq!(libc::dup2(file, 200), 200);
        assert_eq!(libc::read(200, ptr::null_mut(), 0), 0);
        let child = libc::fork();
        if child == 0 {
            ask(other, 4, 0);
            libc::close_range(3, u32::MAX, 0);
            libc::_exit(0);
        }
        let mut status = -1;
        libc::waitpid(child, &raw mut status, 0);
        assert_eq!(status, 0);
        // The number was closed where the library does not see it, and is another socket's.
        libc::syscall(libc::SYS_close, other);
        let mut pair = [0; 2];
        assert_eq!(libc::socketpair(libc::AF_UNIX, libc::SOCK_STREAM, 0, pair.as_mut_ptr()), 0);
        libc::syscall(libc::SYS_dup3, pair[0], other, 0);
        libc::close(pair[0]);
        libc::close(pair[1]);
        assert_eq!(libc::recv(other, (&raw mut status).cast(), 4, 0), 0, "its end is its end");
        let again = xfrm(0);
        ask(again, 5, 0);
    }
}

#[test]
fn copies_and_children_have_the_same_connection() {
    let folder = folder();
    let listener = listener(folder.path(), "xfrm.sock");
    let child = start(folder.path(), "copies");
    let mut connection = Connection::take(&listener);
    for sequence in 1..=4 {
        let asked = connection.request().unwrap();
        assert_eq!(word(&asked, 8), sequence);
        // A child's requests have its number; the port is the connection's.
        let payload = [&0i32.to_ne_bytes()[..], &asked[..16]].concat();
        connection.send(&message(2, 0, sequence, word(&asked, 12), &payload));
    }
    let mut second = Connection::take(&listener);
    let asked = second.request().unwrap();
    second.acknowledge(&asked);
    finish(child);
}

// ---------------------------------------------------------------- a data plane that goes and comes

fn restart() {
    let fd = xfrm(libc::SOCK_CLOEXEC);
    bind_groups(fd, EXPIRE);
    ask(fd, 1, 0);
    wait_for_go();
    // The connection has ended, and the next data plane listens: nothing is noticed.
    ask(fd, 2, 0);
    // SAFETY: no pointers.
    assert_eq!(unsafe { libc::fcntl(fd, libc::F_GETFD) }, libc::FD_CLOEXEC);
    wait_for_go();
    // It has ended, and the next comes while the request waits.
    ask(fd, 3, 0);
}

#[test]
fn requests_outlive_the_data_plane() {
    for told in Told::all() {
        requests_outlive_it(told);
    }
}

fn requests_outlive_it(told: Told) {
    let folder = folder();
    let first = listener(folder.path(), "xfrm.sock");
    let mut child = start_as(told, folder.path(), "restart");
    let mut connection = Connection::take(&first);
    let asked = connection.request().unwrap();
    connection.acknowledge(&asked);
    drop((connection, first));
    let second = listener(folder.path(), "xfrm.sock");
    go(&mut child);
    let mut connection = Connection::take(&second);
    let asked = connection.request().unwrap();
    assert_eq!((word(&asked, 8), connection.hello.1), (2, EXPIRE));
    connection.acknowledge(&asked);
    drop((connection, second));
    fs::remove_file(folder.path().join("xfrm.sock")).unwrap();
    go(&mut child);
    thread::sleep(Duration::from_millis(100));
    let third = listener(folder.path(), "xfrm.sock");
    let mut connection = Connection::take(&third);
    let asked = connection.request().unwrap();
    assert_eq!((word(&asked, 8), connection.hello.1), (3, EXPIRE));
    connection.acknowledge(&asked);
    finish(child);
}

fn pending() {
    let fd = xfrm(0);
    ask(fd, 1, libc::ECONNRESET);
    ask(fd, 2, 0);
    // Read with nobody there, by a program that waits as long as it takes.
    let bytes = request(3);
    assert_eq!(send_to_kernel(fd, &bytes), bytes.len() as isize);
    assert!(wait_readable(fd, 10_000));
    assert_eq!(word(&read_message(fd).unwrap(), 16) as i32, -libc::ECONNRESET);
    wait_for_go();
    let start = Instant::now();
    let bytes = request(4);
    assert_eq!((send_to_kernel(fd, &bytes), errno()), (-1, libc::ECONNREFUSED));
    // Once it has waited in vain it waits no more.
    assert!(start.elapsed() >= Duration::from_secs(1));
    let start = Instant::now();
    assert_eq!((send_to_kernel(fd, &bytes), errno()), (-1, libc::ECONNREFUSED));
    assert!(start.elapsed() < Duration::from_secs(1));
}

#[test]
fn what_may_have_been_done_is_refused_and_not_asked_again() {
    for told in Told::all() {
        nothing_is_asked_again(told);
    }
}

fn nothing_is_asked_again(told: Told) {
    let folder = folder();
    let listener = listener(folder.path(), "xfrm.sock");
    let mut child = start_as(told, folder.path(), "pending");
    let mut connection = Connection::take(&listener);
    assert_eq!(word(&connection.request().unwrap(), 8), 1);
    drop(connection);
    let mut connection = Connection::take(&listener);
    let asked = connection.request().unwrap();
    assert_eq!(word(&asked, 8), 2);
    connection.acknowledge(&asked);
    assert_eq!(word(&connection.request().unwrap(), 8), 3);
    drop(listener);
    drop(connection);
    go(&mut child);
    let output = finish(child);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(said.matches("cryptand-xfrm: no data plane answers").count(), 1, "{said}");
    assert!(said.contains("start cryptand-esp") && told.is_said(&said), "{told:?}: {said}");
}

fn events() {
    let fd = xfrm(libc::SOCK_NONBLOCK);
    bind_groups(fd, EXPIRE);
    // SAFETY: one event.
    let epoll = unsafe {
        let epoll = libc::epoll_create1(0);
        let mut event = libc::epoll_event { events: libc::EPOLLIN as u32, u64: 77 };
        assert_eq!(libc::epoll_ctl(epoll, libc::EPOLL_CTL_ADD, fd, &raw mut event), 0);
        epoll
    };
    let mut spins = 0;
    let mut heard = 0;
    while heard < 3 {
        let mut event = libc::epoll_event { events: 0, u64: 0 };
        // SAFETY: one event.
        let ready = unsafe { libc::epoll_wait(epoll, &raw mut event, 1, 10_000) };
        assert_eq!((ready, { event.u64 }), (1, 77));
        let mut bytes = [0u8; 64];
        // SAFETY: bytes are as long as is said.
        let read = unsafe { libc::recv(fd, bytes.as_mut_ptr().cast(), 64, 0) };
        if read < 0 {
            assert_eq!(errno(), libc::EAGAIN);
            spins += 1;
        } else {
            assert_eq!((read, half(&bytes, 4)), (24, 0x18));
            heard += 1;
        }
    }
    // Each end, and each return, wakes it once or twice: it does not turn in circles. A timer wakes it for as long as
    // it takes.
    assert!(spins < 12 || env::var_os(UNTOLD).is_some(), "{spins}");
}

#[test]
fn who_waits_for_events_is_woken_when_the_data_plane_is_back() {
    for told in Told::all() {
        who_waits_is_woken(told);
    }
}

fn who_waits_is_woken(told: Told) {
    let above = folder();
    // Below a folder that nobody else writes to: what is made above it wakes, too.
    let folder = above.path().join("esp");
    fs::create_dir(&folder).unwrap();
    let mut listener_now = listener(&folder, "xfrm.sock");
    let child = start_as(told, &folder, "events");
    let heard = |listener: &OwnedFd| {
        let mut connection = Connection::take(listener);
        connection.until_groups(EXPIRE);
        connection.send(&message(0x18, 0, 0, 0, &[1; 8]));
        connection
    };
    let connection = heard(&listener_now);
    // All of it goes.
    drop(listener_now);
    fs::remove_dir_all(&folder).unwrap();
    drop(connection);
    thread::sleep(Duration::from_millis(100));
    fs::create_dir(&folder).unwrap();
    thread::sleep(Duration::from_millis(100));
    listener_now = listener(&folder, "xfrm.sock");
    drop(heard(&listener_now));
    // Who served has gone, and the socket still listens.
    heard(&listener_now);
    let said = String::from_utf8_lossy(&finish(child).stderr).into_owned();
    assert!(told.is_said(&said), "{told:?}: {said}");
}

// ---------------------------------------------------------------- no data plane, IKE's sockets

fn absent() {
    // SAFETY: no pointers.
    let fd = unsafe { libc::socket(libc::AF_NETLINK, libc::SOCK_RAW, libc::NETLINK_XFRM) };
    assert!((fd, errno()) == (-1, libc::ENOENT) || (fd, errno()) == (-1, libc::ECONNREFUSED));
}

#[test]
fn without_a_data_plane_the_operator_is_told_what_to_start() {
    let folder = folder();
    let output = finish(start(&folder.path().join("none"), "absent"));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("cryptand-xfrm: no data plane answers at"), "{said}");
}

fn ike() {
    let udp = |family| {
        // SAFETY: no pointers.
        let fd = unsafe { libc::socket(family, libc::SOCK_DGRAM, libc::IPPROTO_UDP) };
        assert!(fd >= 0);
        fd
    };
    let bind_to = |fd, port: u16| {
        // SAFETY: zero bytes are an address.
        let mut address: libc::sockaddr_in = unsafe { std::mem::zeroed() };
        address.sin_family = libc::AF_INET as u16;
        address.sin_port = port.to_be();
        address.sin_addr.s_addr = u32::from_ne_bytes([127, 0, 0, 9]);
        // SAFETY: the address is as long as is said.
        unsafe { libc::bind(fd, (&raw const address).cast(), size_of::<libc::sockaddr_in>() as u32) }
    };
    let mark = |fd| option(fd, libc::SOL_SOCKET, libc::SO_MARK);
    let shared = |fd| option(fd, libc::SOL_SOCKET, libc::SO_REUSEPORT);
    let (ike, both, other) = (udp(libc::AF_INET), udp(libc::AF_INET), udp(libc::AF_INET));
    assert_eq!((bind_to(ike, 500), bind_to(both, 4500), bind_to(other, 4501)), (0, 0, 0));
    assert_eq!((mark(ike), mark(both), mark(other)), (0xe500, 0xe500, 0));
    assert_eq!((shared(ike), shared(both), shared(other)), (0, 1, 0));
    // The kernel would refuse the type of the option, or take ESP.
    assert_eq!(set(both, libc::IPPROTO_UDP, 100, 2), 0);
    assert_eq!(option(both, libc::IPPROTO_UDP, 100), 0);
    assert_eq!(set(other, libc::IPPROTO_UDP, 100, 77), -1);
    // A policy of the socket would be 168 bytes; none of them is looked at.
    let (four, six) = (udp(libc::AF_INET), udp(libc::AF_INET6));
    assert_eq!((set(four, libc::IPPROTO_IP, 17, 0), set(six, libc::IPPROTO_IPV6, 35, 0)), (0, 0));
    assert_eq!((mark(four), mark(six)), (0xe500, 0xe500));
    // A TCP socket of port 4500 is nobody's here.
    // SAFETY: no pointers.
    let tcp = unsafe { libc::socket(libc::AF_INET, libc::SOCK_STREAM, 0) };
    assert_eq!((bind_to(tcp, 4500), mark(tcp)), (0, 0));
}

/// A data plane that answers questions about addresses with `answer`; what it was asked.
fn plane(folder: &Path, answer: &'static [u8]) -> Receiver<Vec<u8>> {
    let listener = listener(folder, "plane.sock");
    let (asked, heard): (Sender<_>, _) = channel();
    thread::spawn(move || {
        let socket = accepted(&listener);
        asked.send(next(&socket).unwrap()).unwrap();
        send(socket.as_fd(), answer, SendFlags::NOSIGNAL).unwrap();
    });
    heard
}

/// The program in a network of its own, where ports are free.
fn in_own_network(folder: &Path) -> Option<String> {
    if needs::lacks(needs::Need::Root) {
        return None;
    }
    let mut command = Command::new("unshare");
    command.args([
        "--net",
        "sh",
        "-c",
        "ip link set lo up && LD_PRELOAD=$1 exec $0 client --exact --nocapture",
    ]);
    command.arg(env::current_exe().unwrap()).arg(library());
    command.env(ACT, "ike").env("CRYPTAND_ESP", folder).stdout(Stdio::piped()).stderr(Stdio::piped());
    let output = finish(command.spawn().unwrap());
    Some(String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn the_data_plane_is_asked_to_share_the_port() {
    let folder = folder();
    let asked = plane(folder.path(), b"ok");
    let Some(said) = in_own_network(folder.path()) else { return };
    assert_eq!(asked.recv_timeout(PATIENCE).unwrap(), b"bind 127.0.0.9:4500");
    assert!(!said.contains("cryptand-xfrm"), "{said}");
}

#[test]
fn ike_goes_on_where_the_port_is_not_shared() {
    let folder = folder();
    let _asked = plane(folder.path(), b"error the address is not of this machine");
    let Some(said) = in_own_network(folder.path()) else { return };
    assert!(said.contains("does not share 127.0.0.9:4500"), "{said}");
    assert!(said.contains("(the address is not of this machine)"), "{said}");
    let empty = self::folder();
    let said = in_own_network(empty.path()).unwrap();
    assert!(said.contains("does not share 127.0.0.9:4500"), "{said}");
}
