//! Jobs given to the engine in the caller's thread.
//!
//! A thread's jobs are one batch. Each job has its own key, chaining value and data; ciphers work on their data in
//! place, so that the output of one call is the input of the next, as in the published loops. Before the first call the
//! engine's answers are compared with published vectors. The expected answer of each job is computed another way than
//! the measured one: singly instead of in a batch, by the definition, or by the inverse.

mod batch;
mod ciphers;
mod ecdh;
mod ecdsa;
mod gcm;
mod hashes;
mod macs;
mod rsa;

pub(super) use self::ciphers::CipherJob;
use self::ecdh::EcdhJob;
pub(super) use self::ecdsa::EcdsaJob;
pub(super) use self::gcm::GcmJob;
use self::hashes::HmacJob;
pub(super) use self::hashes::TextJob;
pub(super) use self::macs::MacJob;
pub(super) use self::rsa::{RsaJob, rsa_private_key};
use super::pacing::{Caller, Context, LoadOutcome, Pass, in_threads, run, shares};
use super::{LabError, Workload, known};
use crate::load::operation::{Mode, Operation, RsaForm};
use engine::Engine;

/// Runs a workload of the native interface.
pub(super) fn measure(
    workload: &Workload,
    engine: &Engine,
    context: Context<'_>,
) -> Result<LoadOutcome, LabError> {
    known::check(engine, workload.operation)?;
    let bytes = workload.bytes;
    let way = Way { workload, context };
    match workload.operation {
        Operation::Cipher { cipher, mode: Mode::Gcm, direction } => way.run(
            |job| GcmJob::new(engine, cipher, direction, job, bytes),
            |pass, jobs| way.carry(pass, gcm::caller(workload, engine, direction, jobs)),
        ),
        Operation::Cipher { cipher, mode, direction } => {
            let how = (cipher, engine_mode(mode), direction);
            way.run(
                |job| CipherJob::new(engine, (cipher, mode, direction), job, bytes),
                |pass, mut jobs| match workload.prepared {
                    true => way.carry(pass, ciphers::prepared(workload, engine, how, &mut jobs)),
                    false => way.carry(pass, ciphers::raw(workload, engine, how, jobs)),
                },
            )
        }
        Operation::Mac(mac) => way.run(
            |job| MacJob::new(engine, mac, job, bytes),
            |pass, jobs| way.carry(pass, macs::caller(workload, engine, mac, &jobs)),
        ),
        Operation::Hash(hash) => way.run(
            |job| TextJob::hash(engine, hash, job, bytes),
            |pass, jobs| way.carry(pass, hashes::hash(workload, engine, hash, &jobs)),
        ),
        Operation::Hmac(hash) => way.run(
            |job| HmacJob::new(engine, hash, job, bytes),
            |pass, jobs| way.carry(pass, hashes::hmac(workload, engine, &jobs)),
        ),
        Operation::Rsa { bits, form } => way.run(
            |job| RsaJob::new(bits, form, job),
            |pass, mut jobs| match form {
                RsaForm::Public => way.carry(pass, rsa::public(workload, engine, &mut jobs)),
                _ => way.carry(pass, rsa::private(workload, engine, &mut jobs)),
            },
        ),
        Operation::EcdsaP256Sign => {
            way.run(EcdsaJob::new, |pass, jobs| way.carry(pass, ecdsa::sign(workload, engine, &jobs)))
        }
        Operation::EcdhP256 => {
            way.run(|_| EcdhJob::new(), |pass, jobs| way.carry(pass, ecdh::agree(workload, &jobs)))
        }
        Operation::Verb { .. } | Operation::Payment(_) | Operation::KeyGenerate2Opex => {
            Err(super::Refusal::NeedsCard(workload.operation).into())
        }
    }
}

/// A workload with the state that its threads need.
#[derive(Clone, Copy)]
struct Way<'a> {
    workload: &'a Workload,
    context: Context<'a>,
}

impl Way<'_> {
    /// Makes each thread's jobs and runs them.
    fn run<J: Send>(
        &self,
        job: impl Fn(usize) -> Result<J, String>,
        carry: impl Fn(Pass<'_>, Vec<J>) -> Result<LoadOutcome, LabError> + Sync,
    ) -> Result<LoadOutcome, LabError> {
        let refused = refused(self.workload.operation);
        let jobs = shares(self.workload).into_iter();
        let jobs = jobs.map(|share| share.map(&job).collect::<Result<Vec<J>, _>>().map_err(refused));
        in_threads(self.context, jobs.collect::<Result<_, _>>()?, carry)
    }

    fn carry(&self, pass: Pass<'_>, caller: impl Caller) -> Result<LoadOutcome, LabError> {
        run(pass, self.workload, caller, self.context)
    }
}

/// The engine's mode for a cipher mode; CTR for GCM, which has an interface of its own.
pub(super) const fn engine_mode(mode: Mode) -> engine::Mode {
    match mode {
        Mode::Ecb => engine::Mode::Ecb,
        Mode::Cbc => engine::Mode::Cbc,
        Mode::Ctr | Mode::Gcm => engine::Mode::Ctr,
    }
}

