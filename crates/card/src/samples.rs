//! A card's measurements of each batch: which tenant called which verb, how long it waited, how long it took.
//!
//! Requests are noted as they are taken and answered, in private memory. Once their answers are out, the batch is
//! written to the shared samples: the counts of each tenant and of each verb once, the waits request by request. A
//! request is in one tenant's row and one verb's; the card as a whole is the sum of either.
//! `cargo bench -p card --bench samples` measures what sampling costs.

use link::{Counts, SAMPLE_NS_MAX, SampleSubject, Samples, Span, bucket, tsc, tsc_per_us};
use wire::bounds::{BATCH_MAX, TENANTS_MAX, VERB_SLOTS};
use wire::registers::HeldRegisters;

/// Number of rows that a request may belong to: accounts, then verbs.
const ROWS: usize = TENANTS_MAX + VERB_SLOTS;
/// The place of a row for which the batch has no group yet.
const ABSENT: u16 = u16::MAX;
/// Binary digits of a fraction of a nanosecond.
const FRACTION_BITS: u32 = 22;
/// Longer spans are cut to this before they are multiplied: a count of 2^41 is some ten minutes.
const SPAN_TSC_MAX: u64 = 1 << 41;

const _: () = assert!(2 * BATCH_MAX < ABSENT as usize);

/// One request of the batch.
#[derive(Clone, Copy)]
struct Noted {
    account: u32,
    verb: u32,
    queued_tsc: u64,
    bytes_in: u32,
    bytes_out: u32,
    return_code: i32,
    /// Whether the request was put back: it comes again, and counts then.
    is_left: bool,
}

/// The additions of a batch to one row.
struct Group {
    row: SampleSubject,
    counts: Counts,
    queue: Times,
    service: Times,
}

/// Sum and maximum of one row's times, in nanoseconds.
#[derive(Default)]
struct Times {
    sum_ns: u64,
    longest_ns: u64,
}

impl Times {
    fn add(&mut self, ns: u64) {
        self.sum_ns += ns;
        self.longest_ns = self.longest_ns.max(ns);
    }
}

/// The writer of a card's samples.
pub struct Sampler {
    samples: Samples,
    noted: Vec<Noted>,
    groups: Vec<Group>,
    /// The place of each row's group; [`ABSENT`] between batches.
    places: Box<[u16; ROWS]>,
    /// Nanoseconds of one count of the time-stamp counter, in units of 2^-[`FRACTION_BITS`].
    ns_per_tsc: u64,
    /// Time-stamp count before which no request can have been queued.
    began_tsc: u64,
    /// Number of queues that the roster names.
    enrolled: usize,
}

impl Sampler {
    /// A sampler that writes into these samples, from now on.
    pub fn new(samples: Samples) -> Self {
        Self {
            samples,
            noted: Vec::with_capacity(BATCH_MAX),
            groups: Vec::with_capacity(2 * BATCH_MAX),
            places: Box::new([ABSENT; ROWS]),
            ns_per_tsc: (1e3 / tsc_per_us() * f64::from(1 << FRACTION_BITS)) as u64,
            began_tsc: tsc(),
            enrolled: 0,
        }
    }

    /// Publishes which master-key registers the card holds.
    pub fn set_registers(&self, held: HeldRegisters) {
        self.samples.set_registers(held);
    }

    /// Writes a queue into the roster, which outlives this process, when the pass that is put together takes its first
    /// request of the queue.
    #[inline]
    pub fn enroll(&mut self, queue: u64) {
        self.samples.enroll(self.enrolled, queue);
        self.enrolled += 1;
    }

    /// Clears the roster: the pass is over, and its requests can no longer kill this process.
    #[inline]
    pub fn dismiss(&mut self) {
        if std::mem::take(&mut self.enrolled) != 0 {
            self.samples.dismiss();
        }
    }

