//! The SAs of one machine (RFC 4301, 4.4.2): found by SPI for packets that arrive, by a policy's template otherwise.
//!
//! Threads that seal and open read one snapshot. The owner changes a clone (SAs themselves are shared) and hands that
//! to them. A peer's packet is looked up and nothing more: it makes no entry and no allocation.

use crate::address::{self, Family};
use crate::hash::Mix;
use crate::inner::Flow;
use crate::parameters::{Direction, SPI_MIN};
use crate::sa::Sa;
use crate::template::{Bond, Wanted};
use std::borrow::Borrow;
use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::hash::{BuildHasherDefault, Hash, Hasher};
use std::net::IpAddr;
use std::ops::RangeInclusive;
use std::sync::Arc;

/// Upper bound of the SAs of both directions, reserved SPIs included.
pub const SAS_MAX: usize = 16_384;

/// Number of SPIs that are drawn before a range counts as full.
const DRAWS_MAX: usize = 64;

/// The SAs of one machine.
#[derive(Clone, Default)]
pub struct Sad {
    inbound: Map<u32, Slot>,
    outbound: Map<(u32, End), Arc<Sa>>,
    /// Outbound SAs by what templates ask for.
    by_bond: HashSet<Bonded, BuildHasherDefault<Mix>>,
}

type Map<K, V> = HashMap<K, V, BuildHasherDefault<Mix>>;

/// An address, in words that are quickly hashed.
type End = (Family, u128);

fn end(address: IpAddr) -> End {
    (Family::of(address), address::number(address))
}

/// Outbound SAs of one bond, in one cache line with it. The newest, which is nearly always wanted, stands in the table
/// itself.
#[derive(Clone)]
#[repr(align(64))]
struct Bonded {
    bond: Bond,
    newest: Arc<Sa>,
    /// The older SAs, the newest of these last.
    older: Box<[Arc<Sa>]>,
}

impl Bonded {
    fn of(sa: &Arc<Sa>) -> Bonded {
        Bonded { bond: Bond::of(sa), newest: Arc::clone(sa), older: Box::default() }
    }

    fn and(self, sa: &Arc<Sa>) -> Bonded {
        let mut older = self.older.into_vec();
        older.push(self.newest);
        Bonded { newest: Arc::clone(sa), older: older.into(), ..self }
    }

    /// This bond without `sa`; `None` if it has no other SA.
    fn without(self, sa: &Arc<Sa>) -> Option<Bonded> {
        let mut rest = self.older.into_vec();
        rest.push(self.newest);
        rest.retain(|other| !Arc::ptr_eq(other, sa));
        let newest = rest.pop()?;
        Some(Bonded { newest, older: rest.into(), ..self })
    }
}

impl Hash for Bonded {
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.bond.hash(state);
    }
}

impl PartialEq for Bonded {
    #[inline]
    fn eq(&self, other: &Bonded) -> bool {
        self.bond == other.bond
    }
}

impl Eq for Bonded {}

impl Borrow<Bond> for Bonded {
    #[inline]
    fn borrow(&self) -> &Bond {
        &self.bond
    }
}

/// The use of an inbound SPI.
#[derive(Clone)]
enum Slot {
    /// The SPI was allocated for a negotiation that has not ended.
    Reserved,
    Sa(Arc<Sa>),
}

/// Why SAs were not changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum SadError {
    /// There is an SA of this direction and SPI, and of this destination if it is outbound.
    Exists,
    /// There are [`SAS_MAX`] SAs and reserved SPIs.
    Full,
    /// None of the SPIs that were drawn from the range is free.
    NoSpi,
    /// The range is empty, or begins below 256.
    Range,
}

impl Sad {
    /// A database without SAs.
    pub fn new() -> Sad {
        Sad::default()
    }

    /// Number of SAs, reserved SPIs included.
    pub fn len(&self) -> usize {
        self.inbound.len() + self.outbound.len()
    }