/// Makes an error of the lab of the engine's error text.
pub(super) fn refused(operation: Operation) -> impl Fn(String) -> LabError + Copy {
    move |cause| LabError::Engine { operation, cause }
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

/// Compares an answer with the expected one.
pub(super) fn expect(workload: &Workload, job: usize, got: &[u8], expected: &[u8]) -> Result<(), LabError> {
    if got == expected {
        Ok(())
    } else {
        let what = "the answer is not what it must be";
        Err(LabError::WrongAnswer { operation: workload.operation, job, what })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::operation::{Cipher, Direction, Hash, Mac};
    use engine::{CipherAlgorithm, CipherDirection, Curve, EcPrivateKey};
    use std::sync::atomic::AtomicBool;

    fn engine() -> Engine {
        Engine::new(engine::Options { weak_algorithms: true, ..Default::default() }).unwrap()
    }

    fn workload(operation: Operation) -> Workload {
        let bytes = if operation.takes_bytes() { 48 } else { 0 };
        Workload { bytes, seconds: 0.002, ..Workload::of(operation) }
    }

    #[test]
    fn every_operation_runs_and_its_answers_are_compared() {
        let (engine, stop) = (engine(), AtomicBool::new(false));
        let context = Context { stop: &stop, others: &|| (0.0, 0.0), window: None };
        for operation in Operation::all() {
            if operation.needs_card() {
                continue;
            }
            // Keys of 4096 bits are slow to work with: one thread of one job is enough for them.
            let large = matches!(operation, Operation::Rsa { bits: 4096, .. });
            for (jobs, processors, prepared) in [(1, 1, false), (3, 2, false), (3, 1, true)] {
                let workload = Workload { jobs, processors, prepared, ..workload(operation) };
                if large && jobs > 1 {
                    continue;
                }
                workload.check().unwrap();
                let outcome = measure(&workload, &engine, context)
                    .unwrap_or_else(|error| panic!("{} {jobs}: {error}", workload.case()));
                assert!(outcome.operations >= jobs as u64, "{operation}");
                assert!(outcome.answers_compared >= jobs as u64, "{operation}");
                assert!(outcome.ops_per_s > 0.0 && !outcome.latency_ns.is_empty(), "{operation}");
            }
        }
    }

    #[test]
    fn an_open_loop_runs_natively() {
        let operation = "aes128-cbc-encipher".parse().unwrap();
        let workload = Workload { rate: Some(5000.0), seconds: 0.01, jobs: 2, ..workload(operation) };
        let outcome = {
            let context = Context { stop: &AtomicBool::new(false), others: &|| (0.0, 0.0), window: None };
            measure(&workload, &engine(), context)
        }
        .unwrap();
        assert_eq!(outcome.operations, 50);
    }

    #[test]
    fn a_wrong_answer_is_found() {
        let (engine, stop) = (engine(), AtomicBool::new(false));
        let context = Context { stop: &stop, others: &|| (0.0, 0.0), window: None };
        let wrong = |result: Result<LoadOutcome, LabError>| {
            assert!(matches!(result, Err(LabError::WrongAnswer { .. })), "{:?}", result.err());
        };
        let cipher = (Cipher::Aes128, Mode::Cbc, Direction::Encipher);
        let job = || CipherJob::new(&engine, cipher, 0, 48).unwrap();
        let spoiled = || {
            let mut job = job();
            job.expected[47] ^= 1;
            vec![job]
        };
        let load = workload("aes128-cbc-encipher".parse().unwrap());
        let how = (CipherAlgorithm::Aes128, engine::Mode::Cbc, CipherDirection::Encipher);
        let way = Way { workload: &load, context };
        wrong(way.run(
            |_| Ok(spoiled()),
            |pass, jobs| {
                let [jobs]: [Vec<CipherJob>; 1] = jobs.try_into().ok().unwrap();
                way.carry(pass, ciphers::raw(&load, &engine, how, jobs))
            },
        ));
        wrong(way.run(
            |_| Ok(spoiled()),
            |pass, mut jobs| way.carry(pass, ciphers::prepared(&load, &engine, how, &mut jobs[0])),
        ));
        way.run(|_| Ok(job()), |pass, jobs| way.carry(pass, ciphers::raw(&load, &engine, how, jobs)))
            .unwrap();
        let rsa = |_| {
            let mut job = RsaJob::new(512, RsaForm::Crt, 0)?;
            job.expected[0] ^= 1;
            Ok(job)
        };
        wrong(way.run(rsa, |pass, mut jobs| way.carry(pass, rsa::private(&load, &engine, &mut jobs))));
        let text = |_| {
            let mut job = TextJob::hash(&engine, Hash::Sha256, 0, 48)?;
            job.expected[0] ^= 1;
            Ok(job)
        };
        wrong(way.run(text, |pass, jobs| way.carry(pass, hashes::hash(&load, &engine, Hash::Sha256, &jobs))));
        for prepared in [false, true] {
            let load = Workload { prepared, ..load.clone() };
            let mac = |_| {
                let mut job = MacJob::new(&engine, Mac::X919, 0, 48)?;
                job.expected[7] ^= 1;
                Ok(job)
            };
            wrong(way.run(mac, |pass, jobs| way.carry(pass, macs::caller(&load, &engine, Mac::X919, &jobs))));
        }
        let ecdsa = |_| {
            let public = EcPrivateKey::generate(Curve::P256).unwrap().public_key().unwrap();
            Ok(EcdsaJob { public, ..EcdsaJob::new(0)? })
        };
        wrong(way.run(ecdsa, |pass, jobs| way.carry(pass, ecdsa::sign(&load, &engine, &jobs))));
    }
}
