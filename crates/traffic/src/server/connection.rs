//! A connection of a server.

use super::datagrams::Run;
use super::{Shared, add};
use crate::header::{HEADER_BYTES, Header};
use crate::pattern::{PIECE_BYTES_MAX, PatternPosition};
use options::ipsec::Workload;
use rustix::event::epoll::EventFlags;
use rustix::io::Errno;
use std::net::IpAddr;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::{Duration, Instant};
use streams::StreamSocket;

/// Pieces that a connection reads or writes in one turn.
const PIECES_A_TURN: usize = 8;
/// Longest short answer, in bytes: the count of a stream's bytes, or the counts of datagrams.
const ANSWER_BYTES_MAX: usize = super::datagrams::COUNTS_BYTES;

/// The connection's state after a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum After {
    /// The connection waits for the kernel.
    Wait,
    /// The connection has more to do, after the others' turns.
    Again,
    /// The connection is to be closed.
    Close,
}

/// Requests and responses, in turn.
struct Exchange {
    header: Header,
    up: PatternPosition,
    down: PatternPosition,
    /// Bytes left of the request, then of the response.
    request: usize,
    response: usize,
}

enum State {
    /// Receives the header.
    Header { bytes: [u8; HEADER_BYTES], count: usize },
    /// Receives requests, and sends responses.
    Exchange(Exchange),
    /// Receives and checks bytes until the client's end.
    Sink { up: PatternPosition, count: u64 },
    /// Sends bytes until the client's end.
    Source { down: PatternPosition },
    /// Sends the counts of datagrams for each byte received.
    Counts { run: Arc<Run>, number: u64 },
    /// Sends a short answer; then ends, or goes on with counts.
    Answer { bytes: [u8; ANSWER_BYTES_MAX], from: usize, to: usize, then: Option<(Arc<Run>, u64)> },
}

/// A client's connection with its state.
pub(super) struct Connection {
    side: StreamSocket,
    state: State,
    pub address: IpAddr,
    /// When the header was complete, or a byte last went either way.
    moved: Instant,
}

impl Connection {
    pub fn new(socket: OwnedFd, address: IpAddr, now: Instant) -> Self {
        let state = State::Header { bytes: [0; HEADER_BYTES], count: 0 };
        Self { side: StreamSocket::new(socket), state, address, moved: now }
    }

    pub fn socket(&self) -> &OwnedFd {
        &self.side.socket
    }

    /// Takes note of the kernel's events.
    pub fn hear(&mut self, events: EventFlags) {
        self.side.hear(events);
    }

    /// Whether the connection stood still for too long.
    pub fn is_idle(&self, now: Instant, shared: &Shared) -> bool {
        let most = match self.state {
            // Bytes of an incomplete header do not extend its time.
            State::Header { .. } => shared.options.header_max,
            _ => shared.options.idle_max,
        };
        now.saturating_duration_since(self.moved) > most
    }

    /// Takes a turn: a bounded number of pieces.
    pub fn go_on(&mut self, scratch: &mut [u8], shared: &Shared, now: Instant) -> After {
        for _ in 0..PIECES_A_TURN {
            match self.step(scratch, shared, now) {
                Ok(After::Again) => {}
                Ok(After::Wait) => return After::Wait,
                Ok(After::Close) | Err(_) => return After::Close,
            }
        }
        After::Again
    }

    /// Ends the connection's run of datagrams, if it has one.
    pub fn end(self, shared: &Shared) {
        let number = match &self.state {
            State::Counts { number, .. } | State::Answer { then: Some((_, number)), .. } => *number,
            _ => return,
        };
        shared.runs.end(number);
    }

