//! How long packets outside may be: the MTU that routes and devices state, lowered by what was learnt of a path.
//!
//! A router's message (ICMP) is only a claim: anyone who guesses addresses and ports can send one. So a claim lowers an
//! MTU to no less than the bounds of [`crate::bounds`], for ten minutes, and for at most [`PATHS_MAX`] peers. If it
//! quotes an SPI, an SA to that peer must have this SPI.

use crate::bounds::{PATH_MTU_MIN_V4, PATH_MTU_MIN_V6, PATH_SECONDS, PATHS_MAX};
use crate::lock::lock;
use ipsec::{Family, Time};
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// MTU of the paths to peers, as routes and devices state them, in bytes with the header of IP.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PathMtus {
    /// MTU of the paths to all other peers.
    pub default: usize,
    /// MTU by the peer's address.
    pub peers: HashMap<IpAddr, usize>,
}

impl Default for PathMtus {
    /// 1,500 for every peer, as Ethernet has.
    fn default() -> PathMtus {
        PathMtus { default: 1500, peers: HashMap::new() }
    }
}

/// The MTUs that were learnt, shared by the threads.
#[derive(Default)]
pub(crate) struct Paths {
    learnt: Mutex<HashMap<IpAddr, Learnt>>,
    version: AtomicU64,
}

#[derive(Clone, Copy)]
struct Learnt {
    mtu: usize,
    until: Time,
}

impl Paths {
    /// Takes a claim about a path; returns whether it changed anything.
    pub(crate) fn learn(&self, peer: IpAddr, mtu: usize, now: Time) -> bool {
        let least = match Family::of(peer) {
            Family::V4 => PATH_MTU_MIN_V4,
            Family::V6 => PATH_MTU_MIN_V6,
        };
        let mtu = mtu.max(least);
        let mut learnt = lock(&self.learnt);
        let known = learnt.get(&peer).filter(|known| known.until > now);
        // A smaller MTU that is known holds until it is forgotten.
        if known.is_some_and(|known| known.mtu <= mtu) {
            return false;
        }
        if learnt.len() >= PATHS_MAX && !learnt.contains_key(&peer) {
            learnt.retain(|_, known| known.until > now);
            if learnt.len() >= PATHS_MAX {
                return false;
            }
        }
        learnt.insert(peer, Learnt { mtu, until: now.after_seconds(PATH_SECONDS) });
        self.version.fetch_add(1, Ordering::Release);
        true
    }
}

/// A thread's copy of the learnt MTUs, taken again when another thread has learnt more.
#[derive(Default)]
pub(crate) struct KnownPaths {
    learnt: HashMap<IpAddr, Learnt>,
    version: u64,
}

impl KnownPaths {
    /// Takes the copy again if `paths` has changed.
    #[inline]
    pub(crate) fn refresh(&mut self, paths: &Paths) {
        let version = paths.version.load(Ordering::Acquire);
        if version != self.version {
            self.learnt.clone_from(&lock(&paths.learnt));
            self.version = version;
        }
    }

    /// The MTU of the path to a peer: as stated in `said`, or less if less was learnt.
    #[inline]
    pub(crate) fn mtu(&self, said: &PathMtus, peer: IpAddr, now: Time) -> usize {
        let said = if said.peers.is_empty() {
            said.default
        } else {
            *said.peers.get(&peer).unwrap_or(&said.default)
        };
        if self.learnt.is_empty() {
            return said;
        }
        self.learnt.get(&peer).filter(|known| known.until > now).map_or(said, |known| said.min(known.mtu))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(paths: &Paths) -> KnownPaths {
        let mut known = KnownPaths::default();
        known.refresh(paths);
        known
    }

    #[test]
    fn claims_are_bounded_and_forgotten() {
        let (paths, said) = (Paths::default(), PathMtus::default());
        let (v4, v6) = (IpAddr::from([192, 0, 2, 1]), IpAddr::from([0x2001, 0xdb8, 0, 0, 0, 0, 0, 1]));
        let now = Time::seconds(5);
        assert!(paths.learn(v4, 68, now));
        assert!(paths.learn(v6, 68, now));
        let after = |seconds| now.after_seconds(seconds);
        for (peer, least) in [(v4, PATH_MTU_MIN_V4), (v6, PATH_MTU_MIN_V6)] {
            assert_eq!(known(&paths).mtu(&said, peer, after(PATH_SECONDS - 1)), least);
            assert_eq!(known(&paths).mtu(&said, peer, after(PATH_SECONDS)), 1500);
        }
        // An MTU above the known one changes nothing, nor does one above the device's.
        assert!(!paths.learn(v4, 1400, now));
        assert!(paths.learn(v4, 9000, after(PATH_SECONDS)));
        assert_eq!(known(&paths).mtu(&said, v4, after(PATH_SECONDS)), 1500);
    }

    #[test]
    fn no_more_peers_are_remembered_than_the_bound() {
        let paths = Paths::default();
        let peer = |number: usize| IpAddr::from((number as u32).to_be_bytes());
        for number in 0..PATHS_MAX {
            assert!(paths.learn(peer(number), 1400, Time::seconds(1)));
        }
        assert!(!paths.learn(peer(PATHS_MAX), 1400, Time::seconds(2)));
        assert!(paths.learn(peer(PATHS_MAX), 1400, Time::seconds(1 + PATH_SECONDS)));
    }
}
