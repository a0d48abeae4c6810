//! The processor of a card: engine, registers of every domain, and the loop that runs a batch.

use crate::batch::{Batch, Request};
use crate::call::{Call, Computation, Reply, Verdict};
use crate::counting::{Count, Counting, Failures};
use crate::ground::{BatchStep, Refusal};
use crate::kernel::Kernel;
use crate::pass::Pass;
use crate::registers::{Domain, DomainPatterns};
use crate::search::{Found, Search};
use crate::verbs;
use engine::{Engine, RandomBlock};
use payments::Decimalisation;
use std::cell::{Cell, RefCell};
use std::task::{Context, Poll, Waker};
use wire::bounds::PREPARED_KEYS_BYTES;
use wire::control::{Handout, Register, TokenForms};
use wire::frame::{Arguments, Outcome};
use wire::pin::{CountingKey, DecimalisationTable, Digest, Guess, Standing};
use wire::registers::HeldRegisters;
use wire::{Codes, code};

/// Everything that serves secure-key requests: owns the master keys, which are wiped on drop.
pub struct Processor {
    engine: Engine,
    random: RefCell<RandomBlock>,
    domains: Vec<Domain>,
    patterns: Vec<DomainPatterns>,
    tokens: TokenForms,
    /// The stored decimalisation tables.
    tables: Vec<Decimalisation>,
    /// The counts of wrong PINs.
    counting: RefCell<Counting>,
    /// A key that was searched for before the batch that runs next.
    found: Option<Found>,
    /// Bytes that prepared RSA and elliptic-curve keys of all domains together may take between batches.
    prepared_bytes_max: usize,
}

/// Why a handout was refused; the registers are as before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoadError {
    /// The handout is for a domain that the processor does not have.
    Domain(u16),
    /// A master key has a length that its register does not take.
    KeyLength {
        /// The register.
        register: Register,
        /// Length given, in bytes.
        given: usize,
    },
}

impl std::fmt::Display for LoadError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Domain(domain) => {
                write!(f, "master keys for domain {domain}, which this card does not have")
            }
            Self::KeyLength { register, given } => write!(
                f,
                "a master key of {given} bytes for the {register:?} register, which takes {}",
                register.key_bytes()
            ),
        }
    }
}

impl std::error::Error for LoadError {}

impl Processor {
    /// A processor with this many domains, all of them without master keys.
    pub fn new(engine: Engine, domains: u16) -> Self {
        let count = usize::from(domains);
        Self {
            random: RefCell::new(engine.random_block()),
            engine,
            domains: (0..count).map(|_| Domain::default()).collect(),
            patterns: vec![DomainPatterns::default(); count],
            tokens: TokenForms::default(),
            tables: vec![Decimalisation::DEFAULT],
            counting: RefCell::default(),
            found: None,
            prepared_bytes_max: PREPARED_KEYS_BYTES,
        }
    }

    /// Sets how many bytes prepared RSA and elliptic-curve keys of all domains together may take between batches: at
    /// first [`PREPARED_KEYS_BYTES`]. The keys of the domain that has most give way; public keys take at most a
    /// quarter.
    pub fn set_prepared_bytes(&mut self, bytes_max: usize) {
        self.prepared_bytes_max = bytes_max;
        self.trim_contexts();
    }

    fn trim_contexts(&mut self) {
        let public_bytes = |domain: &Domain| domain.pka.public_bytes();
        while self.domains.iter().map(public_bytes).sum::<usize>() > self.prepared_bytes_max / 4 {
            let Some(largest) = self.domains.iter_mut().max_by_key(|domain| public_bytes(domain)) else {
                return;
            };
            largest.pka.evict_public();
        }
        while self.domains.iter().map(|domain| domain.pka.bytes()).sum::<usize>() > self.prepared_bytes_max {
            let Some(largest) = self.domains.iter_mut().max_by_key(|domain| domain.pka.bytes()) else {
                return;
            };
            largest.pka.evict();
        }
    }

    /// Says which decimalisation tables are stored, beside the one that every card has.
    pub fn set_tables(&mut self, tables: &[DecimalisationTable]) {
        let stored = tables.iter().filter_map(|table| Decimalisation::read(table.characters()).ok());
        self.tables = std::iter::once(Decimalisation::DEFAULT).chain(stored).collect();
    }

