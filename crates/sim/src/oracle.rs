//! What must hold: every request is answered once and correctly, or fails with an error that says
//! truthfully whether it ran.
//!
//! Cards and the storage thread note what they run, by a number in each request, in a
//! place that the code under test cannot see.

pub mod outside_key;
pub mod quarantine;
pub mod rights;

use crate::plan::Plan;
use facility::{FacilityError, Ran};
use outside_key::OutsideKey;
use quarantine::{Watched, is_quarantine};
use rights::Rights;
use std::collections::BTreeMap;
use wire::code::{self, Codes};
use wire::tenant::Limits;

/// Mark that stands before the number of a request in its payload.
const MARK: [u8; 8] = *b"\xC7\x01sim\xFE\x02#";
/// Mark that stands before the number of a request in a label.
const LABEL_MARK: &str = "SIM.R";
/// Upper bound of runs of a request of class pure.
const RUNS_MAX: u32 = wire::bounds::TAKEN_MAX;
/// Longest time of a request if nothing goes wrong, in nanoseconds: less than the time after which a waiter checks
/// whether its card lives, so that a lost wake-up shows.
const CALM_NS_MAX: u64 = wire::bounds::LIVENESS_WAIT_NS * 3 / 4;

/// How many of the last requests are searched for one that waits.
const LAST: usize = 64;

/// How a card refuses a token whose master key it does not have.
const KEY_NOT_KNOWN: [Codes; 2] = [code::MASTER_KEY_MISMATCH, code::MASTER_KEY_NOT_LOADED];

/// How often a request may be run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Twice, if a card died with the request.
    Pure,
    /// Once.
    Once,
}

/// What became of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// The right answer.
    Answered,
    /// No answer: nobody waited for it.
    GivenUp,
    /// An error.
    Failed {
        /// Whether the request ran, by what the error says.
        ran: Ran,
        /// Text of the error.
        error: String,
    },
}

struct Request {
    client: u32,
    class: Class,
    begun_ns: u64,
    runs: u32,
    needs_key: bool,
    end: Option<End>,
}

/// Counts of what happened, to show that something did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Requests begun.
    pub requests: u64,
    /// Requests answered.
    pub answered: u64,
    /// Requests that failed, and did not run.
    pub not_run: u64,
    /// Requests that failed, and may have run.
    pub maybe_run: u64,
    /// Requests answered with codes, and nothing else.
    pub refused: u64,
    /// Requests that ran twice.
    pub twice: u64,
    /// Processes that were killed, or lied.
    pub faults: u64,
    /// Batches that began while a tenant was at its limit and had more requests waiting.
    pub bound: u64,
    /// Requests with clear keys that were answered.
    pub clear: u64,
    /// Event loops that ran to their end.
    pub loops: u64,
    /// Looks at the records of cards.
    pub observed: u64,
    /// Requests whose token was wrapped under the master key before the current one.
    pub old_keys: u64,
    /// Requests with the key that another host changes for which only one answer was right.
    pub outside: u64,
    /// Requests whose answers waited for a record.
    pub recorded: u64,
    /// Requests that were refused because their tenant may not encipher.
    pub forbidden: u64,
    /// Requests that were answered by a card without a master key.
    pub without_key: u64,
    /// Cards that died of a hostile tenant's requests.
    pub poisoned: u64,
    /// Quarantines that were seen.
    pub quarantines: u64,
    /// Threads of clients that ended.
    pub threads: u64,
    /// Answers that another thread collected than the one that asked, which had ended.
    pub inherited: u64,
    /// Homes that did not stop while the loaded keys were in no sealed copy.
    pub kept: u64,
}

/// Numbers of the last master key that was begun and of the last that was set, as far as officers know.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MasterKeys {
    begun: u64,
    done: u64,
    /// Keepers that were started.
    keepers: u32,
}

impl MasterKeys {
    /// A keeper starts. The new keeper has the keys that the home began with: keys that were set since ended with the
    /// keeper before.
    pub fn keeper_starts(&mut self) {
        self.keepers += 1;
    }

    /// A key is about to be set: cards may wrap under it from now on.
    pub fn begin(&mut self) {
        self.begun += 1;
    }

    /// The key is set: no card wraps under another from now on.
    pub fn done(&mut self) {
        self.done = self.begun;
    }

    /// The oldest key that a token made from now on may be wrapped under.
    pub fn oldest(&self) -> u64 {
        self.done
    }

