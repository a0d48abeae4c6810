//! The effects of policies outside the worker's tables: routes into the device and the egress filter, which the
//! supervisor sets, and the journal.
//!
//! ```text
//! a policy comes    route, filter ─► journal ─► tables, published ─► acknowledged
//! a policy goes                      journal ─► tables, published ─► route and filter removed ─► acknowledged
//! ```
//! If the kernel or the file refuses a step, the steps before it are undone, and the request is refused with that
//! error.

use super::WorkerError;
use super::journal::Journal;
use crate::messages::{FILTER_LISTED_MAX, FilterRow, LISTED_MAX, Notice, Order, Pair, Refused};
use ipsec::{Action, Policy, PolicyDirection, Selector};
use link::{Channel, ChannelError};
use rustix::io::Errno;
use std::collections::{BTreeMap, HashMap};
use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;
use xfrm::{Change, Keeper, Unkept};

/// How long the supervisor may take to set routes, or rules of the filter.
const ROUTES_WAIT: Duration = Duration::from_secs(10);

/// Counts of refusals since the worker began.
#[derive(Clone, Copy, Default, Debug)]
pub struct Failures {
    /// Changes of policies that failed because the kernel refused a route or a rule of the egress filter.
    pub routes: u64,
    /// Writes of the journal: changes of policies that were refused, names of SAs that were not kept.
    pub journal: u64,
}

/// The channel to the supervisor, and the journal.
pub struct Keeping {
    channel: Channel,
    journal: Option<Journal>,
    /// Traffic that must not leave in clear, each pair with the number of its policies. A pair without policies is
    /// still led into the device.
    routed: BTreeMap<Pair, usize>,
    /// Pairs without policies, whose routes are to be removed.
    idle: Vec<Pair>,
    /// Outbound policies, as the egress filter has them.
    rows: HashMap<Selector, FilterRow>,
    /// Removed policies that the filter still has.
    idle_rows: Vec<FilterRow>,
    /// The age of the next policy.
    next_age: u64,
    /// Orders that came while an answer of the supervisor was awaited, each with its descriptors.
    orders: Vec<(Order, Vec<OwnedFd>)>,
    messages: u64,
    failures: Failures,
    /// Whether the journal lacks names of SAs.
    is_partial: bool,
    /// Whether a failed write of the journal has been logged.
    is_told: bool,
    /// The error that ended the channel during a change.
    lost: Option<ChannelError>,
}

impl Keeping {
    /// Begins without a journal.
    pub fn new(channel: Channel) -> Keeping {
        Keeping {
            channel,
            journal: None,
            routed: BTreeMap::new(),
            idle: Vec::new(),
            rows: HashMap::new(),
            idle_rows: Vec::new(),
            next_age: 0,
            orders: Vec::new(),
            messages: 0,
            failures: Failures::default(),
            is_partial: false,
            is_told: false,
            lost: None,
        }
    }

    /// The channel to the supervisor.
    pub fn channel(&self) -> &Channel {
        &self.channel
    }

    /// Counts of refusals so far.
    pub fn failures(&self) -> Failures {
        self.failures
    }

    /// Takes the orders that came while an answer was awaited.
    pub fn take_orders(&mut self) -> Vec<(Order, Vec<OwnedFd>)> {
        std::mem::take(&mut self.orders)
    }

    /// Sends a notice to the supervisor.
    ///
    /// # Errors
    /// [`WorkerError::Channel`].
    pub fn say(&self, notice: &Notice) -> Result<(), WorkerError> {
        self.channel.send(notice, &[]).map_err(WorkerError::Channel)
    }

    /// Begins to write changes to this journal. Traffic of an earlier worker's policies, given newest first, is led
    /// into the device if the kernel lets it; else the route that drops stays. The supervisor puts the policies into
    /// the egress filter before this worker serves.
    ///
    /// # Errors
    /// [`WorkerError::Channel`].
    pub fn begin(
        &mut self,
        journal: Journal,
        policies: impl Iterator<Item = xfrm::PolicyListing>,
    ) -> Result<(), WorkerError> {
        self.journal = Some(journal);
        // Ages follow the order of creation.
        let mut policies: Vec<xfrm::PolicyListing> = policies.collect();
        policies.reverse();
        for policy in policies {
            if policy.direction == PolicyDirection::Out
                && let Some(row) = self.row(&policy.selector, policy.priority, &policy.action)
            {
                self.rows.insert(policy.selector, row);
            }
            if let Some(pair) = kept_in(policy.direction, &policy.action, &policy.selector) {
                *self.routed.entry(pair).or_default() += 1;
            }
        }
        let rows: Vec<FilterRow> = self.rows.values().copied().collect();
        self.filter(&rows, &[], false).map_err(WorkerError::Channel)?;
        let all: Vec<Pair> = self.routed.keys().copied().collect();
        self.route(&all, &[], false).map(drop).map_err(WorkerError::Channel)
    }

