//! A child enters the sandbox and then tries what it must not be able to do. Each attempt has a
//! process of its own, with one thread, which the test harness could not give it.

use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus};

/// What a child does inside; `Ok` is an answer of the kernel that let it live.
const ATTEMPTS: &[(&str, fn())] = &[
    ("nothing", || {}),
    ("abort", || std::process::abort()),
    ("open a file", || drop(std::fs::File::open("/proc/self/status"))),
    ("make a socket", || drop(std::net::UdpSocket::bind("127.0.0.1:0"))),
    ("make a local socket", || drop(std::os::unix::net::UnixDatagram::unbound())),
    ("execute a program", || drop(Command::new("/bin/true").spawn())),
    ("ring a signal at another process", || {
        let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::USR1);
    }),
    ("abort another process", || {
        let parent = rustix::process::getppid().map_or(1, |parent| parent.as_raw_nonzero().get());
        // SAFETY: sends a signal, which has no effect on memory.
        let _ = unsafe { libc::syscall(libc::SYS_tgkill, parent, parent, libc::SIGABRT) };
    }),
    ("send to an address", || {
        let address = libc::sockaddr_un { sun_family: libc::AF_UNIX as u16, sun_path: [0; 108] };
        let (to, bytes) = ((&raw const address).cast(), size_of_val(&address) as u32);
        // SAFETY: the address is as long as is said, and no byte is sent.
        let _ = unsafe { libc::sendto(0, std::ptr::null(), 0, 0, to, bytes) };
    }),
    ("move those who wait at a futex", || {
        let (one, other) = (0_u32, 0_u32);
        // SAFETY: both words live, and nobody waits at them.
        let _ = unsafe {
            libc::syscall(libc::SYS_futex, &raw const one, libc::FUTEX_REQUEUE, 1, 1_usize, &raw const other)
        };
    }),
    ("make a thread", || drop(std::thread::Builder::new().spawn(|| {}))),
    ("be traced", || {
        // SAFETY: asks to be traced, which has no effect on memory.
        let _ = unsafe { libc::ptrace(libc::PTRACE_TRACEME, 0, 0, 0) };
    }),
    ("become dumpable", || {
        let _ = rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::Dumpable);
    }),
    ("map executable memory", || {
        let rights = rustix::mm::ProtFlags::READ | rustix::mm::ProtFlags::EXEC;
        let private = rustix::mm::MapFlags::PRIVATE;
        // SAFETY: a new mapping touches no memory in use.
        let _ = unsafe { rustix::mm::mmap_anonymous(std::ptr::null_mut(), 4096, rights, private) };
    }),
    ("print on standard output", || {
        let _ = rustix::io::write(rustix::stdio::stdout(), b"x");
    }),
];

/// Exit code of a child that came to its end.
const ENDED: i32 = 41;
/// Exit code of a child that the sandbox refused.
const REFUSED: i32 = 42;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    match arguments.as_slice() {
        [_, flag, name] if flag == "--attempt" => child(name),
        [_, flag, name] if flag == "--attempt-in-thread" => child_with_threads(name),
        _ => {}
    }
    if arguments.iter().any(|argument| argument == "--list") {
        println!("sandbox: test");
        return;
    }
    let inside = attempt("nothing");
    assert_eq!(inside.code(), Some(ENDED), "the sandbox itself: {inside}");
    let aborted = attempt("abort");
    assert_eq!(aborted.signal(), Some(libc::SIGABRT), "an abort ends as what it is: {aborted}");
    for (name, _) in &ATTEMPTS[2..] {
        let status = attempt(name);
        assert_eq!(status.signal(), Some(libc::SIGSYS), "an attempt to {name} ended as {status}");
        assert!(!status.core_dumped(), "an attempt to {name} left a core file");
    }
    // A thread that ran before the policy came is under it; it may write, and make nothing.
    for (name, _) in ATTEMPTS.iter().filter(|(name, _)| !["nothing", "abort"].contains(name)) {
        let status = attempt_as("--attempt-in-thread", name);
        let allowed = ["print on standard output", "move those who wait at a futex"].contains(name);
        if allowed {
            assert_eq!(status.code(), Some(ENDED), "an attempt of a thread to {name} ended as {status}");
        } else {
            assert_eq!(
                status.signal(),
                Some(libc::SIGSYS),
                "an attempt of a thread to {name} ended as {status}"
            );
        }
    }
    inspected_from_outside();
    println!("sandbox: {} attempts refused", ATTEMPTS.len() - 2);
}

fn attempt(name: &str) -> ExitStatus {
    attempt_as("--attempt", name)
}

fn attempt_as(flag: &str, name: &str) -> ExitStatus {
    let own = std::env::current_exe().expect("the test's own program");
    // Where standard output is a file, its limited length would end the child, too.
    Command::new(own).args([flag, name]).stdout(std::process::Stdio::null()).status().expect("a child")
}

