//! Policies as sets for the kernel's look-ups, in an order that gives the same verdicts as the policies' priorities.
//!
//! ```text
//! policies by rank      groups, looked at in their order
//!   1 passes  /16 /16 ─►  0  passes  /16 /16
//!   2 drops   /16 /24 ─►  1  drops   /16 /24   with that of rank 4
//!   3 passes  /32 /32 ─►  2  passes  /32 /32
//!   4 drops   /16 /24
//! ```
//! Policies with the same verdict, whose selectors look at the same bits, are in one group, which is one set. The order
//! of two groups matters if they have different verdicts for one packet.

use crate::messages::FilterRow;
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

/// Protocols whose packets begin with a type and a code.
const ICMP: [u8; 2] = [1, 58];

/// The bits of packets that a group looks at.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Shape {
    /// Whether the packets are of IPv6.
    pub is_v6: bool,
    /// Bits of the source's address that count.
    pub source_bits: u8,
    /// Bits of the destination's address that count.
    pub destination_bits: u8,
    /// Whether the protocol counts.
    pub has_protocol: bool,
    /// Bits of the transport header's start (ports, or type and code) that count.
    pub ports: Ports,
}

/// Mask of the bits that count of the header above IP.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Ports {
    None,
    /// Ports of source and destination, of two bytes each.
    Both(u16, u16),
    /// Type and code, of a byte each.
    Icmp(u8, u8),
}

/// Lower is better: priority, then age.
type Rank = (u32, u64);

/// Policies of one shape and one verdict.
#[derive(Debug)]
pub struct Group {
    pub shape: Shape,
    /// Whether matching packets pass; else they are dropped.
    pub passes: bool,
    /// Keys of the set, each with the ranks of its policies: while a policy is updated, both the old and the new rank.
    pub keys: BTreeMap<Vec<u8>, BTreeSet<Rank>>,
    /// Keys of the fields that every fragment shows, each with the number of its full keys; empty if fragments show
    /// every field that the group looks at.
    pub pieces: BTreeMap<Vec<u8>, usize>,
    ranks: BTreeSet<Rank>,
}

/// The groups of one family in the order of their look-up.
#[derive(Debug, Default)]
pub struct Layout {
    pub groups: Vec<Group>,
}

/// Changes of a group's sets.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Changed {
    pub group: usize,
    /// The key to add or remove; None if another policy has the key, too.
    pub key: Option<Vec<u8>>,
    /// The key of fragments to add or remove; None if another policy has it, too.
    pub piece: Option<Vec<u8>>,
}

impl Shape {
    /// The shape of a policy; None if no packet can match it: an ICMP type or code above 255.
    fn of(row: &FilterRow) -> Option<Shape> {
        let (source, destination) = (row.source_ports, row.destination_ports);
        let ports = match row.protocol {
            _ if source.1 | destination.1 == 0 => Ports::None,
            Some(protocol) if ICMP.contains(&protocol) => {
                if (source.0 & source.1 | destination.0 & destination.1) > 0xff {
                    return None;
                }
                Ports::Icmp(source.1 as u8, destination.1 as u8)
            }
            _ => Ports::Both(source.1, destination.1),
        };
        Some(Shape {
            is_v6: row.destination.addr().is_ipv6(),
            source_bits: row.source.prefix_len(),
            destination_bits: row.destination.prefix_len(),
            has_protocol: row.protocol.is_some(),
            ports,
        })
    }

    /// Whether fragments of one packet may look different to this shape. Ports are in the first fragment only. In IPv6
    /// each fragment states the protocol for itself (RFC 8200, 4.5), and a sender may state another in later fragments.
    pub fn is_of_whole_packets(&self) -> bool {
        self.ports != Ports::None || self.is_v6 && self.has_protocol
    }

    /// The part of this shape that every fragment shows.
    pub fn of_pieces(self) -> Shape {
        Shape { ports: Ports::None, has_protocol: self.has_protocol && !self.is_v6, ..self }
    }

