//! A thread: waits for its queue, its sockets and its control, and looks at what is ready, a bounded batch at a time
//! and in turn.
//!
//! ```text
//! epoll ─► TUN      read, cut ─► routed, placed ─► sealed together ─► sent by peer
//!       ─► socket   received ─► opened together ─► admitted, put together ─► written to the TUN
//!       ─► wake     tables, sockets, stop
//! ```

use crate::bounds::{DATAGRAMS_MAX, PACKET_BYTES_MAX, TUN_READS_MAX};
use crate::core::Core;
use crate::counters::{Figures, Loss};
use crate::inbound::Arrivals;
use crate::io::{CONTROL_BYTES, Io, Socket, read_errors, receive};
use crate::outbound::Batch;
use crate::patience::Patience;
use crate::raw::Raw;
use crate::shared::{Change, Shared, Tables};
use crate::tun::{Queue, Queues};
use crate::vnet::VNET_BYTES;
use ipsec::{Arrival, Endpoint, Time};
use nix::errno::Errno;
use rustix::event::Timespec;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

#[cfg(test)]
mod tests;

/// What is ready, as the kernel says it.
const WAKE: u64 = 0;
const TUN: u64 = 1;
const RAW_V4: u64 = 2;
const RAW_V6: u64 = 3;
/// The sockets by which whole packets leave: of them errors alone are told.
const ANY_V4: u64 = 4;
const ANY_V6: u64 = 5;
/// The first of the sockets of UDP.
const SOCKETS: u64 = 16;
/// Most descriptors that one wait tells of; others are told of by the next.
const READY_MAX: usize = 64;

/// Starts the threads, each with a queue and a socket of every address; protocol 50 is received by the first. They take
/// packets from the first [`Shared::publish`] on, and run until [`Shared::stop`], or until the TUN is gone, which ends
/// them with the error.
///
/// # Errors
/// EINVAL where there is not one queue, and one socket of each address, for every thread; what the system says where it
/// gives no threads.
pub fn spawn(
    shared: &Arc<Shared>,
    queues: Queues,
    udp: Vec<(SocketAddr, Vec<OwnedFd>)>,
    raw: Raw,
) -> io::Result<Vec<JoinHandle<io::Result<()>>>> {
    if queues.len() != shared.thread_count() {
        return Err(Errno::EINVAL.into());
    }
    for (address, sockets) in udp {
        shared.add_sockets(address, sockets).map_err(|_| io::Error::from(Errno::EINVAL))?;
    }
    let raw = Arc::new(raw);
    let mut threads = Vec::new();
    let (begin, begun) = std::sync::mpsc::channel();
    for (seat, queue) in queues.0.into_iter().enumerate() {
        let thread = Thread::new(shared, seat, queue, &raw)?;
        let started = Builder::new().name(format!("plane-{seat}")).spawn({
            let begin = begin.clone();
            let ending = Ending(Arc::clone(shared));
            move || {
                let _ending = ending;
                let _ = begin.send(());
                thread.run()
            }
        });
        match started {
            Ok(started) => threads.push(started),
            Err(error) => {
                shared.stop();
                return Err(error);
            }
        }
    }
    // A caller that gives up system calls next must not take from a thread what only its beginning needs.
    for _ in &threads {
        let _ = begun.recv();
    }
    Ok(threads)
}

/// Tells of the end of a thread, however it comes.
struct Ending(Arc<Shared>);

impl Drop for Ending {
    fn drop(&mut self) {
        self.0.end();
    }
}

struct Thread {
    shared: Arc<Shared>,
    seat: usize,
    epoll: OwnedFd,
    core: Core,
    io: Io,
    tables: Arc<Tables>,
    version: u64,
    /// What one read of the TUN brings.
    read: Vec<u8>,
    arrivals: Arrivals,
    /// Whether packets are taken.
    has_begun: bool,
    /// When the last look at the TUN, and at sockets, ended.
    looked: [Time; 2],
    patience: Patience,
}

/// Places of [`Thread::looked`].
const OUTBOUND: usize = 0;
const INBOUND: usize = 1;
/// What is ready so soon after the last look is one of many: then all that is there is gathered. Later, one packet
/// alone goes on its way and nobody asks for others, which would keep the processor from whoever answers; if they are
/// there they are told of at once.
const SOON: Duration = Duration::from_micros(4);

