//! What one thread works with beside its sockets: all that can be tested without any.

use crate::bounds::{FRAMES_MAX, IN_BYTES, OUT_BYTES};
use crate::counters::Figures;
use crate::path::KnownPaths;
use crate::shared::Shared;
use engine::Engine;
use ipsec::{Outer, Worker};
use std::io::IoSlice;
use std::sync::Arc;

/// Where a packet of ESP is, and what is outside it.
#[derive(Clone, Copy, Debug)]
pub struct Placed {
    /// What is outside it.
    pub outer: Outer,
    /// Where it begins in the memory.
    pub start: usize,
    /// Where it ends.
    pub end: usize,
    /// Where it is longer than its path and may be cut outside: bytes of each piece, headers of IP included.
    pub cut: Option<usize>,
}

/// Where packets go.
pub trait Ways {
    /// Writes a packet or superpacket, with its header of the kernel, to the TUN; how many packets are in it.
    fn to_tun(&mut self, parts: &[IoSlice<'_>], packets: usize);

    /// Sends packets of ESP, in their order.
    fn outside(&mut self, memory: &mut [u8], packets: &[Placed]);

    /// Sends a packet of IP as it is; whether that could be.
    fn in_clear(&mut self, packet: &[u8]) -> bool;
}

/// What a thread seals and opens with, its memory and its figures.
pub struct Core {
    pub(crate) shared: Arc<Shared>,
    pub(crate) engine: Engine,
    pub(crate) worker: Worker,
    pub(crate) paths: KnownPaths,
    pub(crate) figures: Figures,
    /// In which packets are sealed.
    pub(crate) out: Vec<u8>,
    /// In which packets are opened.
    pub(crate) come: Vec<u8>,
    pub(crate) placed: Vec<Placed>,
    /// Whether other threads seal for the same SAs.
    pub(crate) is_shared: bool,
}

impl Core {
    /// With the engine of what is shared.
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

    /// What it counted.
    pub fn figures(&self) -> Figures {
        let mut figures = self.figures.clone();
        figures.esp = self.worker.counters().clone();
        figures
    }
}