    /// Sets which forms of internal tokens the processor makes and takes.
    pub fn set_token_forms(&mut self, tokens: TokenForms) {
        self.tokens = tokens;
    }

    /// Starts counting wrong PINs, under digests by this key, and judges verifications that are not refused. Before
    /// this call, PINs are verified only in roles whose failures are not counted.
    pub fn count_failures(&mut self, key: &CountingKey, failures: Box<dyn Failures>) {
        self.counting.get_mut().begin(&self.engine, key, failures);
    }

    /// The known failures under a digest; `None` if failures are not counted.
    pub fn standing(&self, digest: &Digest) -> Option<Standing> {
        self.counting.borrow().standing(digest)
    }

    /// Notes that this failure of this tenant's is durable: the next verification under its digests may be judged.
    pub fn counted(&mut self, guess: &Guess, tenant: u32) {
        self.counting.get_mut().counted(guess, tenant);
    }

    /// The digests that were released since the last call: verifications that waited for them may be brought again.
    pub fn released(&mut self) -> Vec<Digest> {
        self.counting.get_mut().released()
    }

    /// Sets whether any request waits for [`Processor::released`].
    pub fn set_waited_for(&mut self, is_waited_for: bool) {
        self.counting.get_mut().set_waited_for(is_waited_for);
    }

    /// The engine that the processor runs on.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Sets the registers of one domain, all four at once. Everything prepared from the earlier keys is wiped.
    ///
    /// # Errors
    /// [`LoadError`]; the registers stay as they were.
    pub fn load(&mut self, handout: &Handout) -> Result<(), LoadError> {
        self.load_with_next(handout, &Default::default())
    }

    /// As [`Processor::load`], with keys beside those of the handout that are current soon: the card opens tokens
    /// under them, and wraps none.
    ///
    /// # Errors
    /// [`LoadError`]; the registers stay as they were.
    pub fn load_with_next(&mut self, handout: &Handout, next: &[Vec<u8>; 4]) -> Result<(), LoadError> {
        let index = usize::from(handout.domain);
        if index >= self.domains.len() {
            return Err(LoadError::Domain(handout.domain));
        }
        let loaded = Domain::load(&self.engine, handout).and_then(|(mut domain, patterns)| {
            domain.expect(&self.engine, next)?;
            Ok((domain, patterns))
        });
        let (domain, patterns) =
            loaded.map_err(|wrong| LoadError::KeyLength { register: wrong.register, given: wrong.given })?;
        let of = |register| domain.current(register).ok().map(|key| &key.key[..]);
        let master = of(Register::Sym).or(of(Register::Aes));
        self.counting.get_mut().set_domain(&self.engine, handout.domain, master);
        self.domains[index] = domain;
        self.patterns[index] = patterns;
        Ok(())
    }

    /// Wipes the master keys of every domain and everything prepared from them.
    pub fn zeroize(&mut self) {
        self.domains.iter_mut().for_each(|domain| *domain = Domain::default());
        self.patterns.fill(DomainPatterns::default());
        self.counting.get_mut().forget_domains();
        self.found = None;
    }

    /// The search for the key that the last request of a batch asks to be generated. `None` if the request asks for no
    /// key, or is refused before the search.
    pub fn search(&self, batch: &Batch) -> Option<Search> {
        let request = batch.requests[..batch.len].last()?;
        let mut arguments = Arguments::new(request.verb);
        if self.read(request, &mut arguments).is_some() {
            return None;
        }
        let (mut out, pass) = (Vec::new(), Pass::new(1));
        let mut reply = Reply::new(&arguments, &mut out);
        let call = Call {
            pass: &pass,
            engine: &self.engine,
            random: &self.random,
            arguments: &arguments,
            domain: request.domain,
            tenant: request.tenant,
            points: &request.points,
            patterns: self.patterns.get(usize::from(request.domain))?,
            tokens: self.tokens,
            tables: &self.tables,
            counting: &self.counting,
            count: &Cell::default(),
            records: request.records(),
        };
        let mut verb = verbs::begin(call, &mut reply);
        let begun = verb.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        let (bits, exponent) = pass
            .generate
            .first(|asked| (asked.modulus_bits, asked.exponent.to_vec()))
            .filter(|_| begun.is_pending())?;
        Search::begin(&self.engine, bits, exponent)
    }

