//! One event loop's private key operations.

use crate::error::{OffloadError, Status};
use crate::work::{Answer, CIPHERTEXT_BYTES_MAX, Operation, Scheme};
use facility::private_keys::{self, Field, Padding};
use facility::{Completions, Facility, FacilityError, LOOP_REQUESTS_MAX, Label, Options, Reply};
use std::collections::HashMap;
use std::fmt;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use wire::bounds::DOMAINS_MAX;

/// Upper bound of the labels that one loop names.
pub const KEYS_MAX: usize = 16 * 1024;

/// Options of one loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoopOptions {
    /// The domain of its keys.
    pub domain: u16,
    /// Requests that may be submitted and not collected, cancelled ones that have not ended among them: 1 to
    /// [`LOOP_REQUESTS_MAX`].
    pub in_flight_max: usize,
}

impl Default for LoopOptions {
    fn default() -> Self {
        Self { domain: 0, in_flight_max: LOOP_REQUESTS_MAX }
    }
}

impl LoopOptions {
    /// Checks the options; the error says what is wrong.
    pub(crate) fn check(&self) -> Result<(), String> {
        if !(1..=LOOP_REQUESTS_MAX).contains(&self.in_flight_max) {
            return Err(format!(
                "{} requests in flight; 1 to {LOOP_REQUESTS_MAX} may be",
                self.in_flight_max
            ));
        }
        if usize::from(self.domain) >= DOMAINS_MAX {
            return Err(format!("domain {}; the last one is {}", self.domain, DOMAINS_MAX - 1));
        }
        Ok(())
    }
}

/// A label that a loop knows. A key is of no use in another loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Key(pub(crate) u64);

/// A request that has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finished {
    /// The number that the caller gave the request.
    pub id: u64,
    /// The operation that was asked for.
    pub operation: Operation,
    /// The answer, or why there is none.
    pub answer: Result<Answer, OffloadError>,
}

/// A request that was submitted and has not been collected.
struct Pending {
    id: u64,
    operation: Operation,
    /// Padding of the signature, by which the numbers of the answer become its bytes.
    padding: Padding,
    /// Index of the request's label.
    key: u32,
    is_cancelled: bool,
}

/// One event loop's way to the keys of a home. It belongs to one thread at a time; other loops have others.
///
/// Dropped, it gives up what was not collected. In a child of fork it is the parent's: each of its functions fails with
/// [`Status::Forked`], and the child opens its own.
pub struct Offload {
    completions: Completions,
    options: LoopOptions,
    /// A number that every key of this loop holds, and no key of another loop.
    mark: u32,
    keys: Vec<(Label, Field)>,
    places: HashMap<Field, u32>,
    /// The requests, by the number under which the facility knows each.
    pending: Vec<Option<Pending>>,
    free: Vec<u32>,
    ids: HashMap<u64, u32>,
    reply: Reply,
}

impl fmt::Debug for Offload {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Offload").field("in_flight", &self.in_flight()).finish_non_exhaustive()
    }
}

impl Offload {
    /// Opens a home for one loop. The daemon must be running; this may wait for it to answer.
    ///
    /// # Errors
    /// [`Status::Home`], [`Status::Denied`], [`Status::Unavailable`], [`Status::Invalid`], and [`Status::Failed`] where
    /// no descriptor is left.
    pub fn open(home: &Path, options: Options, of_loop: LoopOptions) -> Result<Self, OffloadError> {
        let failed = |error| OffloadError::of(format_args!("open {}", home.display()), &error);
        let facility = Facility::open(home, options).map_err(failed)?;
        Self::new(&facility, of_loop)
    }

    /// Opens a further loop over a facility that several loops share.
    ///
    /// # Errors
    /// [`Status::Invalid`] for a bound or domain that is out of range, [`Status::Failed`] where no descriptor is left.
    pub fn new(facility: &Facility, options: LoopOptions) -> Result<Self, OffloadError> {
        static MARKS: AtomicU32 = AtomicU32::new(1);
        let home = facility.home().folder().display().to_string();
        let invalid = |what: String| OffloadError::new(Status::Invalid, format!("open {home}: {what}"));
        options.check().map_err(invalid)?;
        let completions = facility.completions();
        let completions =
            completions.map_err(|error| OffloadError::of(format_args!("open {home}"), &error))?;
        Ok(Self {
            completions,
            options,
            mark: MARKS.fetch_add(1, Ordering::Relaxed),
            keys: Vec::new(),
            places: HashMap::new(),
            pending: Vec::new(),
            free: Vec::new(),
            ids: HashMap::new(),
            reply: Reply::new(),
        })
    }