    /// Finishes a change once tables without the removed policies are published: removes their routes, and keeps names
    /// of SAs.
    ///
    /// # Errors
    /// [`WorkerError::Channel`].
    pub fn finish(
        &mut self,
        names: Option<Vec<u8>>,
        everything: impl FnOnce() -> Vec<u8>,
    ) -> Result<(), WorkerError> {
        if let Some(cause) = self.lost.take() {
            return Err(WorkerError::Channel(cause));
        }
        let mut idle = std::mem::take(&mut self.idle);
        idle.retain(|pair| self.routed.get(pair) == Some(&0) && self.routed.remove(pair).is_some());
        if !idle.is_empty() {
            self.route(&[], &idle, false).map_err(WorkerError::Channel)?;
        }
        let rows = std::mem::take(&mut self.idle_rows);
        self.filter(&[], &rows, false).map_err(WorkerError::Channel)?;
        self.keep_names(names, everything);
        Ok(())
    }

    /// Writes the names of SAs. After a failure these are missing until the whole journal can be written. A next worker
    /// then does not report those SAs as lost, but asks for new ones when packets need them.
    fn keep_names(&mut self, names: Option<Vec<u8>>, everything: impl FnOnce() -> Vec<u8>) {
        let Some(journal) = &mut self.journal else { return };
        let has_news = names.as_ref().is_none_or(|names| !names.is_empty());
        let mut written = match &names {
            Some(names) if has_news => journal.append(names),
            _ => Ok(()),
        };
        self.is_partial |= names.is_none() || written.is_err();
        if journal.is_long() || (self.is_partial && has_news) {
            written = journal.replace(&everything());
            self.is_partial &= written.is_err();
        }
        if let Err(cause) = written {
            self.count_journal(&cause);
        }
    }

    fn count_journal(&mut self, cause: &io::Error) {
        self.failures.journal += 1;
        // A failed change of policies is reported to its requester every time.
        if !std::mem::replace(&mut self.is_told, true) {
            tell!(
                "writing the journal for the next worker: {cause}; changes of policies are refused until there is room"
            );
        }
    }

    /// Has the supervisor change routes, and waits for the answer: the refusal, or None.
    fn route(&mut self, add: &[Pair], remove: &[Pair], whole: bool) -> Result<Option<Refused>, ChannelError> {
        let parts = add.len().max(remove.len()).div_ceil(LISTED_MAX);
        if parts == 0 {
            return Ok(None);
        }
        for part in 0..parts {
            let of =
                |pairs: &[Pair]| pairs.iter().skip(part * LISTED_MAX).take(LISTED_MAX).copied().collect();
            self.messages += 1;
            let (number, last) = (self.messages, part + 1 == parts);
            self.channel
                .send(&Notice::Routes { number, add: of(add), remove: of(remove), last, whole }, &[])?;
        }
        self.answer()
    }

    /// Has the supervisor change the egress filter, and waits for the answer: the refusal, or None.
    fn filter(
        &mut self,
        add: &[FilterRow],
        remove: &[FilterRow],
        whole: bool,
    ) -> Result<Option<Refused>, ChannelError> {
        let parts = add.len().max(remove.len()).div_ceil(FILTER_LISTED_MAX);
        let mut refused = None;
        for part in 0..parts {
            let of = |rows: &[FilterRow]| {
                rows.iter().skip(part * FILTER_LISTED_MAX).take(FILTER_LISTED_MAX).copied().collect()
            };
            self.messages += 1;
            let number = self.messages;
            self.channel.send(&Notice::Filter { number, add: of(add), remove: of(remove), whole }, &[])?;
            refused = refused.or(self.answer()?);
        }
        Ok(refused)
    }

