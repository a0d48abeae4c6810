//! A thread: waits for its queue, its sockets and its control, and serves those that are ready in turn, a bounded batch
//! each time.
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

/// Which descriptor is ready, as data of its event in epoll.
const WAKE: u64 = 0;
const TUN: u64 = 1;
const RAW_V4: u64 = 2;
const RAW_V6: u64 = 3;
/// The raw sockets that whole packets leave by: only their errors are reported.
const ANY_V4: u64 = 4;
const ANY_V6: u64 = 5;
/// The first number of a UDP socket.
const SOCKETS: u64 = 16;
/// Upper bound of descriptors that one wait reports; the next wait reports the others.
const READY_MAX: usize = 64;

/// Starts the threads, each with a queue and a socket of every address; the first also receives protocol 50. They take
/// packets from the first [`Shared::publish`] on. They run until [`Shared::stop`], or end with an error, for example
/// when the TUN is gone.
///
/// # Errors
/// EINVAL unless every thread has one queue, and one socket of each address; the error of the system if it gives no
/// threads.
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
    // The caller may give up system calls next: those that only a thread's start needs must be over by then.
    for _ in &threads {
        let _ = begun.recv();
    }
    Ok(threads)
}

/// When dropped, notes that its thread has ended, even by a panic.
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
    /// Memory for one read of the TUN.
    read: Vec<u8>,
    arrivals: Arrivals,
    /// Whether the thread takes packets yet.
    has_begun: bool,
    /// When the last look at the TUN, and at sockets, ended.
    looked: [Time; 2],
    patience: Patience,
}

/// Indexes into [`Thread::looked`].
const OUTBOUND: usize = 0;
const INBOUND: usize = 1;
/// A descriptor that is ready this soon after the last look has many packets: then all of them are gathered. Later, a
/// single packet goes on its way without a second read, which would keep the processor from the program that answers.
/// If there are more packets, epoll reports them at once.
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
            // Replaced before the first packet: no published version has this number.
            tables: Arc::default(),
            version: u64::MAX,
            read: vec![0; VNET_BYTES + PACKET_BYTES_MAX],
            arrivals: Arrivals::default(),
            has_begun: false,
            looked: [Time::default(); 2],
            patience: Patience::default(),
        })
    }

    /// Begins to take packets. Tables must have been published: without policies, everything would pass in clear.
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

    /// Waits until something is ready: polls for as long as [`Patience`] says, then sleeps.
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

    /// Whether newer tables were published than this thread uses. A packet that is read in the middle of a look may
    /// depend on them: a peer was told of a new SA, or a program waited for its policy.
    #[inline]
    fn is_behind(&self) -> bool {
        self.shared.version() != self.version
    }

    /// Takes up newer tables and learnt MTUs, and begins a look, in which a full socket may be waited for.
    #[inline]
    fn refresh(&mut self) {
        let version = self.shared.version();
        if version != self.version {
            // Tables that are published between these two lines are taken up now, and once more at the next call.
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
                            // The supervisor may hold the same socket: then closing it here would leave it in the
                            // interest list.
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
                // The error of an earlier packet; the next call reads a packet.
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
            // Some routers quote only the eight bytes of UDP's header, and no SPI; the kernel has compared the ports.
            let is_ours =
                error.is_local || error.spi.is_none_or(|spi| tables.sad.outbound(spi, error.peer).is_some());
            if is_ours && shared.paths.learn(error.peer, error.mtu, shared.now()) {
                figures.paths_learnt += 1;
            }
        });
        if matches!(data, ANY_V4 | ANY_V6) {
            // These sockets receive no packets, but have a pending error beside the queue, which this read clears.
            let _ = receive(fd, &mut [0; 64], &mut control, Ipv4Addr::UNSPECIFIED.into());
        }
    }

    /// Shows figures, and hands on events if there is room for them.
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

/// The socket of a number in epoll, and the address that it is bound to.
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

/// The arrival with port 0: a raw socket of IPv6 gives the protocol in the port's place.
fn without_port(arrival: Arrival) -> Arrival {
    Arrival { source: Endpoint::new(arrival.source.address, 0), ..arrival }
}
