//! One connection of requests and responses.

use crate::header::{HEADER_BYTES, Header};
use crate::pattern::PatternPosition;
use options::ipsec::Workload;
use rustix::event::epoll::EventFlags;
use rustix::io::Errno;
use std::os::fd::OwnedFd;
use std::time::Instant;
use streams::{Server, StreamSocket};

/// The outcome of a turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// The exchange waits for the kernel.
    Wait,
    /// A transaction is complete.
    Done,
    /// The connection cannot be used any more: the kind of error.
    Failed(String),
    /// Bytes arrived that differ from the expected ones.
    Wrong,
}

enum State {
    Connecting,
    /// Sending the request: bytes left of the header, and of the pattern.
    Request {
        header: usize,
        left: usize,
    },
    /// Receiving the response.
    Response {
        left: usize,
    },
    /// The last response has come: waiting for the server's end.
    End,
    /// No request is under way.
    Idle,
}

/// A connection with its state.
pub(super) struct Exchange {
    side: StreamSocket,
    state: State,
    header: Header,
    up: PatternPosition,
    down: PatternPosition,
    /// Start of the transaction's time.
    pub since: Instant,
    /// When the transaction began, for its timeout.
    pub begun: Instant,
    pub bytes_sent: u64,
    pub bytes_received: u64,
}

impl Exchange {
    /// Begins to connect; the request follows once the connection is there.
    pub fn connect(server: &Server, header: Header, since: Instant, now: Instant) -> Result<Self, Errno> {
        let (socket, _) = server.connect()?;
        let (up, down) =
            (PatternPosition::of_requests(header.seed), PatternPosition::of_responses(header.seed));
        let side = StreamSocket::connecting(socket);
        let state = State::Connecting;
        Ok(Self { side, state, header, up, down, since, begun: now, bytes_sent: 0, bytes_received: 0 })
    }

    pub fn socket(&self) -> &OwnedFd {
        &self.side.socket
    }

    pub fn hear(&mut self, events: EventFlags) {
        self.side.hear(events);
    }

    pub fn is_idle(&self) -> bool {
        matches!(self.state, State::Idle)
    }

    /// Begins another request.
    pub fn ask(&mut self, since: Instant, now: Instant) {
        (self.since, self.begun) = (since, now);
        self.state = State::Request { header: 0, left: self.header.request as usize };
    }

    /// Goes on until the exchange waits or a transaction ends.
    pub fn go_on(&mut self, scratch: &mut [u8]) -> Turn {
        loop {
            match self.step(scratch) {
                Ok(None) => {}
                Ok(Some(turn)) => return turn,
                Err(errno) => return Turn::Failed(name(errno)),
            }
        }
    }

    fn step(&mut self, scratch: &mut [u8]) -> Result<Option<Turn>, Errno> {
        match &mut self.state {
            State::Connecting => {
                if !self.side.can_write {
                    return Ok(Some(Turn::Wait));
                }
                rustix::net::sockopt::socket_error(&self.side.socket)??;
                let mut left = self.header.request as usize;
                if self.header.workload == Workload::Crr {
                    // In *crr* the header is the beginning of the request.
                    left -= HEADER_BYTES;
                    self.up.advance(HEADER_BYTES);
                }
                self.state = State::Request { header: HEADER_BYTES, left };
                Ok(None)
            }
            State::Request { header, left } => {
                // In one call, so that a short request is one segment with its header.
                let count = if *header > 0 {
                    let bytes = self.header.bytes();
                    let head = &bytes[HEADER_BYTES - *header..];
                    let body = self.up.bytes((*left).min(scratch.len() - head.len()));
                    scratch[..head.len()].copy_from_slice(head);
                    scratch[head.len()..head.len() + body.len()].copy_from_slice(body);
                    self.side.write(&scratch[..head.len() + body.len()])?
                } else {
                    self.side.write(self.up.bytes(*left))?
                };
                if count == 0 {
                    return Ok(Some(Turn::Wait));
                }
                self.bytes_sent += count as u64;
                let of_head = count.min(*header);
                *header -= of_head;
                *left -= count - of_head;
                self.up.advance(count - of_head);
                if *left == 0 && *header == 0 {
                    self.state = State::Response { left: self.header.response as usize };
                }
                Ok(None)
            }
            State::Response { left } => {
                let most = (*left).min(scratch.len());
                match self.side.read(&mut scratch[..most])? {
                    None => Ok(Some(Turn::Wait)),
                    Some(0) => Ok(Some(closed())),
                    Some(count) => {
                        self.bytes_received += count as u64;
                        *left -= count;
                        if !self.down.check(&scratch[..count]) {
                            return Ok(Some(Turn::Wrong));
                        }
                        if *left > 0 {
                            return Ok(None);
                        }
                        if self.header.workload == Workload::Crr {
                            self.state = State::End;
                            return Ok(None);
                        }
                        self.state = State::Idle;
                        Ok(Some(Turn::Done))
                    }
                }
            }
            // The server closes first, so that the client's port is free at once.
            State::End => match self.side.read(&mut scratch[..1])? {
                None => Ok(Some(Turn::Wait)),
                Some(0) => Ok(Some(Turn::Done)),
                Some(_) => Ok(Some(Turn::Wrong)),
            },
            State::Idle => match self.side.read(&mut scratch[..1])? {
                None => Ok(Some(Turn::Wait)),
                Some(0) => Ok(Some(closed())),
                Some(_) => Ok(Some(Turn::Wrong)),
            },
        }
    }
}

fn closed() -> Turn {
    Turn::Failed("closed by the server before its end".to_owned())
}

/// The kind by which an error of the system is counted.
pub(super) fn name(errno: Errno) -> String {
    std::io::Error::from(errno).to_string()
}
