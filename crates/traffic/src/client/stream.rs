//! Streams in one direction at full speed: from client to server, or back.

use super::{Share, Stage, Tally, random};
use crate::failure::DriveFailure;
use crate::header::HEADER_BYTES;
use crate::pattern::{PIECE_BYTES_MAX, PatternPosition};
use crate::wake::WAKE;
use options::ipsec::Workload;
use rustix::event::Timespec;
use rustix::event::epoll::{self, CreateFlags, Event, EventData};
use rustix::io::Errno;
use rustix::net::Shutdown;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use streams::{Server, StreamSocket, WATCHED};

const EVENTS_MAX: usize = 64;
/// Pieces of a connection before others have their turn.
const PIECES_A_TURN: usize = 8;
/// How often connections are checked for standing still.
const LOOK: Duration = Duration::from_millis(500);

struct Stream {
    side: StreamSocket,
    header: [u8; HEADER_BYTES],
    header_left: usize,
    position: PatternPosition,
    /// Bytes sent behind the header, then the part received so far of the server's count of bytes.
    sent: u64,
    count: [u8; 8],
    counted: usize,
    moved: Instant,
    is_ended: bool,
    is_done: bool,
}

/// Runs all streams of a loop to their ends.
pub(super) fn run(share: &Share<'_>) -> Result<Tally, DriveFailure> {
    let Share { plan, shared, connections, .. } = *share;
    let system = DriveFailure::system("wait for connections");
    let epoll = epoll::create(CreateFlags::CLOEXEC).map_err(&system)?;
    shared.wake.watch(&epoll).map_err(&system)?;
    let mut streams = Vec::new();
    for number in 0..connections {
        let connect = DriveFailure::target(&plan.target_text);
        let (socket, _) = Server::Tcp(plan.target).connect().map_err(&connect)?;
        epoll::add(&epoll, &socket, EventData::new_u64(number as u64), WATCHED).map_err(&system)?;
        let seed = random().map_err(&system)?;
        let header = plan.header(seed).bytes();
        let is_up = plan.workload == Workload::Stream;
        let position =
            if is_up { PatternPosition::of_requests(seed) } else { PatternPosition::of_responses(seed) };
        streams.push(Stream {
            side: StreamSocket::connecting(socket),
            header,
            header_left: HEADER_BYTES,
            position,
            sent: 0,
            count: [0; 8],
            counted: 0,
            moved: Instant::now(),
            is_ended: false,
            is_done: false,
        });
    }
    let (mut tally, mut stage) = (Tally::default(), Stage::WarmUp);
    let mut scratch = vec![0; PIECE_BYTES_MAX];
    let mut events = Vec::<Event>::with_capacity(EVENTS_MAX);
    let mut is_again = false;
    loop {
        let wait = if is_again { 0 } else { LOOK.as_nanos() as i64 };
        events.clear();
        let timeout = Timespec { tv_sec: 0, tv_nsec: wait };
        match epoll::wait(&epoll, rustix::buffer::spare_capacity(&mut events), Some(&timeout)) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(errno) => return Err(system(errno)),
        }
        for event in &events {
            // The structure is packed: the fields are copied before use.
            let (data, flags) = (event.data, event.flags);
            match data.u64() {
                // A wake that stays watched would report the end again and again.
                WAKE => shared.wake.forget(&epoll).map_err(&system)?,
                number => {
                    if let Some(stream) = streams.get_mut(number as usize) {
                        stream.side.hear(flags);
                    }
                }
            }
        }
        let now = Instant::now();
        let at = shared.stage();
        if at != stage {
            stage = at;
            if stage == Stage::Measured {
                tally = Tally::default();
            }
        }
        is_again = false;
        for stream in streams.iter_mut().filter(|stream| !stream.is_done) {
            let before = (tally.bytes_sent, tally.bytes_received);
            let turn = stream.turn(plan.workload, stage, &mut scratch, &mut tally);
            is_again |= turn?;
            let moved = tally.bytes_sent - before.0 + tally.bytes_received - before.1;
            if moved > 0 {
                stream.moved = now;
                shared.bytes.fetch_add(moved, Ordering::Relaxed);
            }
            if stage != Stage::Measured {
                // Bytes outside the measured time are not counted.
                (tally.bytes_sent, tally.bytes_received) = before;
            }
            if !stream.is_done && now.saturating_duration_since(stream.moved) > plan.timeout {
                return Err(DriveFailure::Stands(plan.timeout));
            }
        }
        if stage == Stage::Over && streams.iter().all(|stream| stream.is_done) {
            return Ok(tally);
        }
    }
}

impl Stream {
    /// Takes a turn; true if the stream can go on at once.
    fn turn(
        &mut self,
        workload: Workload,
        stage: Stage,
        scratch: &mut [u8],
        tally: &mut Tally,
    ) -> Result<bool, DriveFailure> {
        let failed = |errno: Errno| match errno {
            // A server that finds wrong contents closes the connection; so does a machine that has failed.
            Errno::CONNRESET | Errno::PIPE => DriveFailure::Closed,
            errno => DriveFailure::system("send or receive")(errno),
        };
        for _ in 0..PIECES_A_TURN {
            if self.header_left > 0 {
                if !self.side.can_write {
                    return Ok(false);
                }
                let connected = rustix::net::sockopt::socket_error(&self.side.socket).and_then(|error| error);
                connected.map_err(DriveFailure::system("connect"))?;
                let count =
                    self.side.write(&self.header[HEADER_BYTES - self.header_left..]).map_err(failed)?;
                if count == 0 {
                    return Ok(false);
                }
                self.header_left -= count;
                continue;
            }
            let is_moved = match (workload, stage) {
                (Workload::Stream, Stage::Over) => self.end(failed)?,
                (Workload::Stream, _) => {
                    let count = self.side.write(self.position.bytes(PIECE_BYTES_MAX)).map_err(failed)?;
                    self.position.advance(count);
                    self.sent += count as u64;
                    tally.bytes_sent += count as u64;
                    count > 0
                }
                (_, Stage::Over) => {
                    // The server ends after this end does.
                    self.is_done = true;
                    false
                }
                _ => match self.side.read(scratch).map_err(failed)? {
                    None => false,
                    Some(0) => return Err(DriveFailure::Closed),
                    Some(count) => {
                        tally.bytes_received += count as u64;
                        if !self.position.check(&scratch[..count]) {
                            return Err(DriveFailure::Wrong(workload));
                        }
                        true
                    }
                },
            };
            if !is_moved {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Ends sending, and waits for the server's count, which proves that every byte arrived and was right. True if the
    /// stream can go on at once.
    fn end(&mut self, failed: impl Fn(Errno) -> DriveFailure) -> Result<bool, DriveFailure> {
        if !self.is_ended {
            self.is_ended = true;
            rustix::net::shutdown(&self.side.socket, Shutdown::Write).map_err(&failed)?;
        }
        match self.side.read(&mut self.count[self.counted..]).map_err(&failed)? {
            None => return Ok(false),
            Some(0) => return Err(DriveFailure::Closed),
            Some(count) => self.counted += count,
        }
        if self.counted < self.count.len() {
            return Ok(true);
        }
        self.is_done = true;
        let counted = u64::from_be_bytes(self.count);
        if counted == self.sent {
            Ok(false)
        } else {
            Err(DriveFailure::Lost { sent: self.sent, received: counted })
        }
    }
}