    /// Notes a request that has come into the batch: its account, its verb's slot, the time-stamp count at which it was
    /// queued by its client's word, and the length of its payload. More than [`BATCH_MAX`] of one batch are not noted.
    #[inline]
    pub fn took(&mut self, account: u32, verb: usize, queued_tsc: u64, bytes_in: usize) {
        if self.noted.len() < BATCH_MAX {
            self.noted.push(Noted {
                account: account.min(TENANTS_MAX as u32 - 1),
                verb: verb.min(VERB_SLOTS - 1) as u32,
                queued_tsc,
                bytes_in: bytes_in as u32,
                bytes_out: 0,
                return_code: 0,
                is_left: false,
            });
        }
    }

    /// Removes the last request from the batch; returns when it was queued, as its client claims.
    pub fn withdraw(&mut self) -> u64 {
        self.noted.pop().map_or(0, |noted| noted.queued_tsc)
    }

    /// Notes that the request at this place of the batch is answered with this return code and `bytes_out` bytes.
    #[inline]
    pub fn answered(&mut self, place: usize, return_code: i32, bytes_out: usize) {
        if let Some(noted) = self.noted.get_mut(place) {
            noted.bytes_out = bytes_out as u32;
            noted.return_code = return_code;
        }
    }

    /// Notes that the request at this place of the batch is put back, and comes again.
    pub fn left(&mut self, place: usize) {
        if let Some(noted) = self.noted.get_mut(place) {
            noted.is_left = true;
        }
    }

    /// Counts a request of this account that was refused before it was in a batch.
    pub fn refused(&self, account: u32) {
        if let Some(row) = self.samples.row(SampleSubject::Account(account)) {
            row.count(&Counts { refused: 1, ..Counts::default() });
        }
    }

    /// Writes the batch, which was run from `begin_tsc` to `end_tsc`. `cost` gives the estimated cost of the
    /// request at a place: the time of the pass is split by it. Returns the payload bytes taken in and given
    /// out.
    pub fn passed(&mut self, begin_tsc: u64, end_tsc: u64, cost: impl Fn(usize) -> u64) -> (u64, u64) {
        let service_ns = self.ns(end_tsc.wrapping_sub(begin_tsc));
        let costs = (0..self.noted.len()).fold(0, |sum: u64, place| sum.saturating_add(cost(place)));
        // Nanoseconds of the pass per unit of cost, in units of 2^-16; the pass is below 2^40 ns.
        let share = (service_ns << 16) / costs.max(1);
        let bucket = bucket(service_ns);
        self.write(begin_tsc, |place| (cost(place).saturating_mul(share) >> 16, service_ns), Some(bucket))
    }

    /// Writes a batch whose answers are held until these counts of the time-stamp counter. `together` requests are
    /// under way at a time: each is charged its own time divided by their number.
    pub fn held(&mut self, begin_tsc: u64, due_tsc: &[u64], together: u64) -> (u64, u64) {
        let noted = self.noted.len();
        let due: Vec<u64> =
            due_tsc.iter().take(noted).map(|due| self.ns(due.wrapping_sub(begin_tsc))).collect();
        let service_ns = |place: usize| due.get(place).copied().unwrap_or(0);
        self.write(begin_tsc, |place| (service_ns(place) / together.max(1), service_ns(place)), None)
    }

