//! The set of routes that keeps traffic of policies out of the networks outside.

use crate::messages::Pair;
use ipnet::IpNet;
use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr};

/// Routes as policies want them, and as the kernel has them.
#[derive(Default, Debug)]
pub struct Routes {
    wanted: BTreeSet<Pair>,
    /// Pairs that earlier workers wanted, and that the present worker has not repeated yet.
    stale: BTreeSet<Pair>,
    /// Destinations with routes in the kernel, each with the preferred source address of its packets.
    set: BTreeMap<IpNet, Option<IpAddr>>,
    /// Destinations in `set` whose routes are missing, wholly or in part.
    broken: BTreeSet<IpNet>,
}

/// A step from the present routes to the wanted ones.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Change {
    /// Sets the route to the device.
    Set {
        /// Prefix of the route.
        destination: IpNet,
        /// Source address for packets that have none yet.
        source: Option<IpAddr>,
        /// Whether this destination had no route before.
        first: bool,
    },
    /// Removes the routes of a destination.
    Remove {
        /// Prefix of the routes.
        destination: IpNet,
    },
}

impl Routes {
    /// Begins with the routes of an earlier supervisor: they stay until a worker has said which routes it wants.
    pub fn left(found: impl IntoIterator<Item = IpNet>) -> Routes {
        let set = found.into_iter().map(|destination| (destination, None)).collect();
        Routes { set, ..Routes::default() }
    }

    /// Another worker begins: the wanted routes stay until [`Routes::restored`].
    pub fn begin(&mut self) {
        self.stale.append(&mut self.wanted);
    }

    /// The worker has repeated all that it knows of earlier workers: other stale pairs are dropped.
    pub fn restored(&mut self) {
        self.stale.clear();
    }

    /// Adds pairs that a worker wants, and removes pairs that it no longer wants.
    pub fn change(&mut self, add: &[Pair], remove: &[Pair]) {
        for pair in remove {
            self.wanted.remove(pair);
        }
        self.wanted.extend(add);
    }

    /// The steps to the wanted routes; call [`Routes::done`] for each that succeeded. `keep` leaves unwanted routes
    /// set: true until a worker has restored the state of earlier workers.
    pub fn changes(&self, addresses: &BTreeSet<IpAddr>, keep: bool) -> Vec<Change> {
        let pairs = self.wanted.iter().chain(&self.stale).map(|pair| pair.destination);
        let all: BTreeSet<IpNet> = pairs.chain(self.set.keys().copied()).collect();
        self.changes_of(&all, addresses, keep)
    }

    /// The steps for some destinations only, removals first.
    pub fn changes_of(
        &self,
        destinations: &BTreeSet<IpNet>,
        addresses: &BTreeSet<IpAddr>,
        keep: bool,
    ) -> Vec<Change> {
        let (mut removed, mut set) = (Vec::new(), Vec::new());
        for destination in destinations.iter().copied() {
            let is_broken = self.broken.contains(&destination);
            let found = self.set.get(&destination);
            match self.source(destination, addresses) {
                None if found.is_some() && !keep => removed.push(Change::Remove { destination }),
                Some(source) if found != Some(&source) || is_broken => {
                    let first = found.is_none() || is_broken;
                    set.push(Change::Set { destination, source, first });
                }
                _ => {}
            }
        }
        removed.append(&mut set);
        removed
    }

    /// The source address for packets to a destination that have none; the outer None if no policy wants its route.
    fn source(&self, destination: IpNet, addresses: &BTreeSet<IpAddr>) -> Option<Option<IpAddr>> {
        let mut pairs = of_destination(&self.wanted, destination)
            .chain(of_destination(&self.stale, destination))
            .peekable();
        pairs.peek()?;
        let found = pairs.find_map(|pair| addresses.iter().copied().find(|address| is_source(pair, address)));
        Some(found)
    }

    /// Takes note of a step that was carried out.
    pub fn done(&mut self, change: &Change) {
        match *change {
            Change::Set { destination, source, .. } => {
                self.set.insert(destination, source);
                self.broken.remove(&destination);
            }
            Change::Remove { destination } => {
                self.set.remove(&destination);
                self.broken.remove(&destination);
            }
        }
    }

    /// Notes that a destination has the route that drops, but not that to the device; true if that was not noted
    /// before.
    pub fn half_done(&mut self, destination: IpNet) -> bool {
        self.set.entry(destination).or_default();
        self.broken.insert(destination)
    }

    /// Others may have changed routes: the next changes set again every destination for which `is_whole` is false.
    pub fn found(&mut self, is_whole: impl Fn(IpNet) -> bool) {
        self.broken.extend(self.set.keys().copied().filter(|destination| !is_whole(*destination)));
    }
}

/// The pairs of one destination, which are adjacent in the set's order.
fn of_destination(pairs: &BTreeSet<Pair>, destination: IpNet) -> impl Iterator<Item = &Pair> {
    // The first of all prefixes in that order.
    let source = IpNet::new_assert(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0);
    let first = Pair { destination, source };
    pairs.range(first..).take_while(move |pair| pair.destination == destination)
}