    /// Whether every card must open a token that is wrapped under this key or a later one: cards have the
    /// current key and the one before.
    pub fn opens(&self, key: u64) -> bool {
        self.keepers <= 1 && key + 1 >= self.begun
    }
}

/// Everything that the oracle knows of the requests.
#[derive(Default)]
pub struct Oracle {
    /// Violations that were found.
    pub findings: Vec<String>,
    /// Counts of what happened.
    pub counts: Counts,
    /// The master keys that were set.
    pub master_keys: MasterKeys,
    /// The rights of the tenants.
    pub rights: Rights,
    /// State of the key that another host changes.
    pub outside: OutsideKey,
    /// The hostile tenant, whose requests kill cards.
    pub hostile: Watched,
    requests: BTreeMap<u64, Request>,
    killed: Vec<u32>,
    /// Requests whose answer waits for a record: the card and the number of the record.
    audits: BTreeMap<u64, (u32, u64)>,
    /// Number of the last durable record, by card.
    recorded: BTreeMap<u32, u64>,
    /// Limits of the clients, by process number.
    limits: BTreeMap<u32, Limits>,
}

/// A mark with a number, to be put into a payload.
pub fn mark(number: u64) -> [u8; 16] {
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&MARK);
    bytes[8..].copy_from_slice(&number.to_le_bytes());
    bytes
}

/// The number in a payload.
pub fn number_in(payload: &[u8]) -> Option<u64> {
    let at = payload.windows(MARK.len()).position(|window| window == MARK)? + MARK.len();
    Some(u64::from_le_bytes(payload.get(at..at + 8)?.try_into().ok()?))
}

/// A label with a number.
pub fn label(number: u64) -> wire::Label {
    // What a label allows: the mark is one of its words.
    wire::Label::new(&format!("{LABEL_MARK}{number}")).unwrap_or_else(|_| unreachable!("a plain label"))
}

/// The number in a label.
pub fn number_of(label: &str) -> Option<u64> {
    label.strip_prefix(LABEL_MARK)?.parse().ok()
}

impl Oracle {
    /// A request begins; returns its number.
    pub fn begin(&mut self, client: u32, class: Class, now_ns: u64) -> u64 {
        self.counts.requests += 1;
        let number = self.counts.requests;
        let request = Request { client, class, begun_ns: now_ns, runs: 0, needs_key: false, end: None };
        self.requests.insert(number, request);
        number
    }

    /// How many requests have begun and ended so far.
    pub fn progress(&self) -> u64 {
        let Counts { requests, answered, refused, not_run, maybe_run, forbidden, .. } = self.counts;
        requests + answered + refused + not_run + maybe_run + forbidden
    }

    /// A request needs a master key: a card without one answers that, and has not run it.
    pub fn needs_key(&mut self, number: u64) {
        if let Some(request) = self.requests.get_mut(&number) {
            request.needs_key = true;
        }
    }

    /// A card, with the master key or without, runs these requests together. A request that a card died with may be the
    /// cause, so it must be alone in its batch.
    pub fn batch(&mut self, numbers: &[u64], holds_key: bool) {
        for number in numbers {
            if !holds_key && self.requests.get(number).is_some_and(|request| request.needs_key) {
                self.counts.without_key += 1;
                continue;
            }
            let ran = self.requests.get(number).is_some_and(|request| request.runs > 0);
            if ran && numbers.len() > 1 {
                self.findings
                    .push(format!("request {number}, which a card died with, ran in a batch with others"));
            }
            self.executed(*number);
        }
    }

    /// Whether requests of a process other than this one wait to be run.
    pub fn others_wait(&self, client: u32) -> bool {
        let last = self.requests.values().rev().take(LAST);
        last.into_iter().any(|request| request.client != client && request.end.is_none() && request.runs == 0)
    }

    /// The requests of this process are held to limits from now on.
    pub fn limit(&mut self, client: u32, limits: Limits) {
        self.limits.insert(client, limits);
    }

