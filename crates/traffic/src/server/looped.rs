//! A loop of a server: any number of connections in one thread. The first loop also accepts connections and receives
//! datagrams.

use super::connection::{After, Connection, LOOK};
use super::{Shared, add};
use crate::pattern::PIECE_BYTES_MAX;
use crate::wake::WAKE;
use rustix::event::Timespec;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::io::Errno;
use rustix::net::RecvFlags;
use std::collections::VecDeque;
use std::net::{IpAddr, TcpListener, UdpSocket};
use std::os::fd::OwnedFd;
use std::sync::PoisonError;
use std::sync::atomic::Ordering;
use std::time::Instant;
use streams::WATCHED;

const EVENTS_MAX: usize = 512;
/// Upper bound of connections accepted, and of datagrams received, before the others' turn.
const ACCEPTS_A_TURN: usize = 64;
const DATAGRAMS_A_TURN: usize = 256;
/// Event numbers of the listener and of the UDP socket in an epoll instance.
const LISTENER: u64 = u64::MAX - 2;
const DATAGRAMS: u64 = u64::MAX - 3;

#[derive(Default)]
struct Slot {
    /// Number of the slot's connections so far, which tells events of this connection from those of an earlier one.
    uses: u32,
    connection: Option<Connection>,
    is_queued: bool,
}

pub(super) struct Looped<'a> {
    shared: &'a Shared,
    number: usize,
    epoll: OwnedFd,
    sockets: Option<(TcpListener, UdpSocket)>,
    /// Whether the listener is paused until the next look, because the process or the system has no descriptor left.
    is_full: bool,
    next_loop: usize,
    slots: Vec<Slot>,
    free: Vec<usize>,
    again: VecDeque<usize>,
    scratch: Vec<u8>,
}