    /// Gives the found key to the batch that runs next.
    pub fn provide(&mut self, found: Found) {
        self.found = Some(found);
    }

    /// Wipes every prepared RSA and elliptic-curve key, and the keys under which PINs were verified lately, as a card
    /// does when it is quiesced. The next use of a key prepares it anew.
    pub fn forget_contexts(&mut self) {
        self.domains.iter_mut().for_each(|domain| domain.pka = Default::default());
        self.counting.get_mut().forget_keys();
    }

    /// Verification patterns of a domain's registers; `None` where there is no such domain.
    pub fn patterns(&self, domain: u16) -> Option<&DomainPatterns> {
        self.patterns.get(usize::from(domain))
    }

    /// Registers that have a current key, of every domain.
    pub fn registers(&self) -> HeldRegisters {
        let domains = (0..).zip(&self.patterns);
        domains.fold(HeldRegisters::NONE, |held, (domain, patterns)| held.with(domain, patterns.held()))
    }

    /// Prepared RSA and elliptic-curve keys that a domain holds; `None` where there is no such domain.
    pub fn contexts(&self, domain: u16) -> Option<usize> {
        self.domains.get(usize::from(domain)).map(|domain| domain.pka.len())
    }

    /// Bytes that prepared RSA and elliptic-curve keys of all domains take.
    pub fn prepared_bytes(&self) -> usize {
        self.domains.iter().map(|domain| domain.pka.bytes()).sum()
    }

    /// Whether the private key of a PKA token is prepared, so that its next use neither opens nor checks the token.
    pub fn has_prepared(&self, domain: u16, token: &[u8]) -> bool {
        self.domains.get(usize::from(domain)).is_some_and(|domain| domain.pka.has_private(token))
    }

    /// Runs a batch to its end: every request has its answer afterwards.
    pub fn run(&mut self, batch: &mut Batch) {
        self.run_watched(batch, |_| {});
    }

    /// As [`Processor::run`]; `watch` is told after each step what was done since the one before.
    pub fn run_watched(&mut self, batch: &mut Batch, mut watch: impl FnMut(BatchStep)) {
        self.counting.get_mut().begin_pass();
        let Batch { requests, answers, len } = batch;
        let (requests, answers) = (&requests[..*len], &mut answers[..*len]);
        // Read where they are kept: they are large beside what a short request costs.
        let mut read: Vec<_> = requests.iter().map(|request| Arguments::new(request.verb)).collect();
        let refused: Vec<_> = requests
            .iter()
            .zip(&mut read)
            .map(|(request, arguments)| self.read(request, arguments))
            .collect();
        let mut replies: Vec<_> = read
            .iter()
            .zip(answers.iter_mut())
            .map(|(arguments, answer)| Reply::new(arguments, &mut answer.payload))
            .collect();
        // A verdict that is left at the end stands for a computation that never ended: a fault of its verb.
        let mut verdicts: Vec<Verdict> = requests.iter().map(|_| Err(code::SELF_CHECK.into())).collect();

        let Self { engine, random, domains, patterns, tokens, tables, counting, found, .. } = self;
        let tokens = *tokens;
        let counts: Vec<Cell<Option<Count>>> = vec![Cell::default(); requests.len()];
        let pass = Pass::new(requests.len());
        let mut running: Vec<Option<Computation<'_>>> = Vec::with_capacity(requests.len());
        for (index, (request, reply)) in requests.iter().zip(&mut replies).enumerate() {
            let (arguments, refused) = (&read[index], refused[index]);
            let (domain, points) = (request.domain, &request.points);
            running.push(match (refused, patterns.get(usize::from(domain))) {
                (None, Some(patterns)) => {
                    let records = request.records();
                    let call = Call {
                        pass: &pass,
                        engine,
                        random,
                        arguments,
                        domain,
                        tenant: request.tenant,
                        points,
                        patterns,
                        tokens,
                        tables,
                        counting,
                        count: &counts[index],
                        records,
                    };
                    Some(verbs::begin(call, reply))
                }
                _ => {
                    verdicts[index] = Err(Refusal::Outcome(refused.unwrap_or(Outcome::NotServed)));
                    None
                }
            });
        }
        watch(BatchStep::Read);
        let mut kernel = Kernel { engine, domains, tokens, found };
        drive(&pass, &mut kernel, &mut running, &mut verdicts, &mut watch);
        drop(running);

        let outcomes: Vec<_> = replies.iter_mut().zip(verdicts).map(conclude).collect();
        drop(replies);
        // The request for which the key was searched is answered.
        self.found = None;
        self.trim_contexts();
        for ((answer, outcome), count) in answers.iter_mut().zip(outcomes).zip(counts) {
            (answer.outcome, answer.codes, answer.is_unsound) = outcome;
            answer.count = count.get();
        }
        watch(BatchStep::Answered);
    }

