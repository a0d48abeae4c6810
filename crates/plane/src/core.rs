//! The part of a thread that needs no socket: sealing, opening, and their memory. Tests run it alone.

use crate::bounds::{FRAMES_MAX, IN_BYTES, OUT_BYTES};
use crate::counters::Figures;
use crate::path::KnownPaths;
use crate::shared::Shared;
use engine::Engine;
use ipsec::{Outer, Worker};
use std::io::IoSlice;
use std::sync::Arc;

/// Where a packet of ESP lies in memory, and the headers outside it.
#[derive(Clone, Copy, Debug)]
pub struct Placed {
    /// The headers outside the packet.
    pub outer: Outer,
    /// Offset of the packet's first byte in the memory.
    pub start: usize,
    /// Offset behind the packet's last byte in the memory.
    pub end: usize,
    /// `Some` if the packet is longer than its path and may be cut outside: the longest piece in bytes, headers of IP
    /// included.
    pub cut: Option<usize>,
}

/// The ways on which packets leave a [`Core`].
pub trait Ways {
    /// Writes a packet or superpacket, with its vnet header, to the TUN; `packets` is the number of packets in it.
    fn to_tun(&mut self, parts: &[IoSlice<'_>], packets: usize);

    /// Sends packets of ESP, in their order.
    fn outside(&mut self, memory: &mut [u8], packets: &[Placed]);

    /// Sends a packet of IP in clear, as it is; false if that failed.
    fn in_clear(&mut self, packet: &[u8]) -> bool;
}

/// One thread's engine, memory and figures for sealing and opening.
pub struct Core {
    pub(crate) shared: Arc<Shared>,
    pub(crate) engine: Engine,
    pub(crate) worker: Worker,
    pub(crate) paths: KnownPaths,
    pub(crate) figures: Figures,
    /// The memory in which packets are sealed.
    pub(crate) out: Vec<u8>,
    /// The memory in which packets are opened.
    pub(crate) come: Vec<u8>,
    pub(crate) placed: Vec<Placed>,
    /// Whether other threads seal for the same SAs.
    pub(crate) is_shared: bool,
}

impl Core {
    /// Uses the engine of `shared`.
    pub fn new(shared: &Arc<Shared>) -> Core {
        Core {
            shared: Arc::clone(shared),
            engine: shared.engine,
            worker: Worker::new(shared.engine),
            paths: KnownPaths::default(),
            figures: Figures::default(),
            out: vec![0; OUT_BYTES],
            come: vec![0; IN_BYTES],
            placed: Vec::with_capacity(FRAMES_MAX),
            is_shared: shared.thread_count() > 1,
        }
    }

    /// The figures so far, with the counters of ESP and policies.
    pub fn figures(&self) -> Figures {
        let mut figures = self.figures.clone();
        figures.esp = self.worker.counters().clone();
        figures
    }
}