    /// Whether there are no SAs and no reserved SPIs.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All SAs, in no order.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Sa>> {
        let inbound = self.inbound.values().filter_map(|slot| match slot {
            Slot::Sa(sa) => Some(sa),
            Slot::Reserved => None,
        });
        inbound.chain(self.outbound.values())
    }

    /// Adds an SA; an inbound one may take the place of its reservation.
    ///
    /// # Errors
    /// [`SadError`] says why; nothing is changed then.
    pub fn add(&mut self, sa: Arc<Sa>) -> Result<(), SadError> {
        let is_reserved = matches!(self.inbound.get(&sa.spi), Some(Slot::Reserved));
        match sa.direction {
            Direction::In if is_reserved => {}
            _ if self.len() >= SAS_MAX => return Err(SadError::Full),
            Direction::In if self.inbound.contains_key(&sa.spi) => return Err(SadError::Exists),
            Direction::Out if self.outbound.contains_key(&(sa.spi, end(sa.ends().1))) => {
                return Err(SadError::Exists);
            }
            _ => {}
        }
        match sa.direction {
            Direction::In => {
                self.inbound.insert(sa.spi, Slot::Sa(sa));
            }
            Direction::Out => {
                let bonded = match self.by_bond.take(&Bond::of(&sa)) {
                    None => Bonded::of(&sa),
                    Some(bonded) => bonded.and(&sa),
                };
                self.by_bond.insert(bonded);
                self.outbound.insert((sa.spi, end(sa.ends().1)), sa);
            }
        }
        Ok(())
    }

    /// Reserves an inbound SPI of the range: the first free one of those that `draw` gives. `draw` may give any
    /// numbers: they are brought into the range.
    ///
    /// # Errors
    /// [`SadError::Range`], [`SadError::Full`], [`SadError::NoSpi`].
    pub fn reserve(
        &mut self,
        range: RangeInclusive<u32>,
        mut draw: impl FnMut() -> u32,
    ) -> Result<u32, SadError> {
        let (first, last) = (*range.start(), *range.end());
        if first < SPI_MIN || last < first {
            return Err(SadError::Range);
        }
        if self.len() >= SAS_MAX {
            return Err(SadError::Full);
        }
        let count = u64::from(last - first) + 1;
        for _ in 0..DRAWS_MAX {
            let spi = first + (u64::from(draw()) % count) as u32;
            if let Entry::Vacant(free) = self.inbound.entry(spi) {
                free.insert(Slot::Reserved);
                return Ok(spi);
            }
        }
        Err(SadError::NoSpi)
    }

    /// Removes an inbound SA, or the reservation of its SPI. The outer `None` says that there was neither, the inner
    /// that there was a reservation.
    pub fn remove_inbound(&mut self, spi: u32) -> Option<Option<Arc<Sa>>> {
        self.inbound.remove(&spi).map(|slot| match slot {
            Slot::Reserved => None,
            Slot::Sa(sa) => Some(sa),
        })
    }

    /// Removes an outbound SA, if there is one. `destination` is the one that it was added with.
    pub fn remove_outbound(&mut self, spi: u32, destination: IpAddr) -> Option<Arc<Sa>> {
        let sa = self.outbound.remove(&(spi, end(destination)))?;
        let rest = self.by_bond.take(&Bond::of(&sa)).and_then(|bonded| bonded.without(&sa));
        self.by_bond.extend(rest);
        Some(sa)
    }

    /// The SA that opens packets with this SPI.
    #[inline]
    pub fn inbound(&self, spi: u32) -> Option<&Arc<Sa>> {
        match self.inbound.get(&spi) {
            Some(Slot::Sa(sa)) => Some(sa),
            _ => None,
        }
    }

    /// The SA that seals packets with this SPI to this destination.
    pub fn outbound(&self, spi: u32, destination: IpAddr) -> Option<&Arc<Sa>> {
        self.outbound.get(&(spi, end(destination)))
    }

    /// The SA that seals packets for a policy: the newest that fits its template and was not ended, by its owner or by
    /// a thread that saw it reach a hard limit.
    #[inline]
    pub(crate) fn wanted(&self, wanted: &Wanted, flow: &Flow) -> Option<&Arc<Sa>> {
        let Bonded { newest, older, .. } = self.by_bond.get(&wanted.bond(flow))?;
        let is_good = |sa: &Sa| !sa.is_ended() && wanted.spi.is_none_or(|spi| spi == sa.spi);
        if is_good(newest) { Some(newest) } else { older.iter().rev().find(|sa| is_good(sa)) }
    }
}

impl fmt::Debug for Sad {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Sad({} inbound, {} outbound)", self.inbound.len(), self.outbound.len())
    }
}

impl fmt::Display for SadError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SadError::Exists => out.write_str("an SA with this SPI is there"),
            SadError::Full => write!(out, "there are {SAS_MAX} SAs"),
            SadError::NoSpi => out.write_str("no SPI of the range is free"),
            SadError::Range => write!(out, "the range of SPIs is empty or begins below {SPI_MIN}"),
        }
    }
}

impl std::error::Error for SadError {}