    /// Reads the arguments of a request, and says why it does not run where it cannot; nothing else of
    /// it has been checked yet.
    fn read<'a>(&self, request: &'a Request, arguments: &mut Arguments<'a>) -> Option<Outcome> {
        if usize::from(request.domain) >= self.domains.len() {
            return Some(Outcome::NotServed);
        }
        arguments.set_admitted(request.own_payload(), request.records()).err().map(|_| Outcome::Malformed)
    }
}

/// Completes a reply; returns its outcome, its codes, and whether the card must not be used any more.
fn conclude((reply, verdict): (&mut Reply<'_, '_>, Verdict)) -> (Outcome, Codes, bool) {
    let (outcome, codes) = reply.finish(verdict);
    (outcome, codes, verdict == Err(Refusal::Unsound))
}

/// Polls every computation, runs a pass over what they asked for, and so on until all have ended.
pub(crate) fn drive(
    pass: &Pass<'_>,
    kernel: &mut Kernel<'_>,
    running: &mut [Option<Computation<'_>>],
    verdicts: &mut [Verdict],
    watch: &mut impl FnMut(BatchStep),
) {
    let mut context = Context::from_waker(Waker::noop());
    loop {
        let mut waiting = false;
        for (computation, verdict) in running.iter_mut().zip(verdicts.iter_mut()) {
            let Some(future) = computation else { continue };
            match future.as_mut().poll(&mut context) {
                Poll::Ready(ended) => {
                    *verdict = ended;
                    *computation = None;
                }
                Poll::Pending => waiting = true,
            }
        }
        watch(BatchStep::Computed);
        if !waiting {
            return;
        }
        if pass.is_idle() {
            // What still waits, waits for something that no pass will bring: a fault of a verb, not of its
            // caller. It keeps the verdict that it began with.
            return;
        }
        pass.run(kernel, watch);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::Options;

    #[test]
    fn codes_of_a_failed_self_check_alone_do_not_stop_a_card() {
        let arguments = Arguments::new(wire::Verb::Null);
        let conclude = |verdict| {
            let mut out = Vec::new();
            super::conclude((&mut Reply::new(&arguments, &mut out), verdict))
        };
        let answered = |codes, is_unsound| (Outcome::Answered, codes, is_unsound);
        assert_eq!(conclude(Ok(code::SELF_CHECK)), answered(code::SELF_CHECK, false));
        assert_eq!(conclude(Err(code::SELF_CHECK.into())), answered(code::SELF_CHECK, false));
        assert_eq!(conclude(Err(Refusal::Unsound)), answered(code::SELF_CHECK, true));
        assert_eq!(conclude(Ok(code::OK)), answered(code::OK, false));
        let not_run = conclude(Err(Refusal::Outcome(Outcome::NotServed)));
        assert_eq!(not_run, (Outcome::NotServed, Codes::new(0, 0), false));
    }

    #[test]
    fn a_computation_that_waits_for_nothing_is_ended_and_stops_no_card() {
        let engine = Engine::new(Options::default()).unwrap();
        let pass = Pass::new(3);
        let mut kernel =
            Kernel { engine: &engine, domains: &mut [], tokens: TokenForms::default(), found: &mut None };
        let mut running: Vec<Option<Computation<'_>>> =
            vec![Some(Box::pin(std::future::pending())), None, Some(Box::pin(async { Ok(code::OK) }))];
        let begun: Verdict = Err(code::SELF_CHECK.into());
        let mut verdicts = vec![begun; 3];
        drive(&pass, &mut kernel, &mut running, &mut verdicts, &mut |_| {});
        assert_eq!(verdicts, [begun, begun, Ok(code::OK)]);
    }
}