    /// Waits for the answer to the last message.
    fn answer(&mut self) -> Result<Option<Refused>, ChannelError> {
        loop {
            match self.channel.recv_timeout::<Order>(ROUTES_WAIT)? {
                (Order::Routed { number, refused }, _) if number == self.messages => return Ok(refused),
                order => self.orders.push(order),
            }
        }
    }

    /// The row of an outbound policy that is newer than all others.
    fn row(&mut self, selector: &Selector, priority: u32, action: &Action) -> Option<FilterRow> {
        let fields = selector.fields();
        let net = |prefix: ipsec::Prefix| {
            ipnet::IpNet::new(prefix.address, prefix.bits).ok().map(|net| net.trunc())
        };
        self.next_age += 1;
        Some(FilterRow {
            source: net(fields.source)?,
            destination: net(fields.destination)?,
            protocol: fields.protocol,
            source_ports: (fields.source_ports.port, fields.source_ports.mask),
            destination_ports: (fields.destination_ports.port, fields.destination_ports.mask),
            priority,
            age: self.next_age,
            passes: *action == Action::Bypass,
        })
    }
}

impl Keeper for Keeping {
    fn keep(&mut self, change: &Change<'_>, record: &[u8]) -> Result<(), Unkept> {
        let pair = |direction: PolicyDirection, policy: &Policy| {
            kept_in(direction, &policy.action, &policy.selector)
        };
        let (gone, come) = match *change {
            Change::Put { direction, before, after } => {
                (before.and_then(|before| pair(direction, before)), pair(direction, after))
            }
            Change::Remove { direction, policy } => (pair(direction, policy), None),
            Change::Clear => (None, None),
        };
        if let Some(pair) = come
            && !self.routed.contains_key(&pair)
        {
            self.lead_in(pair)?;
        }
        let row = match *change {
            Change::Put { direction: PolicyDirection::Out, after, .. } => {
                self.row(&after.selector, after.priority, &after.action)
            }
            _ => None,
        };
        let kept = match row {
            Some(row) => self.ask(|keeping| keeping.filter(&[row], &[], true)),
            None => Ok(()),
        };
        if let Err(unkept) = kept.and_then(|()| self.record(record)) {
            // A route set for this policy alone is removed, and so are its rows in the filter.
            self.idle.extend(come);
            self.idle_rows.extend(row);
            return Err(unkept);
        }
        match *change {
            Change::Put { direction: PolicyDirection::Out, after, .. } => {
                let before = row.and_then(|row| self.rows.insert(after.selector, row));
                self.idle_rows.extend(before);
            }
            Change::Remove { direction: PolicyDirection::Out, policy } => {
                self.idle_rows.extend(self.rows.remove(&policy.selector));
            }
            Change::Clear => self.idle_rows.extend(self.rows.drain().map(|(_, row)| row)),
            _ => {}
        }
        if let Some(count) = come.and_then(|pair| self.routed.get_mut(&pair)) {
            *count += 1;
        }
        if let Some(count) = gone.and_then(|pair| self.routed.get_mut(&pair)) {
            *count = count.saturating_sub(1);
        }
        self.idle.extend(gone);
        if matches!(change, Change::Clear) {
            self.routed.values_mut().for_each(|count| *count = 0);
            self.idle = self.routed.keys().copied().collect();
        }
        Ok(())
    }
}

impl Keeping {
    /// Leads new traffic into the device.
    fn lead_in(&mut self, pair: Pair) -> Result<(), Unkept> {
        self.ask(|keeping| keeping.route(&[pair], &[], true))?;
        self.routed.insert(pair, 0);
        Ok(())
    }

    /// Asks the supervisor for a change that may be refused.
    fn ask(
        &mut self,
        ask: impl FnOnce(&mut Keeping) -> Result<Option<Refused>, ChannelError>,
    ) -> Result<(), Unkept> {
        if self.lost.is_none() {
            match ask(self) {
                Ok(None) => return Ok(()),
                Ok(Some(Refused { errno, text })) => {
                    self.failures.routes += 1;
                    return Err(Unkept { errno, text });
                }
                Err(cause) => self.lost = Some(cause),
            }
        }
        let text = "the process that sets routes is gone: the data plane starts anew".to_owned();
        Err(Unkept { errno: Errno::IO.raw_os_error(), text })
    }

