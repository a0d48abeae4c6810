//! Thousands of keys under labels, asked for at random: what the home, the program and the card keep of them.

use super::{Effort, home_of, in_turn};
use crate::experiment::promise::{Measure, Promise};
use crate::kit::statistics::compare;
use crate::load::operation::{Mac, Operation, Payment, RsaForm, RsaKey};
use crate::load::requests::{Maker, Request, Tokens};
use crate::load::target::{Needs, Target};
use crate::load::{LabError, Workload};
use engine::Engine;
use facility::{Facility, Reply, Ticket};
use seeded::Random;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;
use wire::Label;
use wire::bounds::{KEY_TABLE_UNITS_PER_LABEL, LABEL_BYTES, LABELS};
use wire::control::Store;
use wire::verb::{Verb, digital_signature_generate, encrypted_pin_translate, mac_generate};

/// Requests in flight.
const JOBS: usize = 64;
/// The numbers of labels that are compared with one.
const SOME: usize = 1_000;
const MANY: usize = 10_000;
/// Requests that keys for signatures share: labels have tokens of their own.
const SIGNING_REQUESTS: usize = 256;
const RSA_BITS: u32 = 2048;
const ASKING: &str = "use a key under its label";

/// Keys under labels of a home, and the requests with them.
#[derive(Clone)]
pub(super) struct Labelled {
    engine: Engine,
    facility: Facility,
    work: Workload,
    /// Position of the key among the arguments.
    key: usize,
    fields: Vec<[u8; LABEL_BYTES]>,
    /// The request of a label is that of its number modulo their number.
    requests: Vec<Request>,
}

impl Labelled {
    /// Keys for MACs.
    pub fn macs(target: &Target, facility: &Facility, labels: usize) -> Result<Self, LabError> {
        let work = Workload { bytes: 64, ..Workload::of(Operation::Mac(Mac::X919)) };
        Self::none(target, facility, work, mac_generate::KEY_IDENTIFIER).with_requests(labels)
    }

    /// Keys from which PIN blocks are translated.
    pub fn translating(target: &Target, facility: &Facility, labels: usize) -> Result<Self, LabError> {
        let work = Workload::of(Operation::Payment(Payment::PinTranslate));
        let key = encrypted_pin_translate::INPUT_PIN_ENCRYPTING_KEY_IDENTIFIER;
        Self::none(target, facility, work, key).with_requests(labels)
    }

    /// With keys of DES, each with a request of its own.
    fn with_requests(mut self, labels: usize) -> Result<Self, LabError> {
        let made = &mut self;
        let (engine, facility, mut tokens) = (made.engine, made.facility.clone(), Tokens::default());
        let mut maker = Maker::new(&engine, &facility, &mut tokens);
        for number in 0..labels {
            let request = maker.request(&made.work, number)?;
            let token = request.given(made.key).to_vec();
            made.requests.push(request);
            made.add(Store::Des, &token)?;
        }
        Ok(self)
    }

    /// RSA keys for signatures.
    pub fn signing(target: &Target, facility: &Facility, labels: usize) -> Result<Self, LabError> {
        let key = RsaKey { bits: RSA_BITS, form: RsaForm::Crt };
        let work = Workload::of(Operation::Verb { verb: Verb::DigitalSignatureGenerate, key: Some(key) });
        let mut made = Self::none(target, facility, work, digital_signature_generate::PKA_PRIVATE_KEY_ID);
        let (engine, mut tokens) = (made.engine, Tokens::default());
        let mut maker = Maker::new(&engine, facility, &mut tokens);
        for number in 0..labels {
            if number < SIGNING_REQUESTS {
                made.requests.push(maker.request(&made.work, number)?);
            }
            // The same key in a token of its own.
            let token = maker.signing_token(RSA_BITS, number % SIGNING_REQUESTS)?;
            made.add(Store::Pka, &token)?;
        }
        Ok(made)
    }

