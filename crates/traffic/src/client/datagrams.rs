//! Datagrams from client to server, at a rate or as fast as they go; a connection beside them brings the server's
//! counts.

use super::{Share, Stage, Tally, random};
use crate::failure::DriveFailure;
use crate::header::DATAGRAM_HEAD_BYTES;
use crate::pattern::PatternPosition;
use crate::server::{COUNTS_BYTES, Counts};
use pacing::Pace;
use rustix::event::Timespec;
use rustix::event::epoll::{self, CreateFlags, Event};
use rustix::io::Errno;
use rustix::net::SendFlags;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream, UdpSocket};
use std::os::fd::OwnedFd;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// Datagrams between two checks of the clock.
const DATAGRAMS_A_LOOK: u64 = 64;
/// Send buffer of the socket, in bytes, if the system allows it.
const BUFFER_BYTES: usize = 4 << 20;
/// Bounds of the wait for the last datagrams: tries at most, pause between tries, and tries without a change after
/// which it ends.
const DRAIN_TRIES_MAX: u32 = 50;
const DRAIN_LOOK: Duration = Duration::from_millis(20);
const DRAIN_QUIET_MAX: u32 = 5;

/// How long a datagram waits for room before the run's end is checked.
const SEND_MAX: Duration = Duration::from_millis(100);

struct Flow {
    socket: UdpSocket,
    datagram: Vec<u8>,
    next: u64,
}

impl Flow {
    /// Sends the next datagram; false if the system has no room for it. An ICMP error for earlier ones is counted.
    fn send(&mut self, tally: &mut Tally) -> Result<bool, Errno> {
        self.datagram[8..DATAGRAM_HEAD_BYTES].copy_from_slice(&self.next.to_be_bytes());
        let contents = self.datagram.len() - DATAGRAM_HEAD_BYTES;
        self.datagram[DATAGRAM_HEAD_BYTES..]
            .copy_from_slice(PatternPosition::of_requests(self.next).bytes(contents));
        match rustix::net::send(&self.socket, &self.datagram, SendFlags::NOSIGNAL) {
            Ok(_) => {
                self.next += 1;
                Ok(true)
            }
            Err(Errno::AGAIN | Errno::NOBUFS | Errno::INTR) => Ok(false),
            Err(errno @ (Errno::CONNREFUSED | Errno::HOSTUNREACH | Errno::NETUNREACH)) => {
                tally.fail(&super::exchange::name(errno));
                self.next += 1;
                Ok(true)
            }
            Err(errno) => Err(errno),
        }
    }
}

/// Runs a flow of datagrams to its end.
pub(super) fn run(share: &Share<'_>) -> Result<Tally, DriveFailure> {
    let Share { plan, shared, .. } = *share;
    let number = random().map_err(DriveFailure::system("take a random number"))?;
    let mut counts = Control::connect(share, number)?;
    let mut flow = Flow {
        socket: socket(plan.target).map_err(DriveFailure::io("make the socket of datagrams"))?,
        datagram: vec![0; plan.request as usize],
        next: 0,
    };
    flow.datagram[..8].copy_from_slice(&number.to_be_bytes());
    let mut pacer = Pacer::new(share)?;
    let (mut stage, mut begin) = (Stage::WarmUp, (Counts::default(), 0));
    let mut tally = Tally::default();
    loop {
        let at = shared.stage();
        if at != stage {
            stage = at;
            if stage == Stage::Over {
                break;
            }
            begin = (counts.ask()?, flow.next);
            tally = Tally::default();
        }
        let before = flow.next;
        pacer.burst(&mut flow, &mut tally)?;
        shared.done.fetch_add(flow.next - before, Ordering::Relaxed);
    }
    let sent = flow.next - begin.1;
    // Datagrams that arrived within the window, counted before those under way arrive.
    let end = counts.ask()?;
    let all = counts.drain(flow.next)?;
    if all.wrong > 0 {
        return Err(DriveFailure::Wrong(plan.workload));
    }
    tally.transactions = end.received - begin.0.received;
    // Lost datagrams are no throughput.
    tally.bytes_sent = tally.transactions * u64::from(plan.request);
    tally.datagrams.sent = sent;
    tally.datagrams.received = tally.transactions;
    tally.datagrams.duplicates = all.duplicates;
    tally.datagrams.late = all.late;
    tally.datagrams.sent_in_all = flow.next;
    tally.datagrams.received_in_all = all.received;
    Ok(tally)
}

