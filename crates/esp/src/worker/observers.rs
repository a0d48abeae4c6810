//! Connections of observers: each asks with one line, and is closed after the answer.

use crate::observed::Question;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, SocketFlags};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

/// Upper bound of observers connected at once; further ones wait in the backlog. Each answer may name all SAs, in
/// memory of secrets.
const OBSERVERS_MAX: usize = 8;
/// While all places are taken, how long an observer may take to ask and to read the answer.
const OBSERVER_WAIT: Duration = Duration::from_secs(5);
/// Upper bound of a question's line, in bytes.
const LINE_BYTES_MAX: usize = 64;

/// The connected observers, the oldest first.
#[derive(Default)]
pub struct Observers(Vec<Observer>);

struct Observer {
    socket: OwnedFd,
    since: Instant,
    asked: Vec<u8>,
    answer: Option<(Vec<u8>, usize)>,
}

impl Observers {
    /// Accepts the observers that wait at the listener, as far as there is room.
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

    /// Closes observers that have had their time, if all places are taken.
    pub fn end_old(&mut self) {
        if !self.has_room() {
            self.0.retain(|observer| observer.since.elapsed() < OBSERVER_WAIT);
        }
    }

    /// Time until the oldest observer may be closed; None while there is room.
    pub fn next_end(&self) -> Option<Duration> {
        let oldest = self.0.first().filter(|_| !self.has_room())?;
        Some(OBSERVER_WAIT.saturating_sub(oldest.since.elapsed()))
    }

    /// Each socket, and whether it is polled for writing (its answer is ready) or for reading.
    pub fn polled(&self) -> impl Iterator<Item = (BorrowedFd<'_>, bool)> {
        self.0.iter().map(|observer| (observer.socket.as_fd(), observer.answer.is_some()))
    }

    /// Serves the observers whose sockets are ready, in the order of [`Observers::polled`].
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
    /// Reads the question or sends the answer; false if the connection is to be closed.
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