    /// Keys of P-256 for signatures.
    pub fn signing_ecdsa(target: &Target, facility: &Facility, labels: usize) -> Result<Self, LabError> {
        let work = Workload::of(Operation::EcdsaP256Sign);
        let mut made = Self::none(target, facility, work, digital_signature_generate::PKA_PRIVATE_KEY_ID);
        let (engine, mut tokens) = (made.engine, Tokens::default());
        let mut maker = Maker::new(&engine, facility, &mut tokens);
        let mut keys = Vec::new();
        for number in 0..labels.min(SIGNING_REQUESTS) {
            let (request, tokens) = maker.ecdsa(number, labels.div_ceil(SIGNING_REQUESTS))?;
            made.requests.push(request);
            keys.push(tokens);
        }
        for number in 0..labels {
            made.add(Store::Pka, &keys[number % SIGNING_REQUESTS][number / SIGNING_REQUESTS])?;
        }
        Ok(made)
    }

    /// Has requests go through another facility of the home from now on.
    pub fn call_through(&mut self, facility: &Facility) {
        self.facility = facility.clone();
    }

    fn none(target: &Target, facility: &Facility, work: Workload, key: usize) -> Self {
        let (engine, facility) = (*target.engine(), facility.clone());
        Self { engine, facility, work, key, fields: Vec::new(), requests: Vec::new() }
    }

    fn add(&mut self, store: Store, token: &[u8]) -> Result<(), LabError> {
        let name = format!("SCALE.{store:?}.N{}", self.fields.len()).to_uppercase();
        let label = Label::new(&name).map_err(|error| LabError::facility("name a label")(error))?;
        self.facility.record_create(store, &label, token).map_err(LabError::facility("store a key"))?;
        self.fields.push(label.to_field());
        Ok(())
    }

    /// Asks with the key of a label, in the ticket that is given, or a new one.
    fn submit(&self, ticket: Option<&mut Ticket>, label: usize) -> Result<Option<Ticket>, LabError> {
        let mut arguments = self.requests[label % self.requests.len()].arguments();
        arguments.set_bytes(self.key, &self.fields[label]);
        let submitted = match ticket {
            Some(ticket) => self.facility.submit_into(ticket, 0, &arguments).map(|()| None),
            None => self.facility.submit(0, &arguments).map(Some),
        };
        submitted.map_err(LabError::facility(ASKING))
    }

    /// Requests a second with labels that `next` gives, told the seconds so far, until it gives none; each answer is
    /// compared.
    fn rate(
        &mut self,
        mut next: impl FnMut(f64) -> Option<usize>,
        stop: &AtomicBool,
    ) -> Result<f64, LabError> {
        let (mut tickets, mut labels) = (Vec::new(), Vec::new());
        let (begin, mut answered) = (Instant::now(), 0_u64);
        let mut reply = Reply::new();
        while let Some(label) = (tickets.len() < JOBS).then(|| next(0.0)).flatten() {
            tickets.extend(self.submit(None, label)?);
            labels.push(label);
        }
        while let Some(at) = Ticket::wait_any(&mut tickets) {
            let ended = tickets[at].try_wait_into(&mut reply).unwrap_or(Ok(()));
            ended.map_err(LabError::facility(ASKING))?;
            let count = self.requests.len();
            self.requests[labels[at] % count].check(&self.engine, &self.work, labels[at], &reply)?;
            answered += 1;
            if stop.load(Ordering::Relaxed) {
                return Err(LabError::Interrupted);
            }
            if let Some(label) = next(begin.elapsed().as_secs_f64()) {
                self.submit(Some(&mut tickets[at]), label)?;
                labels[at] = label;
            }
        }
        Ok(answered as f64 / begin.elapsed().as_secs_f64())
    }

    /// Requests a second with the first `count` labels at random.
    pub fn at_random(&mut self, count: usize, seconds: f64, stop: &AtomicBool) -> Result<f64, LabError> {
        let mut random = Random(count as u64);
        self.rate(|elapsed| (elapsed < seconds).then(|| random.below(count)), stop)
    }

    /// Requests a second with each of these labels once.
    pub fn once(&mut self, labels: std::ops::Range<usize>, stop: &AtomicBool) -> Result<f64, LabError> {
        let mut labels = labels;
        self.rate(|_| labels.next(), stop)
    }
}

