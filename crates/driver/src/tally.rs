//! Counts and times of transactions.

use hdrhistogram::Histogram;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::time::Duration;

/// Longest time that is told apart.
const NS_MAX: u64 = 3_600_000_000_000;

/// A start that began so long after its time was late.
pub(crate) const LATE: Duration = Duration::from_millis(1);

/// Times, to three digits.
#[derive(Clone)]
pub(crate) struct Times(Option<Histogram<u64>>);

impl Times {
    pub(crate) fn new() -> Self {
        // The bounds are right, as the test says.
        Self(Histogram::new_with_bounds(1, NS_MAX, 3).ok())
    }

    pub(crate) fn record(&mut self, time: Duration) {
        if let Some(histogram) = &mut self.0 {
            histogram.saturating_record(u64::try_from(time.as_nanos()).unwrap_or(NS_MAX).min(NS_MAX));
        }
    }

    pub(crate) fn add(&mut self, other: &Self) {
        if let (Some(histogram), Some(other)) = (&mut self.0, &other.0) {
            let _ = histogram.add(other);
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.as_ref().is_none_or(Histogram::is_empty)
    }

    /// So many of all took at most this long, in microseconds.
    pub(crate) fn quantile_us(&self, quantile: f64) -> f64 {
        self.0.as_ref().map_or(0.0, |histogram| histogram.value_at_quantile(quantile) as f64 / 1000.0)
    }

    /// The longest, in microseconds.
    pub(crate) fn max_us(&self) -> f64 {
        self.0.as_ref().map_or(0.0, |histogram| histogram.max() as f64 / 1000.0)
    }

    /// The mean, in microseconds.
    pub(crate) fn mean_us(&self) -> f64 {
        self.0.as_ref().filter(|histogram| !histogram.is_empty()).map_or(0.0, |all| all.mean() / 1000.0)
    }
}

/// What a connection agreed.
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
    /// Starts of an open loop: those that began, those of them that were late, and those that were due and never began.
    pub(crate) begun: u64,
    pub(crate) late: u64,
    pub(crate) never: u64,
    /// How long after their time starts began.
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

    /// Counts what a connection agreed.
    pub(crate) fn agree(&mut self, agreed: &Agreed) {
        match self.agreed.iter_mut().find(|(other, _)| other == agreed) {
            Some((_, count)) => *count += 1,
            None => self.agreed.push((agreed.clone(), 1)),
        }
    }

    /// Counts a start that began so long after its time.
    pub(crate) fn begin(&mut self, after: Duration) {
        self.begun += 1;
        self.late += u64::from(after > LATE);
        self.start.record(after);
    }

    /// Counts an error.
    pub(crate) fn fail(&mut self, kind: Cow<'static, str>) {
        *self.errors.entry(kind).or_default() += 1;
    }

    /// Errors of all kinds.
    pub(crate) fn failed(&self) -> u64 {
        self.errors.values().sum()
    }

    /// Takes another loop's in.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_told_to_three_digits() {
        let mut times = Times::new();
        assert!(times.is_empty() && times.mean_us() == 0.0);
        for us in 1..=1000 {
            times.record(Duration::from_micros(us));
        }
        let mut both = Times::new();
        both.add(&times);
        both.record(Duration::from_secs(1 << 40));
        // The 501st of 1,001.
        assert!((both.quantile_us(0.5) - 501.0).abs() < 1.0, "{}", both.quantile_us(0.5));
        assert!(both.max_us() >= 3.5e9);
        assert!((times.mean_us() - 500.5).abs() < 2.0, "{}", times.mean_us());
    }
}
