//! The server's end: all workloads on one address, over TCP and UDP.
//!
//! A client's header states the lengths that it will send and wants back. A client costs a slot of a table and nothing
//! else. No stated length is allocated, sent bytes come from one table for all, and received bytes go into one buffer
//! of the loop. A connection that stands still is closed, and each turn is a bounded number of pieces. Nothing is ever
//! sent over UDP, so that the server cannot be used to flood others.

mod connection;
mod datagrams;
mod looped;

pub(crate) use datagrams::{COUNTS_BYTES, Counts};

use crate::wake::Wake;
use datagrams::Runs;
use looped::Looped;
use rustix::io::Errno;
use serde::Serialize;
use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener, UdpSocket};
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// Upper bound of connections that wait to be accepted.
const BACKLOG: i32 = 1024;
/// Receive buffer of the UDP socket, in bytes, if the system allows it.
const DATAGRAM_BUFFER_BYTES: usize = 8 << 20;
/// Upper bound of a server's threads.
const THREADS_MAX: usize = 64;
/// Upper bound of tries to find a port that is free for TCP and UDP.
const PORT_TRIES_MAX: usize = 16;

/// The bounds of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Threads, 1 to 64.
    pub threads: usize,
    /// Upper bound of connections at a time; others are closed at once.
    pub connections_max: usize,
    /// Upper bound of connections from one address.
    pub address_connections_max: usize,
    /// How long a connection may take to send its header.
    pub header_max: Duration,
    /// How long a connection may stay without a byte in either direction.
    pub idle_max: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            threads: 1,
            connections_max: 4096,
            address_connections_max: 2048,
            header_max: Duration::from_secs(5),
            idle_max: Duration::from_secs(60),
        }
    }
}

/// Counts of a server so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counters {
    /// Connections that were accepted.
    pub connections: u64,
    /// Connections that were closed at once, because there was no room.
    pub refused: u64,
    /// Connections that began without a valid header.
    pub malformed: u64,
    /// Connections that were closed because they stood still.
    pub idle: u64,
    /// Connections whose contents were wrong.
    pub wrong: u64,
    /// Responses that were sent.
    pub responses: u64,
    /// Datagrams that belong to no run.
    pub stray_datagrams: u64,
}

/// Counters that threads share.
#[derive(Debug, Default)]
pub(crate) struct Tallied {
    connections: AtomicU64,
    refused: AtomicU64,
    malformed: AtomicU64,
    idle: AtomicU64,
    wrong: AtomicU64,
    responses: AtomicU64,
    stray_datagrams: AtomicU64,
}

