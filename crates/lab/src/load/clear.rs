//! Clear-key calls of the facility, as a program makes them: key bytes, keywords and vectors come with each call.
//!
//! A thread's jobs are called in turn.

use super::native::{CipherJob, MacJob, TextJob, expect, refused};
use super::pacing::{Caller, Context, InTurn, LoadOutcome, in_threads, run, shares};
use super::{LabError, Refusal, Workload, keys, known};
use crate::load::operation::{Direction, Mac, Mode, Operation, is_aes};
use engine::Engine;
use facility::clear::{Clear, ClearError, ClearKey};

/// Runs a workload of the facility's clear-key calls.
pub(super) fn measure(
    workload: &Workload,
    engine: &Engine,
    context: Context<'_>,
) -> Result<LoadOutcome, LabError> {
    known::check(engine, workload.operation)?;
    let clear = Clear::new(*engine);
    let threads = shares(workload).into_iter().map(|share| {
        let first = share.start;
        let jobs = share.map(|job| Job::new(workload, engine, job));
        Ok((first, jobs.collect::<Result<Vec<_>, LabError>>()?))
    });
    in_threads(context, threads.collect::<Result<Vec<_>, LabError>>()?, |pass, (first, jobs)| {
        run(pass, workload, in_turn(workload, &clear, first, jobs), context)
    })
}

/// Jobs called in turn.
fn in_turn<'a>(workload: &'a Workload, clear: &'a Clear, first: usize, jobs: Vec<Job>) -> impl Caller + 'a {
    let call = move |number: usize, job: &mut Job, is_compared| {
        if is_compared {
            job.out.fill(0);
        }
        job.call(clear).map_err(|error| refused(workload.operation)(error.to_string()))?;
        if is_compared { expect(workload, number, &job.out, &job.expected) } else { Ok(()) }
    };
    InTurn { jobs, first, turn: 0, is_far: false, call }
}

/// The function of the facility that a job calls.
#[derive(Clone, Copy)]
enum Function {
    Encipher,
    Decipher,
    Mac,
    Hash,
    Hmac,
}

struct Job {
    function: Function,
    rules: Vec<u8>,
    key: Vec<u8>,
    iv: Vec<u8>,
    text: Vec<u8>,
    expected: Vec<u8>,
    chain: [u8; 16],
    out: Vec<u8>,
}

impl Job {
    fn new(workload: &Workload, engine: &Engine, job: usize) -> Result<Self, LabError> {
        let refused = refused(workload.operation);
        let bytes = workload.bytes;
        let (function, rules, key, iv, text, expected) = match workload.operation {
            Operation::Cipher { cipher, mode, direction } if mode != Mode::Gcm => {
                let made = CipherJob::new(engine, (cipher, mode, direction), job, bytes).map_err(refused)?;
                let function =
                    if direction == Direction::Encipher { Function::Encipher } else { Function::Decipher };
                let algorithm = if is_aes(cipher) { "AES" } else { "DES" };
                let mode = match mode {
                    Mode::Ecb => "ECB",
                    Mode::Ctr => "CTR",
                    Mode::Cbc | Mode::Gcm => "CBC",
                };
                let rules = [algorithm, mode, "KEY-CLR", "INITIAL"];
                (function, words(&rules), made.key, made.iv, made.input, made.expected)
            }
            Operation::Mac(mac) => {
                let made = MacJob::new(engine, mac, job, bytes).map_err(refused)?;
                let rules: &[&str] = match mac {
                    Mac::X99 => &["X9.9-1", "ONLY", "MACLEN8"],
                    Mac::X919 => &["X9.19OPT", "ONLY", "MACLEN8"],
                    _ => &["CMAC", "AES", "ONLY", "MACLEN16"],
                };
                (Function::Mac, words(rules), made.key, Vec::new(), made.data, made.expected)
            }
            Operation::Hash(hash) => {
                let made = TextJob::hash(engine, hash, job, bytes).map_err(refused)?;
                (Function::Hash, words(&[hash.name()]), Vec::new(), Vec::new(), made.data, made.expected)
            }
            Operation::Hmac(hash) => {
                let key = keys::test_bytes(0x43AC, job, 20);
                let made = TextJob::hmac(engine, hash, &key, job, bytes).map_err(refused)?;
                (Function::Hmac, words(&[hash.name()]), key, Vec::new(), made.data, made.expected)
            }
            operation => return Err(Refusal::Facility(operation).into()),
        };
        let out = vec![0; expected.len()];
        Ok(Self { function, rules, key, iv, text, expected, chain: [0; 16], out })
    }