    /// Notes that a card begins a batch: `batch` are its requests, `all` the requests that all cards run, these
    /// included.
    pub fn in_flight(&mut self, batch: &[u64], all: &[u64]) {
        let of = |numbers: &[u64], client: u32| {
            let client_of = |number: &u64| self.requests.get(number).map(|request| request.client);
            numbers.iter().filter(|number| client_of(number) == Some(client)).count()
        };
        let (mut bound, mut exceeded) = (0, Vec::new());
        for (client, limits) in &self.limits {
            let here = of(batch, *client);
            if here == 0 {
                continue;
            }
            let everywhere = of(all, *client);
            let to_do = || {
                let open = |request: &&Request| request.client == *client && request.end.is_none();
                self.requests.values().filter(open).count()
            };
            let pairs = [(here, limits.in_flight_per_card_max), (everywhere, limits.in_flight_max)];
            for (found, limit) in pairs.map(|(found, limit)| (found, limit as usize)) {
                if limit != 0 && found > limit {
                    exceeded.push(format!(
                        "{found} requests of client {client} run at once, whose limit is {limit}"
                    ));
                }
                bound += u64::from(limit != 0 && found == limit && to_do() > limit);
            }
        }
        self.counts.bound += bound;
        self.findings.extend(exceeded);
    }

    /// Notes the card and the number of the record for which the answer to a request waits; none if it waits for no
    /// record.
    pub fn audit(&mut self, number: Option<u64>, record: Option<(u32, u64)>) {
        let Some(number) = number else { return };
        match record {
            Some(record) => drop(self.audits.insert(number, record)),
            None => drop(self.audits.remove(&number)),
        }
    }

    /// Records of a card are durable up to this one.
    pub fn recorded(&mut self, card: u32, up_to: u64) {
        self.recorded.insert(card, up_to);
    }

    /// Notes that an answer is seen, and checks that its record is durable.
    fn seen(&mut self, number: u64) {
        let Some((card, record)) = self.audits.get(&number) else { return };
        self.counts.recorded += 1;
        if self.recorded.get(card).is_none_or(|durable| durable < record) {
            self.findings.push(format!("request {number} was answered before its record was durable"));
        }
    }

    /// Notes that a request is run.
    pub fn executed(&mut self, number: u64) {
        let Some(request) = self.requests.get_mut(&number) else {
            return self.findings.push(format!("request {number} ran, which nobody made"));
        };
        request.runs += 1;
        let (runs, class) = (request.runs, request.class);
        match class {
            Class::Once if runs > 1 => {
                self.findings.push(format!("request {number} of class once ran {runs} times"));
            }
            Class::Pure if runs > RUNS_MAX => {
                self.findings.push(format!("request {number} ran {runs} times"));
            }
            Class::Pure if runs == 2 => self.counts.twice += 1,
            _ => {}
        }
    }

    /// Notes that a request was answered, rightly or wrongly.
    pub fn answered(&mut self, number: u64, right: bool, calm: bool, now_ns: u64) {
        self.counts.answered += 1;
        self.seen(number);
        let Some(request) = self.requests.get_mut(&number) else { return };
        if request.end.is_some() {
            self.findings.push(format!("request {number} was answered twice"));
        }
        request.end = Some(End::Answered);
        let took_ns = now_ns - request.begun_ns;
        if !right {
            self.findings.push(format!("request {number} got a wrong answer"));
        }
        if request.runs == 0 {
            self.findings.push(format!("request {number} was answered, and did not run"));
        }
        if calm && took_ns > CALM_NS_MAX {
            self.findings.push(format!("request {number} took {took_ns} ns, though nothing went wrong"));
        }
    }

    /// A request with a token under this master key, or a later one, was answered with codes, and nothing else.
    pub fn refused(&mut self, number: u64, calm: bool, key: u64, codes: Codes) {
        self.counts.refused += 1;
        let is_unknown = KEY_NOT_KNOWN.contains(&codes);
        if is_unknown && self.master_keys.opens(key) {
            self.findings
                .push(format!("request {number}: a card does not open the token of another: {codes}"));
        }
        let calm = calm && !is_unknown;
        let Some(request) = self.requests.get_mut(&number) else { return };
        request.end = Some(End::Answered);
        if calm {
            self.findings
                .push(format!("request {number} was refused with {codes}, though nothing went wrong"));
        }
    }

    /// When a request began, in nanoseconds; 0 for an unknown request.
    pub fn begun_ns(&self, number: u64) -> u64 {
        self.requests.get(&number).map_or(0, |request| request.begun_ns)
    }

    /// A request was answered as by a card without a master key, while this card held one all the time, if any did.
    pub fn refused_without_key(&mut self, number: u64, holder: Option<u32>) {
        if let Some(pid) = holder {
            self.findings.push(format!(
                "request {number} found no master key, and the card of process {pid} holds it"
            ));
        }
    }