fn add(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

/// Numbers of connections, in all and by address, against their bounds.
#[derive(Debug)]
pub(crate) struct Admission {
    options: Options,
    open: Mutex<(usize, HashMap<IpAddr, usize>)>,
}

impl Admission {
    fn new(options: Options) -> Self {
        Self { options, open: Mutex::default() }
    }

    /// Takes a place for a connection; false if there is none.
    pub fn enter(&self, address: IpAddr) -> bool {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let (all, by_address) = &mut *open;
        let own = by_address.get(&address).copied().unwrap_or(0);
        if *all >= self.options.connections_max || own >= self.options.address_connections_max {
            return false;
        }
        *all += 1;
        by_address.insert(address, own + 1);
        true
    }

    /// Gives the place of a connection back.
    pub fn leave(&self, address: IpAddr) {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let (all, by_address) = &mut *open;
        *all = all.saturating_sub(1);
        if let Some(own) = by_address.get_mut(&address) {
            *own -= 1;
            if *own == 0 {
                by_address.remove(&address);
            }
        }
    }
}

/// State shared by the loops of a server.
pub(crate) struct Shared {
    options: Options,
    admission: Admission,
    tallied: Tallied,
    runs: Runs,
    is_over: AtomicBool,
    /// For each loop: new connections for it, and the means to wake it.
    inboxes: Vec<(Mutex<Arrived>, Wake)>,
}

/// Accepted connections, with their clients' addresses.
type Arrived = Vec<(OwnedFd, IpAddr)>;

/// A server that is bound to its address.
pub struct Server {
    listener: TcpListener,
    datagrams: UdpSocket,
    shared: Arc<Shared>,
}

/// A handle that ends a server from another thread.
#[derive(Clone)]
pub struct Stopper(Arc<Shared>);

impl Stopper {
    /// Makes [`Server::serve`] return.
    pub fn stop(&self) {
        self.0.is_over.store(true, Ordering::Release);
        for (_, wake) in &self.0.inboxes {
            wake.set();
        }
    }

    /// Counts of the server so far.
    #[must_use]
    pub fn counters(&self) -> Counters {
        let tallied = &self.0.tallied;
        let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Counters {
            connections: of(&tallied.connections),
            refused: of(&tallied.refused),
            malformed: of(&tallied.malformed),
            idle: of(&tallied.idle),
            wrong: of(&tallied.wrong),
            responses: of(&tallied.responses),
            stray_datagrams: of(&tallied.stray_datagrams),
        }
    }
}

impl Server {
    /// Binds an address for TCP and UDP; port 0 takes a port that is free for both.
    ///
    /// # Errors
    /// The error of the system: the address is in use, or not one of this machine.
    pub fn bind(address: SocketAddr, options: Options) -> io::Result<Self> {
        let (listener, datagrams) = sockets(address)?;
        listener.set_nonblocking(true)?;
        datagrams.set_nonblocking(true)?;
        rustix::net::listen(&listener, BACKLOG)?;
        // Only root may exceed the system's bound.
        if rustix::net::sockopt::set_socket_recv_buffer_size_force(&datagrams, DATAGRAM_BUFFER_BYTES).is_err()
        {
            rustix::net::sockopt::set_socket_recv_buffer_size(&datagrams, DATAGRAM_BUFFER_BYTES)?;
        }
        let threads = options.threads.clamp(1, THREADS_MAX);
        let inboxes = (0..threads).map(|_| Ok((Mutex::default(), Wake::new()?)));
        let shared = Shared {
            options,
            admission: Admission::new(options),
            tallied: Tallied::default(),
            runs: Runs::default(),
            is_over: AtomicBool::new(false),
            inboxes: inboxes.collect::<io::Result<_>>()?,
        };
        Ok(Self { listener, datagrams, shared: Arc::new(shared) })
    }

    /// The address that the server is bound to.
    ///
    /// # Errors
    /// The error of the system.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// A handle that ends the server from another thread.
    #[must_use]
    pub fn stopper(&self) -> Stopper {
        Stopper(Arc::clone(&self.shared))
    }

    /// Serves until it is stopped.
    ///
    /// # Errors
    /// The error of the system; an error of one connection is not one.
    pub fn serve(self) -> io::Result<()> {
        let Self { listener, datagrams, shared } = self;
        let stopper = Stopper(Arc::clone(&shared));
        std::thread::scope(|scope| {
            let others: Vec<_> = (1..shared.inboxes.len())
                .map(|number| {
                    let (shared, stopper) = (&shared, &stopper);
                    scope.spawn(move || {
                        let done = Looped::new(shared, number, None).and_then(Looped::run);
                        // If a loop fails, the others end, too.
                        stopper.stop();
                        done
                    })
                })
                .collect();
            let first = Looped::new(&shared, 0, Some((listener, datagrams))).and_then(Looped::run);
            stopper.stop();
            let others = others.into_iter().map(|other| other.join().unwrap_or(Err(Errno::IO)));
            others.fold(first, Result::and).map_err(io::Error::from)
        })
    }

    /// Serves in a thread of its own, until the returned handle is dropped.
    ///
    /// # Errors
    /// The error of the system.
    pub fn start(self) -> io::Result<Running> {
        let (address, stopper) = (self.address()?, self.stopper());
        let thread = std::thread::Builder::new().name("traffic-server".to_owned());
        Ok(Running { address, stopper, thread: Some(thread.spawn(|| self.serve())?) })
    }
}

/// Binds the listener and the UDP socket at one address.
fn sockets(address: SocketAddr) -> io::Result<(TcpListener, UdpSocket)> {
    let mut tries = 1;
    loop {
        let listener = TcpListener::bind(address)?;
        match UdpSocket::bind(listener.local_addr()?) {
            Ok(datagrams) => return Ok((listener, datagrams)),
            Err(error) if address.port() != 0 || tries == PORT_TRIES_MAX => return Err(error),
            // The port was free for TCP alone.
            Err(_) => tries += 1,
        }
    }
}

/// A server in a thread of its own; ends when it is dropped.
pub struct Running {
    address: SocketAddr,
    stopper: Stopper,
    thread: Option<JoinHandle<io::Result<()>>>,
}

impl Running {
    /// The address of the running server.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Counts of the running server so far.
    #[must_use]
    pub fn counters(&self) -> Counters {
        self.stopper.counters()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stopper.stop();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