    /// Names a label; the same label has the same key. Nothing is asked: whether there is such a label, and whether it
    /// may be used, each request says.
    ///
    /// # Errors
    /// [`Status::Invalid`] for a text that is no label, [`Status::Again`] for more than [`KEYS_MAX`] labels.
    pub fn key(&mut self, label: &str) -> Result<Key, OffloadError> {
        let named = Label::new(label).map_err(|cause| {
            OffloadError::new(Status::Invalid, format!("name the key {label:.80?}: {cause}"))
        })?;
        let field = named.to_field();
        let place = match self.places.get(&field) {
            Some(place) => *place,
            None if self.keys.len() >= KEYS_MAX => {
                let text = format!("name the key {named}: this loop has {KEYS_MAX} keys, and takes no more");
                return Err(OffloadError::new(Status::Again, text));
            }
            None => {
                let place = self.keys.len() as u32;
                self.keys.push((named, field));
                self.places.insert(field, place);
                place
            }
        };
        Ok(Key(u64::from(self.mark) << 32 | u64::from(place)))
    }

    /// Asks for a signature over a digest. The number must not be that of another request of this loop that was not
    /// collected.
    ///
    /// # Errors
    /// [`Status::Invalid`] for a digest of another length than the scheme's and a number that is in use,
    /// [`Status::Key`], [`Status::Again`], [`Status::Forked`]. Everything else is collected.
    pub fn sign(&mut self, id: u64, key: Key, scheme: Scheme, digest: &[u8]) -> Result<(), OffloadError> {
        let place = self.place(Operation::Sign, key)?;
        let Some(request) = scheme.request(&self.keys[place as usize].1, digest) else {
            let (given, right) = (digest.len(), scheme.hash.bytes());
            let cause = format!("a digest of {given} bytes, not {right}");
            return Err(self.invalid(Operation::Sign, place, &cause));
        };
        self.submit(id, Operation::Sign, scheme.padding, place, |completions, number, domain| {
            completions.ask(number, domain, &request.ask())
        })
    }

    /// Asks for the premaster that a client enciphered (RFC 5246, 7.4.7.1). The answer is 48 bytes whatever the
    /// ciphertext is, random ones where it is none, in the same time; the key must be made for it.
    ///
    /// # Errors
    /// As [`Offload::sign`]; [`Status::Invalid`] for no ciphertext and one of more than [`CIPHERTEXT_BYTES_MAX`] bytes.
    pub fn premaster(&mut self, id: u64, key: Key, ciphertext: &[u8]) -> Result<(), OffloadError> {
        let place = self.place(Operation::Premaster, key)?;
        if !(1..=CIPHERTEXT_BYTES_MAX).contains(&ciphertext.len()) {
            let cause =
                format!("a ciphertext of {} bytes, not 1 to {CIPHERTEXT_BYTES_MAX}", ciphertext.len());
            return Err(self.invalid(Operation::Premaster, place, &cause));
        }
        let field = self.keys[place as usize].1;
        self.submit(id, Operation::Premaster, Padding::RsaPkcs1, place, |completions, number, domain| {
            completions.ask(number, domain, &private_keys::premaster(&field, ciphertext))
        })
    }

    /// Asks for the public key that belongs to the key.
    ///
    /// # Errors
    /// As [`Offload::sign`].
    pub fn public_key(&mut self, id: u64, key: Key) -> Result<(), OffloadError> {
        let place = self.place(Operation::PublicKey, key)?;
        let field = self.keys[place as usize].1;
        self.submit(id, Operation::PublicKey, Padding::RsaPkcs1, place, |completions, number, domain| {
            completions.ask(number, domain, &private_keys::public_key(&field))
        })
    }

    /// Gives a request up: it is not collected, and its number is free. A card may compute it all the same. False if no
    /// request has this number.
    pub fn cancel(&mut self, id: u64) -> bool {
        let Some(number) = self.ids.remove(&id) else { return false };
        if let Some(Some(pending)) = self.pending.get_mut(number as usize) {
            pending.is_cancelled = true;
        }
        true
    }