    #[inline]
    fn call(&mut self, clear: &Clear) -> Result<usize, ClearError> {
        let Self { function, rules, key, iv, text, chain, out, .. } = self;
        match function {
            Function::Encipher => clear.encipher(rules, ClearKey::Bytes(key), iv, chain, text, out),
            Function::Decipher => clear.decipher(rules, ClearKey::Bytes(key), iv, chain, text, out),
            Function::Mac => clear.mac(rules, ClearKey::Bytes(key), chain, text, out),
            Function::Hash => clear.hash(rules, text, out),
            Function::Hmac => clear.hmac(rules, key, text, out),
        }
    }
}

/// Keywords as a keyword array.
fn words(words: &[&str]) -> Vec<u8> {
    words.iter().flat_map(|word| format!("{word:8}").into_bytes()).collect()
}

#[cfg(test)]
mod tests {
    use super::super::Interface;
    use super::*;
    use std::sync::atomic::AtomicBool;

    fn engine() -> Engine {
        Engine::new(engine::Options { weak_algorithms: true, ..Default::default() }).unwrap()
    }

    fn workload(operation: Operation) -> Workload {
        let interface = Interface::Facility;
        Workload { bytes: 48, seconds: 0.001, interface, ..Workload::of(operation) }
    }

    fn alone(
        workload: &Workload,
        caller: impl Caller + Send,
        context: Context<'_>,
    ) -> Result<LoadOutcome, LabError> {
        in_threads(context, vec![caller], |pass, caller| run(pass, workload, caller, context))
    }

    #[test]
    fn every_clear_call_runs_and_its_answers_are_compared() {
        let (engine, stop) = (engine(), AtomicBool::new(false));
        let context = Context { stop: &stop, others: &|| (0.0, 0.0), window: None };
        let mut served = 0;
        for operation in Operation::all() {
            let is_gcm = matches!(operation, Operation::Cipher { mode: Mode::Gcm, .. });
            if is_gcm || !operation.takes_bytes() || operation.needs_card() {
                continue;
            }
            for (jobs, processors) in [(1, 1), (3, 2)] {
                let workload = Workload { jobs, processors, ..workload(operation) };
                let outcome = measure(&workload, &engine, context)
                    .unwrap_or_else(|error| panic!("{}: {error}", workload.case()));
                assert!(outcome.operations > 0 && outcome.answers_compared > 0, "{operation}");
            }
            served += 1;
        }
        assert_eq!(served, 30 + 3 + 9 + 2);
    }

    #[test]
    fn a_wrong_answer_is_found_and_what_is_not_served_refused() {
        let (engine, stop) = (engine(), AtomicBool::new(false));
        let context = Context { stop: &stop, others: &|| (0.0, 0.0), window: None };
        let load = workload("tdes-mac".parse().unwrap());
        let mut job = Job::new(&load, &engine, 0).unwrap();
        job.expected[0] ^= 1;
        let clear = Clear::new(engine);
        let caller = in_turn(&load, &clear, 0, vec![job]);
        assert!(matches!(alone(&load, caller, context), Err(LabError::WrongAnswer { .. })));
        for name in ["aes128-gcm-encipher", "ecdsa-p256-sign", "ecdh-p256"] {
            let result = measure(&workload(name.parse().unwrap()), &engine, context);
            assert!(matches!(result, Err(LabError::Refused(Refusal::Facility(_)))), "{name}");
        }
    }
}