/// The same by a thread that was there before the policy.
fn child_with_threads(name: &str) -> ! {
    use confine::sandbox::{Kept, PACKET_RULES, confine_threads, enter_before_threads};
    let act = ATTEMPTS.iter().find(|(other, _)| *other == name).map_or(ATTEMPTS[0].1, |(_, act)| *act);
    let (go, gone) = std::sync::mpsc::channel();
    let (begin, begun) = std::sync::mpsc::channel();
    let entered = enter_before_threads().map_err(|error| error.to_string());
    let thread = entered.and_then(|_| {
        let thread = std::thread::spawn(move || {
            let _ = begin.send(());
            let _ = gone.recv();
            act();
            std::process::exit(ENDED);
        });
        // What a thread does before its first line is not in the policy.
        let _ = begun.recv();
        let kept = Kept { descriptors: 64, file_bytes: 0, calls: PACKET_RULES };
        confine_threads(kept).map(|()| thread).map_err(|error| error.to_string())
    });
    match thread {
        Ok(thread) => {
            let _ = go.send(());
            let _ = thread.join();
        }
        Err(error) => eprintln!("{error}"),
    }
    std::process::exit(REFUSED);
}

fn child(name: &str) -> ! {
    match confine::sandbox::enter() {
        Ok(confine::sandbox::Entered { missing, .. }) => {
            if name == "wait" {
                let line = format!("missing {missing:?}\n");
                let _ = rustix::io::write(rustix::stdio::stderr(), line.as_bytes());
                let mut byte = [0];
                let _ = rustix::net::recv(rustix::stdio::stdin(), &mut byte, rustix::net::RecvFlags::empty());
            }
        }
        Err(error) => {
            eprintln!("{error}");
            std::process::exit(REFUSED);
        }
    }
    if let Some((_, act)) = ATTEMPTS.iter().find(|(other, _)| *other == name) {
        act();
    }
    std::process::exit(ENDED);
}

/// What another process sees of one inside.
fn inspected_from_outside() {
    use std::io::{BufRead, Write};
    let (near, far) = std::os::unix::net::UnixStream::pair().expect("a socket pair");
    let own = std::env::current_exe().expect("the test's own program");
    let mut inside = Command::new(own)
        .args(["--attempt", "wait"])
        .stdin(std::os::fd::OwnedFd::from(far))
        .stderr(std::process::Stdio::piped())
        .spawn()
        .expect("a child");
    let mut line = String::new();
    std::io::BufReader::new(inside.stderr.take().expect("piped")).read_line(&mut line).expect("a line");
    assert!(line.starts_with("missing "), "{line}");
    let pid = inside.id();

    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("a status");
    let field = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name)).expect("a field of the status");
        line.trim().to_owned()
    };
    assert_eq!(field("NoNewPrivs:"), "1");
    assert_eq!(field("Seccomp:"), "2");
    assert_eq!(field("CapEff:"), "0000000000000000");
    assert_eq!(field("CapPrm:"), "0000000000000000");
    assert_eq!(field("TracerPid:"), "0");
    assert_eq!(field("Threads:"), "1");

    // Not dumpable: its files belong to root, whoever runs it, so that no one else may trace it or
    // read its memory.
    use std::os::unix::fs::MetadataExt;
    let owner = std::fs::metadata(format!("/proc/{pid}/mem")).expect("its memory file").uid();
    assert_eq!(owner, 0);
    if rustix::process::geteuid().as_raw() != 0 {
        let error = std::fs::File::open(format!("/proc/{pid}/mem")).expect_err("unreadable");
        assert_eq!(error.kind(), std::io::ErrorKind::PermissionDenied);
    }
    if rustix::process::geteuid().as_raw() == 0 && !line.contains("mount namespace") {
        let files = std::fs::read_dir(format!("/proc/{pid}/root")).expect("its root folder");
        assert_eq!(files.count(), 0, "nothing lies in its file system");
        let mounts = std::fs::read_to_string(format!("/proc/{pid}/mounts")).expect("its mounts");
        let [root] = mounts.lines().collect::<Vec<_>>()[..] else { panic!("one file system: {mounts}") };
        assert!(root.contains(" / tmpfs ro,"), "{root}");
    }
    let limits = std::fs::read_to_string(format!("/proc/{pid}/limits")).expect("limits");
    let core = limits.lines().find(|line| line.starts_with("Max core file size")).expect("a core limit");
    assert!(
        core.split_whitespace().nth(4) == Some("0") && core.split_whitespace().nth(5) == Some("0"),
        "{core}"
    );

    (&near).write_all(b"x").expect("a byte to the child");
    assert_eq!(inside.wait().expect("its end").code(), Some(ENDED));
}
