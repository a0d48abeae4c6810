//! Connections that are shown how the data plane stands: one line asks, the answer ends with the connection.

use crate::observed::Question;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, SocketFlags};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

/// Most that are connected at once; the next ones wait in the backlog. Each may have an answer that names all SAs in
/// memory of secrets.
const OBSERVERS_MAX: usize = 8;
/// While there are so many, how long one may take to ask and to read the answer.
const OBSERVER_WAIT: Duration = Duration::from_secs(5);
/// Longest line that asks, in bytes.
const LINE_BYTES_MAX: usize = 64;

/// The connections.
#[derive(Default)]
pub struct Observers(Vec<Observer>);

struct Observer {
    socket: OwnedFd,
    since: Instant,
    asked: Vec<u8>,
    answer: Option<(Vec<u8>, usize)>,
}

impl Observers {
    /// Takes those that wait at the listener.
    pub fn accept(&mut self, listener: &OwnedFd) {
        while self.0.len() < OBSERVERS_MAX
            && let Ok(socket) =
                rustix::net::accept_with(listener, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK)
        {
            self.0.push(Observer { socket, since: Instant::now(), asked: Vec::new(), answer: None });
        }
    }

    /// Whether there is room for more.
    pub fn has_room(&self) -> bool {
        self.0.len() < OBSERVERS_MAX
    }

    /// Ends those that keep others out.
    pub fn end_old(&mut self) {
        if !self.has_room() {
            self.0.retain(|observer| observer.since.elapsed() < OBSERVER_WAIT);
        }
    }

    /// How long until one of them keeps others out for too long.
    pub fn next_end(&self) -> Option<Duration> {
        let oldest = self.0.first().filter(|_| !self.has_room())?;
        Some(OBSERVER_WAIT.saturating_sub(oldest.since.elapsed()))
    }

    /// Each socket, and whether it waits to be written.
    pub fn polled(&self) -> impl Iterator<Item = (BorrowedFd<'_>, bool)> {
        self.0.iter().map(|observer| (observer.socket.as_fd(), observer.answer.is_some()))
    }

    /// Goes on with those at which something happened, in the order of [`Observers::polled`].
    pub fn go_on(&mut self, happened: &[bool], mut answer: impl FnMut(Question) -> Vec<u8>) {
        let mut index = 0;
        self.0.retain_mut(|observer| {
            let ready = happened.get(index).copied().unwrap_or_default();
            index += 1;
            !ready || observer.go_on(&mut answer)
        });
    }
}

impl Observer {
    /// False where it is over.
    fn go_on(&mut self, answer: &mut impl FnMut(Question) -> Vec<u8>) -> bool {
        if self.answer.is_none() {
            let mut buffer = [0; LINE_BYTES_MAX];
            match rustix::net::recv(&self.socket, &mut buffer, RecvFlags::DONTWAIT) {
                Ok((_, 0)) => return false,
                Ok((_, bytes)) => self.asked.extend_from_slice(&buffer[..bytes]),
                Err(Errno::INTR | Errno::AGAIN) => return true,
                Err(_) => return false,
            }
            if !self.asked.ends_with(b"\n") {
                return self.asked.len() < LINE_BYTES_MAX;
            }
            let Some(question) = Question::read(&self.asked) else { return false };
            self.answer = Some((answer(question), 0));
        }
        self.write()
    }

    fn write(&mut self) -> bool {
        let Some((answer, sent)) = &mut self.answer else { return true };
        while *sent < answer.len() {
            match rustix::net::send(&self.socket, &answer[*sent..], SendFlags::DONTWAIT | SendFlags::NOSIGNAL)
            {
                Ok(bytes) => *sent += bytes,
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return true,
                Err(_) => return false,
            }
        }
        false
    }
}