impl Thread {
    fn new(shared: &Arc<Shared>, seat: usize, queue: Queue, raw: &Arc<Raw>) -> io::Result<Thread> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        epoll::add(&epoll, shared.threads[seat].wake_fd(), EventData::new_u64(WAKE), EventFlags::IN)?;
        Ok(Thread {
            shared: Arc::clone(shared),
            seat,
            epoll,
            core: Core::new(shared),
            io: Io {
                shared: Arc::clone(shared),
                queue,
                sockets: Vec::new(),
                raw: Arc::clone(raw),
                figures: Figures::default(),
                is_spent: false,
            },
            // Older than any that is published.
            tables: Arc::default(),
            version: u64::MAX,
            read: vec![0; VNET_BYTES + PACKET_BYTES_MAX],
            arrivals: Arrivals::default(),
            has_begun: false,
            looked: [Time::default(); 2],
            patience: Patience::default(),
        })
    }

    /// From now on packets are taken. Not before there are tables: by none at all, everything would pass in clear.
    fn begin(&mut self) -> io::Result<()> {
        let add = |fd: &dyn AsFd, data: u64| {
            epoll::add(&self.epoll, fd.as_fd(), EventData::new_u64(data), EventFlags::IN)
        };
        let add_errors = |fd: &OwnedFd, data: u64| {
            epoll::add(&self.epoll, fd, EventData::new_u64(data), EventFlags::empty())
        };
        add(&self.io.queue, TUN)?;
        if self.seat == 0 {
            add(&self.io.raw.v4.esp, RAW_V4)?;
            add_errors(&self.io.raw.v4.any, ANY_V4)?;
            if let Some(v6) = &self.io.raw.v6 {
                add(&v6.esp, RAW_V6)?;
                add_errors(&v6.any, ANY_V6)?;
            }
        }
        self.has_begun = true;
        Ok(())
    }

    fn run(mut self) -> io::Result<()> {
        let mut ready = Vec::with_capacity(READY_MAX);
        loop {
            self.wait(&mut ready)?;
            for event in ready.drain(..) {
                match event.data.u64() {
                    WAKE => {
                        self.change();
                        if !self.has_begun && self.shared.is_published() {
                            self.begin()?;
                        }
                    }
                    TUN => self.look_at_tun()?,
                    ANY_V4 | ANY_V6 => {
                        self.refresh();
                        self.look_at_errors(event.data.u64());
                    }
                    socket => self.look_outside(socket, event.flags),
                }
            }
            self.show();
            if self.shared.is_stopped() {
                return Ok(());
            }
        }
    }

    /// Waits until something is ready: polls as long as that has paid, then sleeps.
    fn wait(&mut self, ready: &mut Vec<Event>) -> io::Result<()> {
        const NOT_AT_ALL: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };
        let began = self.shared.now();
        loop {
            let is_over = self.shared.now().since(began) >= self.patience.limit();
            let time = if is_over { None } else { Some(&NOT_AT_ALL) };
            match epoll::wait(&self.epoll, rustix::buffer::spare_capacity(ready), time) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            if is_over || !ready.is_empty() {
                break;
            }
            std::thread::yield_now();
        }
        let packets = self.core.figures.received_packets + self.io.figures.sent_packets;
        self.patience.waited(self.shared.now().since(began), packets);
        Ok(())
    }

    /// Whether tables were published since the last were taken up. A packet that is read in the middle of a look may
    /// have been sent after that, by somebody who knows of it: a peer that was told of a new SA, or a program that
    /// waited for its policy.
    #[inline]
    fn is_behind(&self) -> bool {
        self.shared.version() != self.version
    }

    /// Takes up what was published since.
    #[inline]
    fn refresh(&mut self) {
        let version = self.shared.version();
        if version != self.version {
            // One that is published in between is taken up now, and again.
            self.version = version;
            self.tables = self.shared.tables();
        }
        self.core.paths.refresh(&self.shared.paths);
        self.io.is_spent = false;
    }

    fn change(&mut self) {
        for change in self.shared.threads[self.seat].take_changes() {
            match change {
                Change::Add(address, fd) => {
                    let place =
                        self.io.sockets.iter().position(Option::is_none).unwrap_or(self.io.sockets.len());
                    let data = EventData::new_u64(SOCKETS + place as u64);
                    if epoll::add(&self.epoll, &fd, data, EventFlags::IN).is_err() {
                        continue;
                    }
                    if place == self.io.sockets.len() {
                        self.io.sockets.push(None);
                    }
                    self.io.sockets[place] = Some(Socket { address, fd });
                }
                Change::Remove(address) => {
                    for socket in &mut self.io.sockets {
                        let gone = socket.take_if(|socket| socket.address == address);
                        if let Some(gone) = gone {
                            // The supervisor may hold the same socket, which then would still be told of.
                            let _ = epoll::delete(&self.epoll, &gone.fd);
                        }
                    }
                }
            }
        }
        self.refresh();
    }

    fn look_at_tun(&mut self) -> io::Result<()> {
        self.refresh();
        self.take_packets()
    }

    /// The rest of a look at the TUN, by tables that were taken up before it.
    fn take_packets(&mut self) -> io::Result<()> {
        let tables = Arc::clone(&self.tables);
        let now = self.shared.now();
        let is_soon = self.is_soon(OUTBOUND, now);
        let mut batch = Batch::new(&tables, now);
        for _ in 0..TUN_READS_MAX {
            match self.io.queue.read(&mut self.read) {
                Ok(bytes) => {
                    self.core.figures.tun_reads += 1;
                    if self.is_behind() {
                        self.core.seal(&mut batch, &mut self.io);
                        self.refresh();
                        let tables = Arc::clone(&self.tables);
                        let mut last = Batch::new(&tables, now);
                        self.core.take(&mut last, &mut self.io, &self.read[..bytes]);
                        self.core.seal(&mut last, &mut self.io);
                        break;
                    }
                    self.core.take(&mut batch, &mut self.io, &self.read[..bytes]);
                    if batch.is_full() || (!is_soon && batch.len() <= 1) {
                        break;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        self.core.seal(&mut batch, &mut self.io);
        self.looked[OUTBOUND] = self.shared.now();
        Ok(())
    }

    fn is_soon(&self, direction: usize, now: Time) -> bool {
        now.since(self.looked[direction]) < SOON
    }

    fn look_outside(&mut self, data: u64, flags: EventFlags) {
        self.refresh();
        if flags.contains(EventFlags::ERR) {
            self.look_at_errors(data);
        }
        self.take_datagrams(data);
    }

    /// The rest of a look at a socket, by tables that were taken up before it.
    fn take_datagrams(&mut self, data: u64) {
        let now = self.shared.now();
        let raw = Arc::clone(&self.io.raw);
        let mut control = [0; CONTROL_BYTES];
        let is_soon = self.is_soon(INBOUND, now);
        for _ in 0..DATAGRAMS_MAX {
            let Some((fd, bound)) = outside(&raw, &self.io.sockets, data) else { break };
            self.core.figures.receives += 1;
            let memory = self.core.room(&self.arrivals);
            let received = match receive(fd, memory, &mut control, bound) {
                Ok(received) => received,
                Err(Errno::EAGAIN) => break,
                // What an earlier packet met; the next call tells of packets.
                Err(_) => continue,
            };
            if self.is_behind() {
                self.refresh();
            }
            match (data, received.arrival) {
                (RAW_V4, _) => self.core.add_whole(&mut self.arrivals, received.bytes),
                (_, None) => self.core.figures.lose(Loss::NoAddress, 1),
                (_, Some(arrival)) => {
                    let arrival = if data == RAW_V6 { without_port(arrival) } else { arrival };
                    self.core.add(
                        &mut self.arrivals,
                        &self.tables,
                        arrival,
                        received.bytes,
                        received.segment,
                    );
                }
            }
            if self.arrivals.is_full() || (!is_soon && self.arrivals.len() <= 1) {
                break;
            }
        }
        let with_udp = self.io.queue.with_udp();
        self.core.open(&mut self.arrivals, &self.tables, now, &mut self.io, with_udp);
        self.looked[INBOUND] = self.shared.now();
    }

    fn look_at_errors(&mut self, data: u64) {
        let raw = Arc::clone(&self.io.raw);
        let Some((fd, _)) = outside(&raw, &self.io.sockets, data) else { return };
        let (shared, tables, figures) = (&self.shared, &self.tables, &mut self.core.figures);
        let mut control = [0; CONTROL_BYTES];
        read_errors(fd, &mut control, |error| {
            // Eight bytes of UDP are all that some routers quote; then the kernel has compared the ports.
            let is_ours =
                error.is_local || error.spi.is_none_or(|spi| tables.sad.outbound(spi, error.peer).is_some());
            if is_ours && shared.paths.learn(error.peer, error.mtu, shared.now()) {
                figures.paths_learnt += 1;
            }
        });
        if matches!(data, ANY_V4 | ANY_V6) {
            // Nothing comes there but an error that is kept beside that list; being told of ends it.
            let _ = receive(fd, &mut [0; 64], &mut control, Ipv4Addr::UNSPECIFIED.into());
        }
    }

    /// Shows figures and hands on events.
    fn show(&mut self) {
        let seat = &self.shared.threads[self.seat];
        seat.window.show(&self.io.figures, &self.core.figures, self.core.worker.counters());
        if self.shared.has_room() {
            let events = self.core.worker.take_events();
            if !events.is_empty() {
                self.shared.tell(events);
            }
        }
    }
}

/// A socket by the number that it was added with, and the address that it is bound to.
fn outside<'s>(raw: &'s Raw, sockets: &'s [Option<Socket>], data: u64) -> Option<(BorrowedFd<'s>, IpAddr)> {
    match data {
        RAW_V4 => Some((raw.v4.esp.as_fd(), Ipv4Addr::UNSPECIFIED.into())),
        RAW_V6 => raw.v6.as_ref().map(|v6| (v6.esp.as_fd(), Ipv6Addr::UNSPECIFIED.into())),
        ANY_V4 => Some((raw.v4.any.as_fd(), Ipv4Addr::UNSPECIFIED.into())),
        ANY_V6 => raw.v6.as_ref().map(|v6| (v6.any.as_fd(), Ipv6Addr::UNSPECIFIED.into())),
        _ => {
            let place = usize::try_from(data.checked_sub(SOCKETS)?).ok()?;
            sockets.get(place)?.as_ref().map(|socket| (socket.fd.as_fd(), socket.address.ip()))
        }
    }
}

/// A raw socket of IPv6 gives the protocol in the port's place.
fn without_port(arrival: Arrival) -> Arrival {
    Arrival { source: Endpoint::new(arrival.source.address, 0), ..arrival }
}