    /// Reads or writes one piece.
    fn step(&mut self, scratch: &mut [u8], shared: &Shared, now: Instant) -> Result<After, Errno> {
        let (side, moved) = (&mut self.side, &mut self.moved);
        match &mut self.state {
            State::Header { bytes, count } => {
                match side.read(&mut bytes[*count..])? {
                    None => return Ok(After::Wait),
                    Some(0) => return Ok(malformed(shared)),
                    Some(more) => *count += more,
                }
                if *count == HEADER_BYTES {
                    *moved = now;
                    let Ok(header) = Header::read(bytes) else { return Ok(malformed(shared)) };
                    let Some(state) = State::of(header, shared) else { return Ok(refused(shared)) };
                    self.state = state;
                }
                Ok(After::Again)
            }
            State::Exchange(exchange) => {
                let piece = exchange.piece(side, scratch)?;
                match piece {
                    Piece::Moved => *moved = now,
                    Piece::Wrong => return Ok(wrong(shared)),
                    Piece::None => return Ok(After::Wait),
                    Piece::End => return Ok(After::Close),
                }
                if exchange.request == 0 && exchange.response == 0 {
                    add(&shared.tallied.responses);
                    if exchange.header.workload == Workload::Crr {
                        return Ok(After::Close);
                    }
                    exchange.begin();
                }
                Ok(After::Again)
            }
            State::Sink { up, count } => match side.read(scratch)? {
                None => Ok(After::Wait),
                Some(0) => {
                    let mut bytes = [0; ANSWER_BYTES_MAX];
                    bytes[..8].copy_from_slice(&count.to_be_bytes());
                    self.state = State::Answer { bytes, from: 0, to: 8, then: None };
                    Ok(After::Again)
                }
                Some(more) => {
                    *moved = now;
                    *count += more as u64;
                    Ok(if up.check(&scratch[..more]) { After::Again } else { wrong(shared) })
                }
            },
            State::Source { down } => {
                // The client sends nothing more than its end.
                match side.read(&mut scratch[..1])? {
                    None => {}
                    Some(_) => return Ok(After::Close),
                }
                match side.write(down.bytes(PIECE_BYTES_MAX))? {
                    0 => Ok(After::Wait),
                    count => {
                        *moved = now;
                        down.advance(count);
                        Ok(After::Again)
                    }
                }
            }
            State::Counts { run, number } => match side.read(&mut scratch[..1])? {
                None => Ok(After::Wait),
                Some(0) => Ok(After::Close),
                Some(_) => {
                    *moved = now;
                    let (bytes, then) = (run.counts().bytes(), Some((Arc::clone(run), *number)));
                    self.state = State::Answer { bytes, from: 0, to: ANSWER_BYTES_MAX, then };
                    Ok(After::Again)
                }
            },
            State::Answer { bytes, from, to, then } => match side.write(&bytes[*from..*to])? {
                0 => Ok(After::Wait),
                count => {
                    *moved = now;
                    *from += count;
                    if *from < *to {
                        return Ok(After::Again);
                    }
                    let Some((run, number)) = then.take() else { return Ok(After::Close) };
                    self.state = State::Counts { run, number };
                    Ok(After::Again)
                }
            },
        }
    }
}

/// The outcome of one piece of an exchange.
enum Piece {
    Moved,
    None,
    End,
    Wrong,
}

impl Exchange {
    fn new(header: Header) -> Self {
        let mut up = PatternPosition::of_requests(header.seed);
        let mut request = header.request as usize;
        if header.workload == Workload::Crr {
            // The header was the beginning of the request.
            up.advance(HEADER_BYTES);
            request -= HEADER_BYTES;
        }
        let down = PatternPosition::of_responses(header.seed);
        Self { header, up, down, request, response: header.response as usize }
    }

    fn begin(&mut self) {
        self.request = self.header.request as usize;
        self.response = self.header.response as usize;
    }

    fn piece(&mut self, side: &mut StreamSocket, scratch: &mut [u8]) -> Result<Piece, Errno> {
        if self.request > 0 {
            // Reads no byte behind the request: a client that reads no responses then fills only the buffers of its
            // kernel and of this one.
            let most = self.request.min(scratch.len());
            return Ok(match side.read(&mut scratch[..most])? {
                None => Piece::None,
                Some(0) => Piece::End,
                Some(count) => {
                    self.request -= count;
                    if self.up.check(&scratch[..count]) { Piece::Moved } else { Piece::Wrong }
                }
            });
        }
        let count = side.write(self.down.bytes(self.response))?;
        self.down.advance(count);
        self.response -= count;
        Ok(if count > 0 { Piece::Moved } else { Piece::None })
    }
}

impl State {
    /// The state for a header's workload; None if there is no room for a run of datagrams.
    fn of(header: Header, shared: &Shared) -> Option<Self> {
        Some(match header.workload {
            Workload::Rr | Workload::Crr | Workload::Ping => Self::Exchange(Exchange::new(header)),
            Workload::Stream => Self::Sink { up: PatternPosition::of_requests(header.seed), count: 0 },
            Workload::Download => Self::Source { down: PatternPosition::of_responses(header.seed) },
            Workload::Udp => {
                let run = shared.runs.begin(header.seed, header.request)?;
                Self::Counts { run, number: header.seed }
            }
        })
    }
}

fn malformed(shared: &Shared) -> After {
    add(&shared.tallied.malformed);
    After::Close
}

fn refused(shared: &Shared) -> After {
    add(&shared.tallied.refused);
    After::Close
}

fn wrong(shared: &Shared) -> After {
    add(&shared.tallied.wrong);
    After::Close
}

/// How often connections are checked for standing still.
pub(super) const LOOK: Duration = Duration::from_millis(500);
