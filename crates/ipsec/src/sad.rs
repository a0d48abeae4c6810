//! The SAs of one machine (RFC 4301, 4.4.2): by SPI for what arrives, by what a policy asks for otherwise.
//!
//! Threads that seal and open read one snapshot; whoever changes it clones it (SAs themselves are shared), changes the
//! clone and hands it to them. A peer's packet is looked up and nothing more: it makes no entry and no allocation.

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

/// Most SAs of both directions, those whose SPI is only reserved among them.
pub const SAS_MAX: usize = 16_384;

/// How often an SPI is drawn before a range counts as full.
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

/// Outbound SAs of one bond, in one cache line with it. That which is nearly always meant stands in the table itself.
#[derive(Clone)]
#[repr(align(64))]
struct Bonded {
    bond: Bond,
    newest: Arc<Sa>,
    /// The newest of these last.
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

    /// None where there is no other.
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

/// What an inbound SPI stands for.
#[derive(Clone)]
enum Slot {
    /// It was allocated for a negotiation that has not ended.
    Reserved,
    Sa(Arc<Sa>),
}

/// Why the SAs stay as they are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum SadError {
    /// An SA of this direction and SPI, and outbound of this destination, is there.
    Exists,
    /// There are [`SAS_MAX`].
    Full,
    /// No SPI of the range is free, as far as was tried.
    NoSpi,
    /// The range has reserved SPIs, or none.
    Range,
}

impl Sad {
    /// None yet.
    pub fn new() -> Sad {
        Sad::default()
    }

    /// How many there are, with reserved SPIs.
    pub fn len(&self) -> usize {
        self.inbound.len() + self.outbound.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All of them, in no order.
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
    /// [`SadError`]; nothing is changed.
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

    /// Reserves an inbound SPI of the range: the first of those that `draw` gives that is free. Numbers that `draw`
    /// gives may be any.
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

    /// Removes an inbound SA, or the reservation of its SPI; whether either was there.
    pub fn remove_inbound(&mut self, spi: u32) -> Option<Option<Arc<Sa>>> {
        self.inbound.remove(&spi).map(|slot| match slot {
            Slot::Reserved => None,
            Slot::Sa(sa) => Some(sa),
        })
    }

    /// Removes an outbound SA. `destination` is the one that it was added with.
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

    /// The SA that seals packets with this SPI to there.
    pub fn outbound(&self, spi: u32, destination: IpAddr) -> Option<&Arc<Sa>> {
        self.outbound.get(&(spi, end(destination)))
    }

    /// The SA that seals what a policy protects: the newest that it asks for and that was not ended, by its owner or by
    /// whoever saw it reach a hard limit.
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