    /// Writes the batch. `times` gives the charge and the service time of the request at a place, in nanoseconds;
    /// `service_bucket` is the bucket of all service times if they are the same.
    #[inline]
    fn write(
        &mut self,
        begin_tsc: u64,
        times: impl Fn(usize) -> (u64, u64),
        service_bucket: Option<usize>,
    ) -> (u64, u64) {
        let (mut bytes_in, mut bytes_out) = (0, 0);
        for place in 0..self.noted.len() {
            let noted = self.noted[place];
            let queue_ns = self.ns(begin_tsc.saturating_sub(noted.queued_tsc.max(self.began_tsc)));
            let queue_bucket = bucket(queue_ns);
            let (busy_ns, service_ns) = times(place);
            bytes_in += u64::from(noted.bytes_in);
            bytes_out += u64::from(noted.bytes_out);
            let account = (SampleSubject::Account(noted.account), noted.account as usize);
            let verb = (SampleSubject::Verb(noted.verb), TENANTS_MAX + noted.verb as usize);
            for (row, index) in [account, verb] {
                let group = self.group(row, index);
                group.counts.busy_ns = group.counts.busy_ns.saturating_add(busy_ns);
                if noted.is_left {
                    continue;
                }
                group.counts.requests += 1;
                group.counts.bytes_in += u64::from(noted.bytes_in);
                group.counts.bytes_out += u64::from(noted.bytes_out);
                group.counts.note_code(noted.return_code);
                group.queue.add(queue_ns);
                group.service.add(service_ns);
                let Some(row) = self.samples.row(row) else { continue };
                row.add_to_bucket(Span::Queue, queue_bucket, 1);
                if service_bucket.is_none() {
                    row.add_to_bucket(Span::Service, bucket(service_ns), 1);
                }
            }
        }
        self.write_groups(service_bucket);
        self.noted.clear();
        (bytes_in, bytes_out)
    }

    fn group(&mut self, row: SampleSubject, index: usize) -> &mut Group {
        let place = &mut self.places[index];
        if *place == ABSENT {
            *place = self.groups.len() as u16;
            let (queue, service) = (Times::default(), Times::default());
            self.groups.push(Group { row, counts: Counts::default(), queue, service });
        }
        &mut self.groups[usize::from(*place)]
    }

    fn write_groups(&mut self, service_bucket: Option<usize>) {
        let fill = self.noted.len() as u64;
        for group in self.groups.drain(..) {
            let index = match group.row {
                SampleSubject::Account(account) => account as usize,
                SampleSubject::Verb(verb) => TENANTS_MAX + verb as usize,
            };
            self.places[index] = ABSENT;
            let Some(row) = self.samples.row(group.row) else { continue };
            row.count(&Counts { batches: 1, fill_sum: fill, ..group.counts });
            if let Some(bucket) = service_bucket {
                row.add_to_bucket(Span::Service, bucket, group.counts.requests);
            }
            row.add_times(Span::Queue, group.queue.sum_ns, group.queue.longest_ns);
            row.add_times(Span::Service, group.service.sum_ns, group.service.longest_ns);
        }
    }