    fn record(&mut self, record: &[u8]) -> Result<(), Unkept> {
        let Some(journal) = &mut self.journal else { return Ok(()) };
        match journal.append(record) {
            Ok(()) => {
                self.is_told = false;
                Ok(())
            }
            Err(cause) => {
                self.count_journal(&cause);
                let errno = match cause.kind() {
                    io::ErrorKind::StorageFull => Errno::NOSPC,
                    _ => Errno::from_io_error(&cause).unwrap_or(Errno::IO),
                };
                let text = format!(
                    "writing the journal, by which policies outlive the data plane's worker: {cause}; make room in its folder"
                );
                Err(Unkept { errno: errno.raw_os_error(), text })
            }
        }
    }
}

/// The traffic of a policy that must not leave in clear; None if the policy has no such traffic.
fn kept_in(direction: PolicyDirection, action: &Action, selector: &Selector) -> Option<Pair> {
    if direction != PolicyDirection::Out || *action == Action::Bypass {
        return None;
    }
    let fields = selector.fields();
    let net = |prefix: ipsec::Prefix| ipnet::IpNet::new(prefix.address, prefix.bits).ok();
    Some(Pair { destination: net(fields.destination)?.trunc(), source: net(fields.source)?.trunc() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::{Engine, Options};
    use ipsec::{Mode, Ports, Prefix, SelectorFields, Template};
    use std::fs::File;
    use std::thread::{self, JoinHandle};

    fn policy(destination: &str, protects: bool) -> Policy {
        let prefix = |text: &str| {
            let net: ipnet::IpNet = text.parse().unwrap();
            Prefix { address: net.addr(), bits: net.prefix_len() }
        };
        let any = Ports { port: 0, mask: 0 };
        let fields = SelectorFields {
            source: prefix("10.1.0.0/16"),
            destination: prefix(destination),
            protocol: None,
            source_ports: any,
            destination_ports: any,
        };
        let template = Template { request: 1, mode: Mode::Transport, ends: None, spi: None };
        let action = if protects { Action::Protect(template) } else { Action::Bypass };
        Policy { id: 1, selector: Selector::new(&fields).unwrap(), priority: 1, action }
    }

    fn put<'p>(before: Option<&'p Policy>, after: &'p Policy) -> Change<'p> {
        Change::Put { direction: PolicyDirection::Out, before, after }
    }

    /// A supervisor that refuses what leads to 10.6.0.0/16; what it was told, once the worker's end is gone.
    fn supervisor(channel: Channel) -> JoinHandle<Vec<String>> {
        thread::spawn(move || {
            let mut told = Vec::new();
            while let Ok((notice, _)) = channel.recv::<Notice>() {
                let Notice::Routes { number, add, remove, whole, .. } = notice else {
                    if let Notice::Filter { number, .. } = notice {
                        channel.send(&Order::Routed { number, refused: None }, &[]).unwrap();
                    }
                    continue;
                };
                let to = |pairs: &[Pair]| {
                    pairs.iter().map(|pair| pair.destination.to_string()).collect::<Vec<_>>().join(" ")
                };
                told.push(format!("+{} -{}", to(&add), to(&remove)));
                let is_refused = whole && to(&add) == "10.6.0.0/16";
                let refused = is_refused.then(|| Refused { errno: 13, text: "no route".to_owned() });
                // What comes in between is not lost.
                let addresses = Order::Addresses { addresses: Vec::new(), more: false };
                channel.send(&addresses, &[]).unwrap();
                channel.send(&Order::Routed { number, refused }, &[]).unwrap();
            }
            told
        })
    }

    fn keeping(file: File) -> (Keeping, JoinHandle<Vec<String>>) {
        let (own, theirs) = Channel::pair().unwrap();
        let supervisor = supervisor(theirs);
        let mut keeping = Keeping::new(own);
        let (journal, _) = Journal::open(file, Engine::new(Options::default()).unwrap()).unwrap();
        keeping.begin(journal, std::iter::empty()).unwrap();
        (keeping, supervisor)
    }

    fn finish(keeping: &mut Keeping) {
        keeping.finish(Some(Vec::new()), || unreachable!("nothing is long")).unwrap();
    }

    #[test]
    fn routes_come_before_a_policy_and_go_after_the_last_one() {
        let (mut keeping, supervisor) = keeping(tempfile::tempfile().unwrap());
        let (one, other) = (policy("10.2.0.0/16", true), policy("10.2.0.0/16", false));
        keeping.keep(&put(None, &one), b"1").unwrap();
        keeping.keep(&put(None, &one), b"2").unwrap();
        finish(&mut keeping);
        keeping.keep(&Change::Remove { direction: PolicyDirection::Out, policy: &one }, b"3").unwrap();
        // Inbound ones and those that let pass need none.
        keeping.keep(&put(None, &other), b"4").unwrap();
        keeping
            .keep(&Change::Put { direction: PolicyDirection::In, before: None, after: &one }, b"5")
            .unwrap();
        finish(&mut keeping);
        keeping.keep(&put(Some(&one), &other), b"6").unwrap();
        // It comes again before it went.
        keeping.keep(&put(Some(&other), &one), b"7").unwrap();
        finish(&mut keeping);
        keeping.keep(&put(None, &policy("10.3.0.0/16", true)), b"8").unwrap();
        keeping.keep(&Change::Clear, b"9").unwrap();
        finish(&mut keeping);
        assert_eq!(keeping.take_orders().len(), 3, "other orders wait");
        drop(keeping);
        assert_eq!(
            supervisor.join().unwrap(),
            ["+10.2.0.0/16 -", "+10.3.0.0/16 -", "+ -10.2.0.0/16 10.3.0.0/16"]
        );
    }

    #[test]
    fn a_route_that_is_refused_refuses_the_change_before_the_journal_has_it() {
        let file = tempfile::tempfile().unwrap();
        let (mut keeping, supervisor) = keeping(file.try_clone().unwrap());
        let refused = policy("10.6.0.0/16", true);
        let unkept = Unkept { errno: 13, text: "no route".to_owned() };
        assert_eq!(keeping.keep(&put(None, &refused), b"record"), Err(unkept));
        finish(&mut keeping);
        assert_eq!(file.metadata().unwrap().len(), 0);
        assert_eq!(keeping.failures().routes, 1);
        drop(keeping);
        assert_eq!(supervisor.join().unwrap(), ["+10.6.0.0/16 -"]);
    }

    #[test]
    fn a_journal_without_room_refuses_changes_and_their_routes_go_again() {
        let full = File::options().read(true).write(true).open("/dev/full").unwrap();
        let (mut keeping, supervisor) = keeping(full);
        let one = policy("10.2.0.0/16", true);
        let unkept = keeping.keep(&put(None, &one), b"record").unwrap_err();
        assert_eq!(unkept.errno, Errno::NOSPC.raw_os_error());
        assert!(unkept.text.starts_with("writing the journal"), "{}", unkept.text);
        finish(&mut keeping);
        for change in [Change::Remove { direction: PolicyDirection::Out, policy: &one }, Change::Clear] {
            assert_eq!(keeping.keep(&change, b"record"), Err(unkept.clone()));
            finish(&mut keeping);
        }
        assert_eq!(keeping.failures().journal, 3);
        drop(keeping);
        assert_eq!(supervisor.join().unwrap(), ["+10.2.0.0/16 -", "+ -10.2.0.0/16"]);
    }

    #[test]
    fn names_that_found_no_room_are_written_with_everything() {
        let file = tempfile::tempfile().unwrap();
        let (mut keeping, _supervisor) = keeping(file.try_clone().unwrap());
        let read = || {
            let file = file.try_clone().unwrap();
            Journal::open(file, Engine::new(Options::default()).unwrap()).unwrap().1
        };
        keeping.finish(Some(b"one".to_vec()), || unreachable!("nothing is missing")).unwrap();
        assert_eq!(read(), b"one");
        keeping.finish(None, || b"all".to_vec()).unwrap();
        assert_eq!(read(), b"all");
    }

    #[test]
    fn without_a_supervisor_changes_are_refused_and_the_worker_ends() {
        let (own, theirs) = Channel::pair().unwrap();
        drop(theirs);
        let mut keeping = Keeping::new(own);
        for _ in 0..2 {
            let unkept = keeping.keep(&put(None, &policy("10.2.0.0/16", true)), b"record").unwrap_err();
            assert_eq!(unkept.errno, Errno::IO.raw_os_error());
        }
        let ended = keeping.finish(Some(Vec::new()), Vec::new);
        assert!(matches!(ended, Err(WorkerError::Channel(_))));
    }
}