impl<'a> Looped<'a> {
    pub fn new(
        shared: &'a Shared,
        number: usize,
        sockets: Option<(TcpListener, UdpSocket)>,
    ) -> Result<Self, Errno> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        if let Some((listener, datagrams)) = &sockets {
            epoll::add(&epoll, listener, EventData::new_u64(LISTENER), EventFlags::IN)?;
            epoll::add(&epoll, datagrams, EventData::new_u64(DATAGRAMS), EventFlags::IN)?;
        }
        if let Some((_, wake)) = shared.inboxes.get(number) {
            wake.watch(&epoll)?;
        }
        Ok(Self {
            shared,
            number,
            epoll,
            sockets,
            is_full: false,
            next_loop: 0,
            slots: Vec::new(),
            free: Vec::new(),
            again: VecDeque::new(),
            scratch: vec![0; PIECE_BYTES_MAX],
        })
    }

    pub fn run(mut self) -> Result<(), Errno> {
        let mut events = Vec::<Event>::with_capacity(EVENTS_MAX);
        let mut looked = Instant::now();
        while !self.shared.is_over.load(Ordering::Acquire) {
            let wait = if self.again.is_empty() { LOOK.as_nanos() as i64 } else { 0 };
            let timeout = Timespec { tv_sec: 0, tv_nsec: wait };
            events.clear();
            match epoll::wait(&self.epoll, rustix::buffer::spare_capacity(&mut events), Some(&timeout)) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(errno) => return Err(errno),
            }
            let now = Instant::now();
            for event in &events {
                // The structure is packed: the fields are copied before use.
                let (data, flags) = (event.data, event.flags);
                match data.u64() {
                    LISTENER => self.accept(now)?,
                    DATAGRAMS => self.datagrams(),
                    WAKE => self.fetch(now),
                    data => self.hear(data, flags, now),
                }
            }
            for _ in 0..self.again.len() {
                let Some(number) = self.again.pop_front() else { break };
                if let Some(slot) = self.slots.get_mut(number) {
                    slot.is_queued = false;
                }
                self.go_on(number, now);
            }
            if now.saturating_duration_since(looked) >= LOOK {
                looked = now;
                self.look(now)?;
            }
        }
        Ok(())
    }

    fn hear(&mut self, data: u64, flags: EventFlags, now: Instant) {
        let (number, uses) = ((data & u64::from(u32::MAX)) as usize, (data >> 32) as u32);
        let Some(slot) = self.slots.get_mut(number).filter(|slot| slot.uses == uses) else { return };
        let Some(connection) = &mut slot.connection else { return };
        connection.hear(flags);
        if !slot.is_queued {
            self.go_on(number, now);
        }
    }

    fn go_on(&mut self, number: usize, now: Instant) {
        let Some(slot) = self.slots.get_mut(number) else { return };
        let Some(connection) = &mut slot.connection else { return };
        match connection.go_on(&mut self.scratch, self.shared, now) {
            After::Wait => {}
            After::Again => {
                slot.is_queued = true;
                self.again.push_back(number);
            }
            After::Close => self.close(number),
        }
    }

    fn close(&mut self, number: usize) {
        let Some(connection) = self.slots.get_mut(number).and_then(|slot| slot.connection.take()) else {
            return;
        };
        self.shared.admission.leave(connection.address);
        connection.end(self.shared);
        self.free.push(number);
    }

    /// Accepts connections, and hands them to the loops in turn.
    fn accept(&mut self, now: Instant) -> Result<(), Errno> {
        for _ in 0..ACCEPTS_A_TURN {
            let Some((listener, _)) = &self.sockets else { return Ok(()) };
            let (stream, address) = match listener.accept() {
                Ok((stream, address)) => (stream, address.ip()),
                Err(error) => match error.raw_os_error().map(Errno::from_raw_os_error) {
                    Some(Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM) => {
                        // A watched listener would report the waiting connection again at once.
                        epoll::delete(&self.epoll, listener)?;
                        self.is_full = true;
                        return Ok(());
                    }
                    Some(Errno::AGAIN) | None => return Ok(()),
                    // The error of a connection that is gone already (accept(2)).
                    Some(_) => continue,
                },
            };
            if !self.shared.admission.enter(address) {
                add(&self.shared.tallied.refused);
                continue;
            }
            add(&self.shared.tallied.connections);
            let number = self.next_loop;
            self.next_loop = (number + 1) % self.shared.inboxes.len();
            let socket = OwnedFd::from(stream);
            if number == self.number {
                self.enter(socket, address, now);
            } else if let Some((inbox, wake)) = self.shared.inboxes.get(number) {
                inbox.lock().unwrap_or_else(PoisonError::into_inner).push((socket, address));
                wake.set();
            }
        }
        Ok(())
    }

    /// Takes the connections that the first loop has put into this one's inbox.
    fn fetch(&mut self, now: Instant) {
        let Some((inbox, wake)) = self.shared.inboxes.get(self.number) else { return };
        wake.clear();
        let arrived = std::mem::take(&mut *inbox.lock().unwrap_or_else(PoisonError::into_inner));
        for (socket, address) in arrived {
            self.enter(socket, address, now);
        }
    }

    fn enter(&mut self, socket: OwnedFd, address: IpAddr, now: Instant) {
        let number = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot::default());
            self.slots.len() - 1
        });
        let Some(slot) = self.slots.get_mut(number) else { return };
        slot.uses = slot.uses.wrapping_add(1) & (u32::MAX >> 1);
        let connection = Connection::new(socket, address, now);
        let data = EventData::new_u64(u64::from(slot.uses) << 32 | number as u64);
        let watched = rustix::io::ioctl_fionbio(connection.socket(), true)
            .and_then(|()| rustix::net::sockopt::set_tcp_nodelay(connection.socket(), true))
            .and_then(|()| epoll::add(&self.epoll, connection.socket(), data, WATCHED));
        slot.connection = Some(connection);
        match watched {
            Ok(()) => self.go_on(number, now),
            Err(_) => self.close(number),
        }
    }

    fn datagrams(&mut self) {
        let Some((_, socket)) = &self.sockets else { return };
        for _ in 0..DATAGRAMS_A_TURN {
            match rustix::net::recv(socket, &mut self.scratch[..], RecvFlags::DONTWAIT) {
                Ok((count, _)) => {
                    if !self.shared.runs.take(&self.scratch[..count]) {
                        add(&self.shared.tallied.stray_datagrams);
                    }
                }
                // No datagram is left. ICMP errors also end up here, but this socket sends nothing.
                Err(_) => return,
            }
        }
    }

    /// Closes connections that stood still, and resumes the listener.
    fn look(&mut self, now: Instant) -> Result<(), Errno> {
        for number in 0..self.slots.len() {
            let connection = self.slots.get(number).and_then(|slot| slot.connection.as_ref());
            if connection.is_some_and(|connection| connection.is_idle(now, self.shared)) {
                add(&self.shared.tallied.idle);
                self.close(number);
            }
        }
        if self.is_full
            && let Some((listener, _)) = &self.sockets
        {
            epoll::add(&self.epoll, listener, EventData::new_u64(LISTENER), EventFlags::IN)?;
            self.is_full = false;
        }
        Ok(())
    }
}