    /// The key of a policy of this shape.
    fn key(&self, row: &FilterRow) -> Vec<u8> {
        let mut key = Vec::new();
        for (bits, net) in [(self.source_bits, row.source), (self.destination_bits, row.destination)] {
            match net.trunc().addr() {
                _ if bits == 0 => {}
                IpAddr::V4(address) => key.extend(address.octets()),
                IpAddr::V6(address) => key.extend(address.octets()),
            }
        }
        if self.has_protocol {
            key.extend([row.protocol.unwrap_or(0), 0, 0, 0]);
        }
        let (source, destination) = (row.source_ports, row.destination_ports);
        match self.ports {
            Ports::None => {}
            Ports::Both(..) => {
                for (port, mask) in [source, destination].into_iter().filter(|(_, mask)| *mask != 0) {
                    key.extend((port & mask).to_be_bytes());
                    key.extend([0; 2]);
                }
            }
            Ports::Icmp(..) => {
                for (byte, mask) in [source, destination].into_iter().filter(|(_, mask)| mask & 0xff != 0) {
                    key.extend([(byte & mask) as u8, 0, 0, 0]);
                }
            }
        }
        key
    }
}

impl Group {
    fn new(shape: Shape, passes: bool) -> Group {
        Group { shape, passes, keys: BTreeMap::new(), pieces: BTreeMap::new(), ranks: BTreeSet::new() }
    }

    /// Whether the group needs a second set for fragments.
    pub fn has_pieces(&self) -> bool {
        !self.passes && self.shape.is_of_whole_packets()
    }

    /// Whether this group may stand before (or behind) a policy of the other verdict.
    fn may_stand(&self, shape: Shape, key: &[u8], rank: Rank, before: bool) -> bool {
        let is_good = |ranks: &BTreeSet<Rank>| {
            if before { ranks.last() < Some(&rank) } else { ranks.first() > Some(&rank) }
        };
        // Within one shape, only equal keys match the same packets.
        match self.shape == shape {
            true => self.keys.get(key).is_none_or(is_good),
            false => self.ranks.is_empty() || is_good(&self.ranks),
        }
    }
}