    /// A request to encipher by this tenant, with the key of a label or a token, is over: with a ciphertext, or refused
    /// as not permitted.
    pub fn enciphered(
        &mut self,
        plan: &Plan,
        number: u64,
        tenant: Option<u32>,
        by_label: bool,
        permitted: bool,
    ) {
        let Some(request) = self.requests.get(&number) else { return };
        let right = self.rights.permits(plan, tenant, request.begun_ns, by_label);
        if right == Some(!permitted) {
            let (was, may) = if permitted { ("enciphered", "may not") } else { ("was refused", "may") };
            self.findings.push(format!("request {number} {was}, and its tenant {may} encipher"));
        }
    }

    /// A request with the key that another host changes is over: with a ciphertext, or refused as without a key.
    pub fn used_outside(&mut self, number: u64, ciphertext: Option<&[u8]>) {
        if ciphertext.is_some() {
            self.seen(number);
        }
        let Some(request) = self.requests.get_mut(&number) else { return };
        request.end = Some(End::Answered);
        let Some(expected) = self.outside.expected(request.begun_ns) else { return };
        self.counts.outside += 1;
        if ciphertext != expected {
            let was = if ciphertext.is_some() { "enciphered" } else { "refused" };
            self.findings.push(format!("request {number} was {was} by what another host's key was before"));
        }
    }

    /// Notes that a request was refused as not permitted.
    pub fn forbidden(&mut self, number: u64) {
        self.counts.forbidden += 1;
        if let Some(request) = self.requests.get_mut(&number) {
            request.end = Some(End::Answered);
        }
    }

    /// Notes that a request failed with this error.
    pub fn failed(&mut self, number: u64, error: &FacilityError, calm: bool) {
        let (ran, text) = (error.ran(), error.to_string());
        match ran {
            Ran::No => self.counts.not_run += 1,
            Ran::Maybe => self.counts.maybe_run += 1,
        }
        let Some(request) = self.requests.get_mut(&number) else { return };
        if request.end.is_some() {
            self.findings.push(format!("request {number} was answered twice"));
        }
        if calm {
            self.findings.push(format!("request {number} failed, though nothing went wrong: {text}"));
        }
        if is_quarantine(error) {
            self.findings.push(format!("request {number} was refused, and its tenant ended no card: {text}"));
        }
        if matches!(error, FacilityError::TimedOut { .. }) {
            self.findings.push(format!("request {number} was not answered: {text}"));
        }
        request.end = Some(End::Failed { ran, error: text });
    }

    /// Counts a fault that is not the fault of the code.
    pub fn disturbed(&mut self) {
        self.counts.faults += 1;
    }

    /// Notes that a process was killed: its requests have no end.
    pub fn killed(&mut self, pid: u32) {
        self.killed.push(pid);
    }

    /// Notes that nobody waits for the answer any more.
    pub fn given_up(&mut self, number: u64) {
        if let Some(request) = self.requests.get_mut(&number) {
            request.end.get_or_insert(End::GivenUp);
        }
    }

    /// Numbers of the requests of class once whose records are decided: true if the record must exist.
    pub fn records(&self) -> Vec<(u64, bool)> {
        let once = self.requests.iter().filter(|(_, request)| request.class == Class::Once);
        let known = once.filter_map(|(number, request)| match &request.end {
            Some(End::Answered) => Some((*number, true)),
            Some(End::Failed { ran: Ran::No, .. }) => Some((*number, false)),
            _ => None,
        });
        known.collect()
    }

    /// Adds the violations that show once nothing runs any more.
    pub fn judge(&mut self, plan: &Plan) {
        if plan.is_only_hostile() {
            self.findings.extend(self.hostile.judge(plan));
        }
        for (number, request) in &self.requests {
            match &request.end {
                Some(End::Failed { ran: Ran::No, error }) if request.runs > 0 => self.findings.push(format!(
                    "request {number} ran {} times, and was said not to have run: {error}",
                    request.runs
                )),
                None if !self.killed.contains(&request.client) => {
                    self.findings.push(format!("request {number} has no end"));
                }
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A request that needs a key, run by a card that opens its token or does not, and answered.
    fn answered_by(opens: bool) -> Vec<String> {
        let mut oracle = Oracle::default();
        let number = oracle.begin(1, Class::Pure, 0);
        oracle.needs_key(number);
        oracle.batch(&[number], opens);
        oracle.answered(number, true, true, 1);
        oracle.findings
    }

    #[test]
    fn an_answer_without_a_run_is_seen() {
        assert_eq!(answered_by(true), Vec::<String>::new());
        assert_eq!(answered_by(false), ["request 1 was answered, and did not run"]);
    }
}