/// Keys of MACs and of signatures under labels at random, beside one label; and the first use of a key.
pub(super) fn labels(effort: Effort, stop: &Arc<AtomicBool>) -> Result<Vec<Measure>, LabError> {
    let mut rows = Vec::new();
    let (target, facility) = home_of(&Needs::default(), stop, |_| ())?;
    let mut macs = Labelled::macs(&target, &facility, MANY)?;
    rows.push(beside_one("X9.19 of 64 bytes", &mut macs, MANY, 0.6, effort, stop)?);
    drop(macs);
    let mut signing = Labelled::signing(&target, &facility, MANY)?;
    rows.push(first_use(&mut signing, effort, stop)?);
    for (count, promise) in [(SOME, 0.85), (MANY, 0.7)] {
        rows.push(beside_one("RSA-2048 signatures", &mut signing, count, promise, effort, stop)?);
    }
    drop((signing, facility, target));
    rows.push(gave_way(effort, stop)?);
    Ok(rows)
}

fn beside_one(
    name: &str,
    keys: &mut Labelled,
    count: usize,
    promise: f64,
    effort: Effort,
    stop: &AtomicBool,
) -> Result<Measure, LabError> {
    // So that no side opens labels: that is another row.
    keys.once(0..count, stop)?;
    let rounds = in_turn(effort.rounds, |is_many| {
        keys.at_random(if is_many { count } else { 1 }, effort.seconds, stop)
    })?;
    let (many, one): (Vec<f64>, Vec<f64>) = rounds.into_iter().unzip();
    let case = format!("{name}, {JOBS} in flight on one card, {count} labels at random");
    let promise = Some(Promise::RatioAtLeast(promise));
    let row = Measure::compared(&case, "ops/s", "one label", compare(&many, &one), promise);
    Ok(row.bounded_by("caches; keys that the card has no room to keep"))
}

/// The first use of a key by its label, in times of a signature of a card that has it: the daemon opens the label, and
/// the card opens, checks and prepares the key.
fn first_use(keys: &mut Labelled, effort: Effort, stop: &AtomicBool) -> Result<Measure, LabError> {
    let each = MANY / effort.rounds.max(1);
    let (mut first, mut again) = (Vec::new(), Vec::new());
    for round in 0..effort.rounds {
        let labels = round * each..(round + 1) * each;
        first.push(1e6 / keys.once(labels.clone(), stop)?);
        again.push(1e6 / keys.at_random(1, effort.seconds, stop)?);
    }
    let case = format!("RSA-2048 signatures, {JOBS} in flight on one card: first use of a key by its label");
    let promise = Some(Promise::RatioAtMost(3.0));
    let row = Measure::compared(&case, "us", "a signature of a full pass", compare(&first, &again), promise);
    Ok(row.bounded_by("the daemon's answer to one question after the other"))
}

/// One call after another with more labels than the home has room for, in turn: each was given up before it is asked
/// for again.
fn gave_way(effort: Effort, stop: &Arc<AtomicBool>) -> Result<Measure, LabError> {
    // Of keys with short tokens.
    let places = *LABELS.start() as usize * KEY_TABLE_UNITS_PER_LABEL;
    let labels = places + places / 8;
    let (target, facility) =
        home_of(&Needs::default(), stop, |settings| settings.daemon.labels = *LABELS.start())?;
    let mut keys = Labelled::macs(&target, &facility, labels)?;
    keys.once(0..labels, stop)?;
    let (mut given_up, mut open) = (Vec::new(), Vec::new());
    let one = |keys: &mut Labelled, label: usize| -> Result<f64, LabError> {
        let begin = Instant::now();
        keys.once(label..label + 1, stop)?;
        Ok(begin.elapsed().as_secs_f64() * 1e6)
    };
    let calls = labels.min(200 * effort.rounds);
    for label in 0..calls {
        given_up.push(one(&mut keys, label)?);
        open.push(one(&mut keys, label)?);
    }
    let case = format!("X9.19 of 64 bytes, one call, {labels} labels in turn where {places} have room");
    let promise = Some(Promise::Below(150.0));
    let row = Measure::compared(&case, "us", "the same label again", compare(&given_up, &open), promise);
    Ok(row.bounded_by("a stale reference, a question to the daemon, its look into the key store"))
}