/// The times at which datagrams are sent.
struct Pacer {
    epoll: OwnedFd,
    pace: Option<Pace>,
}

impl Pacer {
    fn new(share: &Share<'_>) -> Result<Self, DriveFailure> {
        let system = DriveFailure::system("make a timer");
        let epoll = epoll::create(CreateFlags::CLOEXEC).map_err(&system)?;
        share.shared.wake.watch(&epoll).map_err(&system)?;
        let pace = share.plan.rate.map(|rate| Pace::new(&epoll, rate, 0, 1)).transpose().map_err(system)?;
        Ok(Self { epoll, pace })
    }

    /// Sends all due datagrams, or without a rate as many as between two checks; waits if none is due.
    fn burst(&mut self, flow: &mut Flow, tally: &mut Tally) -> Result<(), DriveFailure> {
        let failed = DriveFailure::system("send a datagram");
        let Some(pace) = &mut self.pace else {
            for _ in 0..DATAGRAMS_A_LOOK {
                flow.send(tally).map_err(&failed)?;
            }
            return Ok(());
        };
        let now = Instant::now();
        for _ in 0..DATAGRAMS_A_LOOK {
            let Some(due) = pace.due_by(now) else {
                pace.set(now).map_err(&failed)?;
                let mut events = Vec::<Event>::with_capacity(2);
                let second = Timespec { tv_sec: 1, tv_nsec: 0 };
                let waited =
                    epoll::wait(&self.epoll, rustix::buffer::spare_capacity(&mut events), Some(&second));
                return match waited {
                    Ok(_) | Err(Errno::INTR) => Ok(()),
                    Err(errno) => Err(failed(errno)),
                };
            };
            if flow.send(tally).map_err(&failed)? {
                pace.begin();
                tally.begin(now.saturating_duration_since(due));
            }
        }
        Ok(())
    }
}

/// The connection that brings counts.
struct Control(TcpStream);

impl Control {
    fn connect(share: &Share<'_>, number: u64) -> Result<Self, DriveFailure> {
        let plan = share.plan;
        let target = |error: io::Error| DriveFailure::Target {
            target: plan.target_text.clone(),
            why: error.to_string(),
        };
        let mut stream = TcpStream::connect_timeout(&plan.target, plan.timeout).map_err(target)?;
        let timeout = Some(plan.timeout);
        stream.set_nodelay(true).and_then(|()| stream.set_read_timeout(timeout)).map_err(target)?;
        stream.write_all(&plan.header(number).bytes()).map_err(target)?;
        let mut own = Self(stream);
        // The answer proves that the server knows the run before the first datagram goes.
        own.ask()?;
        Ok(own)
    }

    /// The server's counts so far.
    fn ask(&mut self) -> Result<Counts, DriveFailure> {
        let mut bytes = [0; COUNTS_BYTES];
        let asked = self.0.write_all(&[0]).and_then(|()| self.0.read_exact(&mut bytes));
        asked.map_err(DriveFailure::io("ask for the counts of datagrams"))?;
        Ok(Counts::read(&bytes))
    }

    /// The server's counts, once `sent` datagrams are counted or the counts stand still.
    fn drain(&mut self, sent: u64) -> Result<Counts, DriveFailure> {
        let (mut counts, mut quiet) = (self.ask()?, 0);
        for _ in 0..DRAIN_TRIES_MAX {
            if counts.received + counts.wrong >= sent || quiet == DRAIN_QUIET_MAX {
                break;
            }
            // There is no notice of a lost datagram.
            std::thread::sleep(DRAIN_LOOK);
            let later = self.ask()?;
            quiet = if later == counts { quiet + 1 } else { 0 };
            counts = later;
        }
        Ok(counts)
    }
}

fn socket(target: SocketAddr) -> io::Result<UdpSocket> {
    let any = match target {
        SocketAddr::V4(_) => SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0)),
        SocketAddr::V6(_) => SocketAddr::from((Ipv6Addr::UNSPECIFIED, 0)),
    };
    let socket = UdpSocket::bind(any)?;
    socket.connect(target)?;
    socket.set_write_timeout(Some(SEND_MAX))?;
    if rustix::net::sockopt::set_socket_send_buffer_size_force(&socket, BUFFER_BYTES).is_err() {
        rustix::net::sockopt::set_socket_send_buffer_size(&socket, BUFFER_BYTES)?;
    }
    Ok(socket)
}