    /// A span of the time-stamp counter in nanoseconds. A span that seems negative, since processors' counters differ
    /// by a few counts, is 0.
    #[inline]
    fn ns(&self, span_tsc: u64) -> u64 {
        let span_tsc = if span_tsc > u64::MAX / 2 { 0 } else { span_tsc.min(SPAN_TSC_MAX) };
        (span_tsc.saturating_mul(self.ns_per_tsc) >> FRACTION_BITS).min(SAMPLE_NS_MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use link::{SamplesView, ns_to_tsc};
    use std::os::fd::AsFd;

    fn sampler() -> (Sampler, SamplesView) {
        let fd = Samples::create(1).unwrap();
        let reader = Samples::read_only(fd.as_fd()).unwrap();
        let mut sampler = Sampler::new(Samples::join(fd.as_fd()).unwrap());
        sampler.began_tsc = 0;
        (sampler, SamplesView::join(reader.as_fd()).unwrap())
    }

    /// Times convert to a few parts in a million, and histograms round up by a sixteenth at the most.
    fn is_about(found: Option<u64>, expected: u64) -> bool {
        found.is_some_and(|found| {
            found + found / 1000 + 2 >= expected && found <= expected + expected / 15 + 2
        })
    }

    #[test]
    fn a_batch_is_in_the_rows_of_its_tenants_and_of_its_verbs() {
        let (mut sampler, view) = sampler();
        let begin = ns_to_tsc(10_000_000);
        let at = |before_ns| begin - ns_to_tsc(before_ns);
        for (account, verb, wait_ns) in [(3, 1, 1_000), (9, 1, 2_000), (3, 2, 4_000), (3, 1, 8_000)] {
            sampler.took(account, verb, at(wait_ns), 10);
        }
        for place in 0..4 {
            sampler.answered(place, [0, 8, 0, 99][place], 100 + place);
        }
        let bytes = sampler.passed(begin, begin + ns_to_tsc(50_000), |place| [1, 1, 2, 1][place] * 700);
        assert_eq!(bytes, (40, 406));
        assert_eq!(
            view.rows(),
            [
                SampleSubject::Account(3),
                SampleSubject::Account(9),
                SampleSubject::Verb(1),
                SampleSubject::Verb(2)
            ]
        );
        let expected = |requests, busy_ns, bytes_out, failed| {
            let (bytes_in, fill_sum) = (10 * requests, 4);
            Counts { requests, refused: 0, batches: 1, fill_sum, busy_ns, bytes_in, bytes_out, failed }
        };
        // A code that CCA does not have is as bad as its worst.
        for (row, requests, busy_ns, bytes_out, longest_ns, failed) in [
            (SampleSubject::Account(3), 3, 40_000_u64, 305, 8_000, [0, 0, 0, 1]),
            (SampleSubject::Account(9), 1, 10_000, 101, 2_000, [0, 1, 0, 0]),
            (SampleSubject::Verb(1), 3, 30_000, 304, 8_000, [0, 1, 0, 1]),
            (SampleSubject::Verb(2), 1, 20_000, 102, 4_000, [0; 4]),
        ] {
            let found = view.read(row).unwrap();
            let busy = found.counts.busy_ns;
            assert!(busy.abs_diff(busy_ns) <= busy_ns / 1000 + 2, "{row:?}: busy {busy}, not {busy_ns}");
            assert_eq!(found.counts, expected(requests, busy, bytes_out, failed), "{row:?}");
            assert_eq!((found.queue.count(), found.service.count()), (requests, requests));
            assert!(
                is_about(found.queue.longest_ns(), longest_ns),
                "{row:?}: {:?}",
                found.queue.longest_ns()
            );
            assert!(is_about(found.service.quantile_ns(0.5), 50_000));
        }
        sampler.took(9, 2, begin, 1);
        sampler.passed(begin, begin, |_| 0);
        let again = view.read(SampleSubject::Account(9)).unwrap();
        assert_eq!((again.counts.requests, again.counts.batches, again.counts.fill_sum), (2, 2, 5));
    }

    #[test]
    fn what_a_client_claims_about_its_wait_is_held_to_what_can_be() {
        let (mut sampler, view) = sampler();
        sampler.began_tsc = 1_000_000;
        let begin = sampler.began_tsc + ns_to_tsc(5_000);
        for (account, queued_tsc) in [(0, 0), (1, u64::MAX), (2, begin + 1), (3, sampler.began_tsc - 1)] {
            sampler.took(account, 0, queued_tsc, 0);
            sampler.passed(begin, begin - 1, |_| 1);
            let queue = view.read(SampleSubject::Account(account)).unwrap().queue;
            assert_eq!(queue.count(), 1);
            assert!(queue.longest_ns() <= Some(5_100), "{queued_tsc}: {:?}", queue.longest_ns());
        }
        assert_eq!(view.read(SampleSubject::Verb(0)).unwrap().service.longest_ns(), Some(0));
    }

    #[test]
    fn bounds_hold_whatever_is_noted() {
        let (mut sampler, view) = sampler();
        for place in 0..2 * BATCH_MAX {
            sampler.took(u32::MAX - place as u32, usize::MAX, 0, usize::MAX);
            sampler.answered(place, i32::MIN, usize::MAX);
        }
        sampler.passed(u64::MAX / 2, u64::MAX, |_| u64::MAX);
        sampler.refused(7);
        sampler.refused(u32::MAX);
        let last = view.read(SampleSubject::Account(TENANTS_MAX as u32 - 1)).unwrap();
        assert_eq!((last.counts.requests, last.counts.refused), (BATCH_MAX as u64, 0));
        assert_eq!(view.read(SampleSubject::Account(7)).unwrap().counts.refused, 1);
        assert!(last.service.longest_ns() <= Some(SAMPLE_NS_MAX));
    }
}
