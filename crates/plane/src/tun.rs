//! The TUN: a queue for each thread, and packets with vnet headers ([`crate::vnet`]). Segmentation is done here, in
//! both directions.

use crate::bounds::THREADS_MAX;
use crate::error::OpenError;
use std::io::{self, IoSlice};
use std::os::fd::{AsFd, BorrowedFd};
use tun_rs::{DeviceBuilder, SyncDevice};

/// Queues of one TUN, each for one thread.
pub struct Queues(pub(crate) Vec<Queue>);

/// One queue of a TUN.
pub struct Queue(SyncDevice);

impl Queues {
    /// Number of queues.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is no queue.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether the kernel takes and gives superpackets of UDP (from Linux 6.2 on).
    pub fn with_udp(&self) -> bool {
        self.0.iter().all(Queue::with_udp)
    }
}

impl Queue {
    pub(crate) fn with_udp(&self) -> bool {
        self.0.udp_gso()
    }

    /// Reads one packet or superpacket with its vnet header; never waits.
    #[inline]
    pub(crate) fn read(&self, to: &mut [u8]) -> io::Result<usize> {
        Ok(rustix::io::read(&self.0, to)?)
    }

    /// Writes one packet or superpacket with its vnet header; never waits.
    #[inline]
    pub(crate) fn write(&self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        Ok(rustix::io::writev(&self.0, parts)?)
    }
}

impl AsFd for Queue {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Opens a TUN of this name with a number of queues, or adds queues to an existing TUN. Addresses, MTU and state are
/// left alone: a new TUN has no addresses and is down. With `persistent`, the TUN stays when its last queue is closed.
/// Needs CAP_NET_ADMIN.
///
/// # Errors
/// [`OpenError`] for a number of queues outside 1 to [`THREADS_MAX`], or if the system refuses a step.
pub fn open_tun(name: &str, queues: usize, persistent: bool) -> Result<Queues, OpenError> {
    let failed =
        |operation| move |cause: io::Error| OpenError::new(operation, format!("the TUN {name}"), cause);
    if queues == 0 || queues > THREADS_MAX {
        let cause = io::Error::new(
            io::ErrorKind::InvalidInput,
            format!("1 to {THREADS_MAX} queues are possible, not {queues}"),
        );
        return Err(failed("opening")(cause));
    }
    let first = DeviceBuilder::new()
        .name(name)
        .with(|builder| {
            builder.offload(true).multi_queue(true);
        })
        .inherit_enable_state()
        .build_sync()
        .map_err(failed("opening"))?;
    if persistent {
        first.persist().map_err(failed("keeping"))?;
    }
    let mut all = Vec::with_capacity(queues);
    for _ in 1..queues {
        all.push(first.try_clone().map_err(failed("adding a queue to"))?);
    }
    all.insert(0, first);
    for queue in &all {
        queue.set_nonblocking(true).map_err(failed("setting up"))?;
    }
    Ok(Queues(all.into_iter().map(Queue).collect()))
}
