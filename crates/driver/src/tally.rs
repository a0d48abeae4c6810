//! Counts and times of transactions.

use pacing::{LATE, Times};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::time::Duration;

/// Parameters that a connection negotiated.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Agreed {
    pub(crate) version: Cow<'static, str>,
    pub(crate) suite: String,
    pub(crate) group: Option<String>,
}

/// Counts and times of transactions within the measured window.
#[derive(Clone)]
pub(crate) struct Tally {
    pub(crate) transactions: u64,
    pub(crate) full: u64,
    pub(crate) resumed: u64,
    pub(crate) messages: u64,
    pub(crate) bytes_sent: u64,
    pub(crate) bytes_received: u64,
    pub(crate) errors: BTreeMap<Cow<'static, str>, u64>,
    pub(crate) agreed: Vec<(Agreed, u64)>,
    pub(crate) connect: Times,
    pub(crate) handshake: Times,
    pub(crate) first_byte: Times,
    pub(crate) message: Times,
    pub(crate) transaction: Times,
    /// Starts of an open loop: begun ones, late ones among these, and due ones that never began.
    pub(crate) begun: u64,
    pub(crate) late: u64,
    pub(crate) never: u64,
    /// Delays of starts behind their due times.
    pub(crate) start: Times,
}

impl Tally {
    pub(crate) fn new() -> Self {
        let times = Times::new;
        Self {
            transactions: 0,
            full: 0,
            resumed: 0,
            messages: 0,
            bytes_sent: 0,
            bytes_received: 0,
            errors: BTreeMap::new(),
            agreed: Vec::new(),
            connect: times(),
            handshake: times(),
            first_byte: times(),
            message: times(),
            transaction: times(),
            begun: 0,
            late: 0,
            never: 0,
            start: times(),
        }
    }

    /// Counts the parameters of a connection.
    pub(crate) fn agree(&mut self, agreed: &Agreed) {
        match self.agreed.iter_mut().find(|(other, _)| other == agreed) {
            Some((_, count)) => *count += 1,
            None => self.agreed.push((agreed.clone(), 1)),
        }
    }

    /// Counts a start that began `after` its due time.
    pub(crate) fn begin(&mut self, after: Duration) {
        self.begun += 1;
        self.late += u64::from(after > LATE);
        self.start.record(after);
    }

    /// Counts an error.
    pub(crate) fn fail(&mut self, kind: Cow<'static, str>) {
        *self.errors.entry(kind).or_default() += 1;
    }

    /// Number of errors of all kinds.
    pub(crate) fn failed(&self) -> u64 {
        self.errors.values().sum()
    }

    /// Adds another loop's counts and times.
    pub(crate) fn add(&mut self, other: &Self) {
        self.transactions += other.transactions;
        self.full += other.full;
        self.resumed += other.resumed;
        self.messages += other.messages;
        self.bytes_sent += other.bytes_sent;
        self.bytes_received += other.bytes_received;
        for (kind, count) in &other.errors {
            *self.errors.entry(kind.clone()).or_default() += count;
        }
        for (agreed, count) in &other.agreed {
            match self.agreed.iter_mut().find(|(known, _)| known == agreed) {
                Some((_, all)) => *all += count,
                None => self.agreed.push((agreed.clone(), *count)),
            }
        }
        self.connect.add(&other.connect);
        self.handshake.add(&other.handshake);
        self.first_byte.add(&other.first_byte);
        self.message.add(&other.message);
        self.transaction.add(&other.transaction);
        self.begun += other.begun;
        self.late += other.late;
        self.never += other.never;
        self.start.add(&other.start);
    }
}