    /// The next request that has ended; `None` if there is none now, and then the submitted requests are handed to the
    /// cards.
    pub fn collect(&mut self) -> Option<Finished> {
        while let Some((number, outcome)) = self.completions.collect(&mut self.reply) {
            let place =
                self.pending.get_mut(number as usize).and_then(|place| Some((place.take()?, number as u32)));
            let Some((pending, number)) = place else { continue };
            self.free.push(number);
            if pending.is_cancelled {
                self.reply = Reply::new();
                continue;
            }
            self.ids.remove(&pending.id);
            let answer = self.answer(&pending, outcome);
            if pending.operation == Operation::Premaster {
                self.reply = Reply::new();
            }
            return Some(Finished { id: pending.id, operation: pending.operation, answer });
        }
        None
    }

    /// To be called before the loop sleeps on the descriptor: from here on the descriptor is readable when there is
    /// something to collect. False if there is something already.
    pub fn arm(&mut self) -> bool {
        self.completions.arm()
    }

    /// Hands the submitted requests to the cards now; [`Offload::collect`] and [`Offload::arm`] do so at the end of a
    /// round.
    pub fn flush(&mut self) {
        self.completions.flush();
    }

    /// Waits until there is something to collect, for callers without a loop; false after the timeout. It may also
    /// return for no reason.
    pub fn wait(&mut self, timeout: Option<Duration>) -> bool {
        self.completions.wait(timeout)
    }

    /// Requests taken in and not collected, cancelled ones that have not ended among them.
    pub fn in_flight(&self) -> usize {
        self.completions.in_flight()
    }

    /// Whether the loop belongs to the process that this one is a forked child of.
    pub fn is_forked(&self) -> bool {
        self.completions.is_forked()
    }

    fn submit(
        &mut self,
        id: u64,
        operation: Operation,
        padding: Padding,
        key: u32,
        send: impl FnOnce(&mut Completions, u64, u16) -> Result<(), FacilityError>,
    ) -> Result<(), OffloadError> {
        let failed = |this: &Self, status, cause: &str| {
            OffloadError::new(status, format!("{operation} {}: {cause}", this.keys[key as usize].0))
        };
        if self.ids.contains_key(&id) {
            return Err(failed(self, Status::Invalid, &format!("the number {id} is in use")));
        }
        if self.in_flight() >= self.options.in_flight_max && !self.is_forked() {
            let cause = format!("{} requests are in flight; collect answers first", self.in_flight());
            return Err(failed(self, Status::Again, &cause));
        }
        let number = self.free.pop().unwrap_or(self.pending.len() as u32);
        let sent = send(&mut self.completions, u64::from(number), self.options.domain);
        if let Err(error) = sent {
            if (number as usize) < self.pending.len() {
                self.free.push(number);
            }
            return Err(OffloadError::of(format_args!("{operation} {}", self.keys[key as usize].0), &error));
        }
        let pending = Some(Pending { id, operation, padding, key, is_cancelled: false });
        match self.pending.get_mut(number as usize) {
            Some(place) => *place = pending,
            None => self.pending.push(pending),
        }
        self.ids.insert(id, number);
        Ok(())
    }

    fn answer(&self, pending: &Pending, outcome: Result<(), FacilityError>) -> Result<Answer, OffloadError> {
        let label = &self.keys[pending.key as usize].0;
        let what = format_args!("{} {label}", pending.operation);
        outcome.map_err(|error| OffloadError::of(what, &error))?;
        if !self.reply.codes().is_ok() {
            return Err(OffloadError::refused(what, self.reply.codes(), &self.reply.codes()));
        }
        let named = |error: OffloadError| OffloadError::new(error.status, format!("{what}: {}", error.text));
        Answer::of_reply(pending.operation, pending.padding, &self.reply.arguments()).map_err(named)
    }

    /// The index of a key's label.
    fn place(&self, operation: Operation, key: Key) -> Result<u32, OffloadError> {
        let place = key.0 as u32;
        match key.0 >> 32 == u64::from(self.mark) && (place as usize) < self.keys.len() {
            true => Ok(place),
            false => {
                let text = format!("{operation} key {:#x}: no key of this loop has that number", key.0);
                Err(OffloadError::new(Status::Key, text))
            }
        }
    }

    fn invalid(&self, operation: Operation, key: u32, cause: &str) -> OffloadError {
        OffloadError::new(Status::Invalid, format!("{operation} {}: {cause}", self.keys[key as usize].0))
    }
}

impl AsFd for Offload {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.completions.as_fd()
    }
}
