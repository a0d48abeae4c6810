//! SAs whose keys went with the process that held them.

use crate::wire::sa_info;
use ipsec::{Direction, Time};
use std::collections::BTreeMap;
use std::net::IpAddr;

/// The names of lost SAs, and the time until which they are known.
#[derive(Default)]
pub(crate) struct Lost {
    pub(crate) held: BTreeMap<(IpAddr, u32), ([u8; sa_info::BYTES], Direction)>,
    pub(crate) until: Time,
}

impl Lost {
    /// Forgets an SA that exists again, or was deleted; returns whether it was lost.
    pub(crate) fn forget(&mut self, destination: IpAddr, spi: u32) -> bool {
        self.held.remove(&(destination, spi)).is_some()
    }

    /// Whether an SA is lost, so that an update changes nothing of it.
    pub(crate) fn renew(&self, destination: IpAddr, spi: u32) -> bool {
        self.held.contains_key(&(destination, spi))
    }

    /// Forgets all lost SAs; returns whether there were any.
    pub(crate) fn clear(&mut self) -> bool {
        !std::mem::take(&mut self.held).is_empty()
    }

    pub(crate) fn due(&self) -> Option<Time> {
        (!self.held.is_empty()).then_some(self.until)
    }

    pub(crate) fn end(&mut self, now: Time) {
        if now >= self.until {
            self.clear();
        }
    }
}