impl Layout {
    /// The layout of policies, given in any order.
    pub fn new<'r>(rows: impl Iterator<Item = &'r FilterRow>) -> Layout {
        let mut rows: Vec<&FilterRow> = rows.collect();
        rows.sort_by_key(|row| row.rank());
        let mut layout = Layout::default();
        for row in rows {
            let Some(shape) = Shape::of(row) else { continue };
            // All policies before it have better ranks: its group may stand behind any, and must stand behind those of
            // the other verdict.
            if layout.add(row).is_none() {
                layout.groups.push(Group::new(shape, row.passes));
                layout.add(row);
            }
        }
        layout
    }

    /// Adds a policy to a group that may hold it. None if no group may: a new layout is needed.
    pub fn add(&mut self, row: &FilterRow) -> Option<Changed> {
        let Some(shape) = Shape::of(row) else {
            return Some(Changed { group: 0, key: None, piece: None });
        };
        let (key, rank) = (shape.key(row), row.rank());
        let fits = |at: usize| {
            let others = self.groups.iter().enumerate().filter(|(_, other)| other.passes != row.passes);
            others.into_iter().all(|(place, other)| other.may_stand(shape, &key, rank, place < at))
        };
        let is_alike = |group: &Group| group.shape == shape && group.passes == row.passes;
        let at = (0..self.groups.len()).find(|at| is_alike(&self.groups[*at]) && fits(*at))?;
        let group = &mut self.groups[at];
        group.ranks.insert(rank);
        let mut changed = Changed { group: at, key: None, piece: None };
        let ranks = group.keys.entry(key.clone()).or_default();
        if ranks.is_empty() {
            changed.key = Some(key);
            if group.has_pieces() {
                let piece = shape.of_pieces().key(row);
                let count = group.pieces.entry(piece.clone()).or_default();
                *count += 1;
                changed.piece = (*count == 1).then_some(piece);
            }
        }
        if let Some(ranks) = group.keys.get_mut(&shape.key(row)) {
            ranks.insert(rank);
        }
        Some(changed)
    }

    /// Removes a policy. None if it is not there.
    pub fn remove(&mut self, row: &FilterRow) -> Option<Changed> {
        let shape = Shape::of(row)?;
        let (key, rank) = (shape.key(row), row.rank());
        let has = |group: &Group| {
            group.shape == shape
                && group.passes == row.passes
                && group.keys.get(&key).is_some_and(|ranks| ranks.contains(&rank))
        };
        let at = self.groups.iter().position(has)?;
        let group = &mut self.groups[at];
        group.ranks.remove(&rank);
        let mut changed = Changed { group: at, key: None, piece: None };
        let ranks = group.keys.get_mut(&key)?;
        ranks.remove(&rank);
        if ranks.is_empty() {
            group.keys.remove(&key);
            changed.key = Some(key);
            if group.has_pieces() {
                let piece = shape.of_pieces().key(row);
                let count = group.pieces.get_mut(&piece)?;
                *count -= 1;
                if *count == 0 {
                    group.pieces.remove(&piece);
                    changed.piece = Some(piece);
                }
            }
        }
        Some(changed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(source: &str, destination: &str, priority: u32, age: u64, passes: bool) -> FilterRow {
        FilterRow {
            source: source.parse().unwrap(),
            destination: destination.parse().unwrap(),
            protocol: None,
            source_ports: (0, 0),
            destination_ports: (0, 0),
            priority,
            age,
            passes,
        }
    }

    /// Whether a packet passes, by the groups alone: what the kernel's rules do.
    fn passes(layout: &Layout, source: [u8; 4], destination: [u8; 4]) -> bool {
        let mask = |address: [u8; 4], bits: u8| {
            let mask = u32::MAX.checked_shl(32 - u32::from(bits)).unwrap_or(0);
            (u32::from_be_bytes(address) & mask).to_be_bytes()
        };
        for group in &layout.groups {
            let mut key = Vec::new();
            for (address, bits) in
                [(source, group.shape.source_bits), (destination, group.shape.destination_bits)]
            {
                if bits > 0 {
                    key.extend(mask(address, bits));
                }
            }
            if group.keys.contains_key(&key) {
                return group.passes;
            }
        }
        true
    }

    /// The expected verdict: that of the best of all policies that match.
    fn expected(rows: &[FilterRow], source: [u8; 4], destination: [u8; 4]) -> bool {
        let matches = |row: &&FilterRow| {
            row.source.contains(&IpAddr::from(source)) && row.destination.contains(&IpAddr::from(destination))
        };
        rows.iter().filter(matches).min_by_key(|row| row.rank()).is_none_or(|row| row.passes)
    }

    #[test]
    fn groups_say_what_policies_say_however_they_come_and_go() {
        let mut random = 7_u64;
        let mut number = |below: u64| {
            random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (random >> 33) % below
        };
        for _ in 0..60 {
            let (mut rows, mut layout) = (Vec::<FilterRow>::new(), Layout::default());
            for age in 0..60 {
                if number(4) == 0 && !rows.is_empty() {
                    let row = rows.swap_remove(number(rows.len() as u64) as usize);
                    assert!(layout.remove(&row).is_some());
                    assert!(layout.remove(&row).is_none());
                } else {
                    let bits = |number: u64| [0, 8, 30, 32][number as usize];
                    let net = |bits: u8, last: u64| format!("10.0.0.{last}/{bits}");
                    let row = row(
                        &net(bits(number(4)), number(4)),
                        &net(bits(number(4)), number(4)),
                        number(4) as u32,
                        age,
                        number(2) == 0,
                    );
                    rows.push(row);
                    if layout.add(&row).is_none() {
                        layout = Layout::new(rows.iter());
                    }
                }
                for source in 0..5 {
                    for destination in 0..5 {
                        let (source, destination) = ([10, 0, 0, source], [10, 0, 0, destination]);
                        let is = passes(&layout, source, destination);
                        assert_eq!(is, expected(&rows, source, destination), "{rows:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn policies_of_a_gateway_are_a_handful_of_groups() {
        let net = |number: usize| format!("10.{}.{}.0/24", number / 256, number % 256);
        let mut rows: Vec<FilterRow> = (0..2000)
            .map(|number| row("192.168.0.0/16", &net(number), 100, number as u64, number % 3 == 0))
            .collect();
        rows.push(row("0.0.0.0/0", "192.168.0.0/16", 1, 5000, true));
        assert_eq!(Layout::new(rows.iter()).groups.len(), 3);
    }

    #[test]
    fn ports_and_types_are_told_apart_and_what_matches_nothing_is_left_out() {
        let named = |protocol, source_ports, destination_ports| FilterRow {
            protocol: Some(protocol),
            source_ports,
            destination_ports,
            ..row("10.1.0.0/16", "10.2.0.0/16", 1, 1, false)
        };
        let all = |port| (port, u16::MAX);
        let mut layout = Layout::new([named(17, (0, 0), all(1701))].iter());
        assert_eq!(layout.groups[0].keys.keys().next().unwrap()[8..], [17, 0, 0, 0, 6, 165, 0, 0]);
        assert_eq!(layout.groups[0].pieces.keys().next().unwrap()[8..], [17, 0, 0, 0]);
        // Another port of the same ends: pieces show nothing new.
        let changed = layout.add(&FilterRow { age: 2, ..named(17, (0, 0), all(5000)) }).unwrap();
        assert!(changed.key.is_some() && changed.piece.is_none());
        let removed = layout.remove(&named(17, (0, 0), all(1701))).unwrap();
        assert!(removed.key.is_some() && removed.piece.is_none());
        let removed = layout.remove(&FilterRow { age: 2, ..named(17, (0, 0), all(5000)) }).unwrap();
        assert!(removed.key.is_some() && removed.piece.is_some());
        let icmp = Layout::new([named(1, (8, 0xff), (0, 0))].iter());
        assert_eq!(icmp.groups[0].keys.keys().next().unwrap()[8..], [1, 0, 0, 0, 8, 0, 0, 0]);
        assert!(Layout::new([named(1, (0x100, u16::MAX), (0, 0))].iter()).groups.is_empty());
    }

    #[test]
    fn pieces_of_ipv6_show_addresses_alone() {
        let named = |protocol, destination_ports| FilterRow {
            protocol: Some(protocol),
            destination_ports,
            ..row("fd01::/16", "fd02::/16", 1, 1, false)
        };
        for ports in [(1701, u16::MAX), (0, 0)] {
            let mut layout = Layout::new([named(17, ports)].iter());
            let group = &layout.groups[0];
            assert!(group.has_pieces());
            assert!(group.pieces.keys().all(|key| key.len() == 32));
            assert!(group.keys.keys().all(|key| key.len() == 36 + usize::from(ports.1 != 0) * 4));
            // Of another protocol: pieces show nothing new.
            let changed = layout.add(&FilterRow { age: 2, ..named(6, ports) }).unwrap();
            assert!(changed.key.is_some() && changed.piece.is_none());
        }
        // Groups that let pass, and groups without a protocol, need no set for fragments.
        let others =
            [FilterRow { passes: true, ..named(17, (0, 0)) }, row("fd01::/16", "fd02::/16", 1, 1, false)];
        for other in others {
            assert!(!Layout::new([other].iter()).groups[0].has_pieces());
        }
    }
}