/// Whether this machine's packets of a pair may come from this address.
fn is_source(pair: &Pair, address: &IpAddr) -> bool {
    pair.source.contains(address) && !address.is_loopback() && !is_link_local(address)
}

fn is_link_local(address: &IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => address.is_link_local(),
        IpAddr::V6(address) => address.is_unicast_link_local(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(source: &str, destination: &str) -> Pair {
        Pair { source: source.parse().unwrap(), destination: destination.parse().unwrap() }
    }

    fn addresses(listed: &[&str]) -> BTreeSet<IpAddr> {
        listed.iter().map(|text| text.parse().unwrap()).collect()
    }

    fn carry_out(routes: &mut Routes, addresses: &BTreeSet<IpAddr>, keep: bool) -> Vec<Change> {
        let changes = routes.changes(addresses, keep);
        for change in &changes {
            routes.done(change);
        }
        changes
    }

    #[test]
    fn one_route_for_each_destination_with_an_address_that_a_policy_allows() {
        let mut routes = Routes::default();
        let own = addresses(&["127.0.0.1", "10.1.0.1", "192.0.2.1"]);
        routes.change(&[pair("10.9.0.0/16", "10.2.0.0/16"), pair("10.1.0.0/16", "10.2.0.0/16")], &[]);
        let destination = "10.2.0.0/16".parse().unwrap();
        let source = Some("10.1.0.1".parse().unwrap());
        assert_eq!(carry_out(&mut routes, &own, false), [Change::Set { destination, source, first: true }]);
        assert_eq!(carry_out(&mut routes, &own, false), []);
        // The address is gone: the route stays, without it.
        let rest = addresses(&["127.0.0.1", "192.0.2.1"]);
        let set = Change::Set { destination, source: None, first: false };
        assert_eq!(carry_out(&mut routes, &rest, false), [set]);
        // One of two policies is gone: the route stays.
        routes.change(&[], &[pair("10.1.0.0/16", "10.2.0.0/16")]);
        assert_eq!(carry_out(&mut routes, &rest, false), []);
        routes.change(&[], &[pair("10.9.0.0/16", "10.2.0.0/16")]);
        assert_eq!(carry_out(&mut routes, &rest, false), [Change::Remove { destination }]);
    }

    #[test]
    fn what_earlier_workers_wanted_stays_until_the_next_one_has_restored_it() {
        let mut routes = Routes::default();
        let none = BTreeSet::new();
        routes.change(&[pair("0.0.0.0/0", "10.2.0.0/16"), pair("0.0.0.0/0", "10.3.0.0/16")], &[]);
        assert_eq!(carry_out(&mut routes, &none, false).len(), 2);
        routes.begin();
        assert_eq!(carry_out(&mut routes, &none, false), []);
        routes.change(&[pair("0.0.0.0/0", "10.2.0.0/16")], &[]);
        assert_eq!(carry_out(&mut routes, &none, false), []);
        routes.restored();
        let destination = "10.3.0.0/16".parse().unwrap();
        assert_eq!(carry_out(&mut routes, &none, false), [Change::Remove { destination }]);
    }

    #[test]
    fn what_others_removed_is_set_again() {
        let mut routes = Routes::default();
        let none = BTreeSet::new();
        routes.change(&[pair("0.0.0.0/0", "10.2.0.0/16"), pair("0.0.0.0/0", "10.3.0.0/16")], &[]);
        carry_out(&mut routes, &none, false);
        let gone: IpNet = "10.3.0.0/16".parse().unwrap();
        routes.found(|destination| destination != gone);
        let set = Change::Set { destination: gone, source: None, first: true };
        assert_eq!(carry_out(&mut routes, &none, false), [set]);
        assert_eq!(carry_out(&mut routes, &none, false), []);
        // Half of one that is no longer wanted is removed.
        routes.found(|_| false);
        routes.change(&[], &[pair("0.0.0.0/0", "10.3.0.0/16")]);
        let changes = carry_out(&mut routes, &none, false);
        assert!(changes.len() == 2 && changes[0] == Change::Remove { destination: gone }, "{changes:?}");
        // Where there is no route to the device, that stays to be done, and is news once.
        let destination = "10.4.0.0/16".parse().unwrap();
        assert!(routes.half_done(destination) && !routes.half_done(destination));
    }

    #[test]
    fn routes_of_an_earlier_supervisor_stay_as_long() {
        let mut routes = Routes::left(["10.2.0.0/16".parse().unwrap()]);
        assert_eq!(carry_out(&mut routes, &BTreeSet::new(), true), []);
        let destination = "10.2.0.0/16".parse().unwrap();
        assert_eq!(carry_out(&mut routes, &BTreeSet::new(), false), [Change::Remove { destination }]);
    }

    #[test]
    fn loopback_and_link_local_addresses_are_no_sources() {
        let mut routes = Routes::default();
        routes.change(&[pair("0.0.0.0/0", "10.2.0.0/16"), pair("::/0", "2001:db8::/32")], &[]);
        let own = addresses(&["127.0.0.1", "169.254.1.1", "::1", "fe80::1"]);
        for change in routes.changes(&own, false) {
            assert!(matches!(change, Change::Set { source: None, .. }), "{change:?}");
        }
    }
}
