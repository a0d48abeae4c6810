//! Counts connections over all loops, and bounds them.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Length of the prefix of an IPv6 address that counts as one client, in bits: the client chooses the other bits.
const CLIENT_BITS: u32 = 64;

/// Numbers of open connections, shared by all loops.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    all: AtomicU32,
    /// Whether a loop has found the system short of descriptors or memory for connections, and reported so.
    is_short: AtomicBool,
    by_address: Mutex<HashMap<IpAddr, u32>>,
}

/// A place for one connection, given back when it is dropped.
#[derive(Debug)]
pub(crate) struct Permit {
    counts: Arc<Counts>,
    address: Option<IpAddr>,
}

/// The bound that is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Full {
    All,
    Address,
}

impl Counts {
    /// Takes a place for a connection of this address, if both bounds leave one.
    ///
    /// # Errors
    /// [`Full`]: the bound that is reached.
    pub(crate) fn enter(
        self: &Arc<Self>,
        address: IpAddr,
        most: u32,
        most_per_address: Option<u32>,
    ) -> Result<Permit, Full> {
        let more = |now: u32| (now < most).then_some(now + 1);
        self.all.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).map_err(|_| Full::All)?;
        let mut permit = Permit { counts: Arc::clone(self), address: None };
        permit.claim(address, most_per_address)?;
        Ok(permit)
    }

    /// Notes that the system lacks descriptors or memory for one more connection; true if this is new.
    pub(crate) fn run_short(&self) -> bool {
        !self.is_short.swap(true, Ordering::Relaxed)
    }

    /// Notes that all waiting connections were accepted.
    pub(crate) fn have_enough(&self) {
        if self.is_short.load(Ordering::Relaxed) {
            self.is_short.store(false, Ordering::Relaxed);
        }
    }
}

impl Permit {
    /// Counts the connection for this address, if the bound leaves a place. The permit has no address yet.
    ///
    /// # Errors
    /// [`Full::Address`] if the address has that many connections.
    pub(crate) fn claim(&mut self, address: IpAddr, most_per_address: Option<u32>) -> Result<(), Full> {
        let Some(most) = most_per_address else { return Ok(()) };
        let address = client(address);
        let mut by_address = self.counts.by_address.lock().unwrap_or_else(PoisonError::into_inner);
        let count = by_address.entry(address).or_default();
        if *count >= most {
            return Err(Full::Address);
        }
        *count += 1;
        self.address = Some(address);
        Ok(())
    }
}

impl Full {
    /// The bound's name, for the log.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::All => "full: connections",
            Self::Address => "full: connections_per_address",
        }
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.counts.all.fetch_sub(1, Ordering::Relaxed);
        if let Some(address) = self.address {
            let mut by_address = self.counts.by_address.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(count) = by_address.get_mut(&address) {
                *count -= 1;
                if *count == 0 {
                    by_address.remove(&address);
                }
            }
        }
    }
}

fn client(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() >> CLIENT_BITS << CLIENT_BITS))
        }
        address => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_is_given_back_and_an_address_has_its_own_bound() {
        let counts = Arc::new(Counts::default());
        let enter = |address: &str| counts.enter(address.parse().unwrap(), 3, Some(2));
        let first = enter("192.0.2.1").unwrap();
        let _second = enter("::ffff:192.0.2.1").unwrap();
        assert_eq!(enter("192.0.2.1").unwrap_err(), Full::Address);
        let third = enter("2001:db8::1").unwrap();
        assert_eq!(enter("192.0.2.2").unwrap_err(), Full::All);
        drop((first, third));
        let _fourth = enter("192.0.2.1").unwrap();
        assert_eq!(client("2001:db8::1:2:3:4".parse().unwrap()), client("2001:db8::".parse().unwrap()));
        assert_eq!(counts.all.load(Ordering::Relaxed), 2);
        drop((_second, _fourth));
        assert!(counts.by_address.lock().unwrap().is_empty());
    }
}
