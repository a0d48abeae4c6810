//! A terminal on which a command runs as a person has it.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};

/// How long a test waits for what must happen.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(60);

/// Both ends of a terminal, which no process gets that is not given it: a daemon that had one would keep it open.
fn pseudo_terminal() -> (File, OwnedFd) {
    let open = libc::O_RDWR | libc::O_NOCTTY | libc::O_CLOEXEC;
    // SAFETY: takes flags alone.
    let near = unsafe { libc::posix_openpt(open) };
    assert!(near >= 0);
    // SAFETY: the call above made it, and nobody else owns it.
    let near = unsafe { File::from_raw_fd(near) };
    let mut name = [0; 64];
    // SAFETY: the descriptor is open, and the name's length is given.
    unsafe {
        assert_eq!(libc::grantpt(near.as_raw_fd()), 0);
        assert_eq!(libc::unlockpt(near.as_raw_fd()), 0);
        assert_eq!(libc::ptsname_r(near.as_raw_fd(), name.as_mut_ptr(), name.len()), 0);
    }
    // SAFETY: the call above ended the name by a zero byte.
    let far = unsafe { libc::open(name.as_ptr(), open) };
    assert!(far >= 0);
    // SAFETY: as above.
    (near, unsafe { OwnedFd::from_raw_fd(far) })
}

/// A command on a terminal of its own, as a person has it.
pub struct Terminal {
    child: Child,
    pub near: File,
    heard: String,
    /// What was heard up to here was waited for already.
    seen: usize,
}

impl Terminal {
    /// Starts the command on it.
    pub fn new(mut command: Command) -> Self {
        let (near, far) = pseudo_terminal();
        let end = || Stdio::from(far.try_clone().unwrap());
        command.stdin(end()).stdout(end()).stderr(end());
        // SAFETY: between fork and exec only system calls are made, which are async-signal-safe and touch no memory.
        unsafe {
            command.pre_exec(|| {
                // Whoever runs the tests in the background may have it ignored; a person's shell does not.
                libc::signal(libc::SIGINT, libc::SIG_DFL);
                if libc::setsid() < 0 || libc::ioctl(0, libc::TIOCSCTTY, 0) < 0 {
                    return Err(std::io::Error::last_os_error());
                }
                Ok(())
            });
        }
        Self { child: command.spawn().unwrap(), near, heard: String::new(), seen: 0 }
    }

    /// Waits until the command has said this, after what was waited for before.
    pub fn says(&mut self, what: &str) {
        let mut bytes = [0; 256];
        loop {
            if let Some(at) = self.heard[self.seen..].find(what) {
                self.seen += at + what.len();
                return;
            }
            match self.read(&mut bytes) {
                Ok(count @ 1..) => self.heard.push_str(&String::from_utf8_lossy(&bytes[..count])),
                _ => panic!("it ended without {what:?}: {}", self.heard),
            }
        }
    }

    /// Types a line.
    pub fn types(&mut self, line: &str) {
        self.near.write_all(format!("{line}\n").as_bytes()).unwrap();
    }

    /// What was said after what was waited for, up to this.
    pub fn until(&mut self, what: &str) -> String {
        let from = self.seen;
        self.says(what);
        self.heard[from..self.seen - what.len()].to_owned()
    }

    /// Waits until what is typed is not shown: the question is there a moment before that.
    pub fn until_hidden(&self) {
        let end = std::time::Instant::now() + PATIENCE;
        while self.modes().c_lflag & libc::ECHO != 0 {
            assert!(std::time::Instant::now() < end, "still shown: {}", self.heard);
            std::thread::yield_now();
        }
    }

    fn modes(&self) -> libc::termios {
        // SAFETY: all zero is a value of this structure.
        let mut modes: libc::termios = unsafe { std::mem::zeroed() };
        // SAFETY: writes the structure, which outlives the call.
        assert_eq!(unsafe { libc::tcgetattr(self.near.as_raw_fd(), &raw mut modes) }, 0);
        modes
    }

    /// What comes next on the terminal; a command that says nothing for [`PATIENCE`] is ended, and the test with it.
    fn read(&mut self, bytes: &mut [u8]) -> std::io::Result<usize> {
        let mut watched = libc::pollfd { fd: self.near.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        let wait_ms = PATIENCE.as_millis() as libc::c_int;
        // SAFETY: one structure is handed over, which outlives the call.
        if unsafe { libc::poll(&raw mut watched, 1, wait_ms) } == 0 {
            let _ = self.child.kill();
            panic!("it says nothing and does not end: {}", self.heard);
        }
        self.near.read(bytes)
    }

    /// Waits for the end; how it ended, all that it said, and whether the terminal shows what is typed.
    pub fn ends(mut self) -> (ExitStatus, String, bool) {
        let mut bytes = [0; 256];
        // The end of a terminal that nobody has open any more reads as an error.
        while let Ok(count @ 1..) = self.read(&mut bytes) {
            self.heard.push_str(&String::from_utf8_lossy(&bytes[..count]));
        }
        let status = self.child.wait().unwrap();
        let echoes = self.modes().c_lflag & libc::ECHO != 0;
        (status, self.heard, echoes)
    }
}
