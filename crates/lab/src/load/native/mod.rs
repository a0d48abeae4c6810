//! Jobs given to the engine in the caller's thread.
//!
//! A thread's jobs are one batch. Each job has its own key, chaining value and data; ciphers work on
//! their data in place, so that the output of one call is the input of the next, as in the published
//! loops. Before the first call the engine's answers are held against published vectors, and what
//! each job must give is worked out another way than the one that is measured (singly instead of in a batch,
//! by the definition, by the inverse).

mod algorithms;
mod ciphers;
mod ecdsa;
mod gcm;
mod hashes;
mod macs;
mod rsa;

pub(super) use self::algorithms::{algorithm, engine_direction, engine_mode, hash_algorithm, mac_algorithm};
pub(super) use self::ciphers::CipherJob;
use self::ciphers::{CipherBatch, CipherRaw};
use self::ecdsa::{EcdsaCaller, EcdsaJob};
use self::gcm::GcmCaller;
pub(super) use self::gcm::GcmJob;
pub(super) use self::hashes::TextJob;
use self::hashes::{HashCaller, HmacCaller, HmacJob};
use self::macs::MacCaller;
pub(super) use self::macs::MacJob;
pub(super) use self::rsa::{RsaJob, rsa_private_key};
use self::rsa::{RsaPrivateCaller, RsaPublicCaller};
use super::pacing::{Context, Outcome, in_threads, run, shares};
use super::{LabError, Workload, known};
use crate::load::operation::{Mode, Operation, RsaForm};
use engine::{EcdsaSignItem, Engine, HashItem, HmacItem, MacItem};

/// Runs a workload of the native interface.
pub(super) fn measure(
    workload: &Workload,
    engine: &Engine,
    context: Context<'_>,
) -> Result<Outcome, LabError> {
    known::check(engine, workload.operation)?;
    let shares = shares(workload);
    let (bytes, prepared) = (workload.bytes, workload.prepared);
    let refused = refused(workload.operation);
    match workload.operation {
        Operation::Cipher { cipher, mode: Mode::Gcm, direction } => {
            let jobs =
                make(shares, |job| GcmJob::new(engine, cipher, direction, job, bytes).map_err(refused))?;
            in_threads(context, jobs, |pass, mut jobs| {
                run(pass, workload, GcmCaller { workload, engine, direction, jobs: &mut jobs }, context)
            })
        }
        Operation::Cipher { cipher, mode, direction } => {
            let jobs = make(shares, |job| {
                CipherJob::new(engine, (cipher, mode, direction), job, bytes).map_err(refused)
            })?;
            in_threads(context, jobs, |pass, mut jobs| {
                let how = (algorithm(cipher), engine_mode(mode), engine_direction(direction));
                if prepared {
                    run(pass, workload, CipherBatch::new(workload, engine, how, &mut jobs), context)
                } else {
                    run(pass, workload, CipherRaw { workload, engine, how, jobs: &mut jobs }, context)
                }
            })
        }
        Operation::Mac(mac) => {
            let jobs = make(shares, |job| MacJob::new(engine, mac, job, bytes).map_err(refused))?;
            in_threads(context, jobs, |pass, jobs| {
                let items = jobs.iter().map(|job| MacItem::new(&job.prepared, &job.data)).collect();
                run(
                    pass,
                    workload,
                    MacCaller { workload, engine, mac, jobs: &jobs, items, prepared },
                    context,
                )
            })
        }
        Operation::Hash(hash) => {
            let jobs = make(shares, |job| TextJob::hash(engine, hash, job, bytes).map_err(refused))?;
            in_threads(context, jobs, |pass, jobs| {
                let items = jobs.iter().map(|job| HashItem::new(&job.data)).collect();
                run(pass, workload, HashCaller { workload, engine, hash, jobs: &jobs, items }, context)
            })
        }
        Operation::Hmac(hash) => {
            let jobs = make(shares, |job| HmacJob::new(engine, hash, job, bytes).map_err(refused))?;
            in_threads(context, jobs, |pass, jobs| {
                let items = jobs.iter().map(|job| HmacItem::new(&job.prepared, &job.text.data)).collect();
                run(pass, workload, HmacCaller { workload, engine, jobs: &jobs, items, prepared }, context)
            })
        }
        Operation::Rsa { bits, form: RsaForm::Public } => {
            let jobs = make(shares, |job| RsaJob::new(bits, RsaForm::Public, job).map_err(refused))?;
            in_threads(context, jobs, |pass, mut jobs| {
                run(pass, workload, RsaPublicCaller::new(workload, engine, &mut jobs), context)
            })
        }
        Operation::Rsa { bits, form } => {
            let jobs = make(shares, |job| RsaJob::new(bits, form, job).map_err(refused))?;
            in_threads(context, jobs, |pass, mut jobs| {
                run(pass, workload, RsaPrivateCaller::new(workload, engine, &mut jobs), context)
            })
        }
        Operation::EcdsaP256Sign => {
            let jobs = make(shares, |job| EcdsaJob::new(job).map_err(refused))?;
            in_threads(context, jobs, |pass, jobs| {
                let items = jobs.iter().map(|job| EcdsaSignItem::new(&job.private, &job.digest)).collect();
                run(pass, workload, EcdsaCaller { workload, engine, jobs: &jobs, items }, context)
            })
        }
        Operation::Verb { .. } => Err(super::Refusal::NeedsCard(workload.operation).into()),
    }
}

/// What the engine said, as an error of the lab.
pub(super) fn refused(operation: Operation) -> impl Fn(String) -> LabError + Copy {
    move |cause| LabError::Engine { operation, cause }
}

fn make<J>(
    shares: Vec<std::ops::Range<usize>>,
    job: impl Fn(usize) -> Result<J, LabError>,
) -> Result<Vec<Vec<J>>, LabError> {
    shares.into_iter().map(|share| share.map(&job).collect()).collect()
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

/// Makes an error of an item's result.
fn went<E: std::fmt::Display>(workload: &Workload, result: Result<(), E>) -> Result<(), LabError> {
    result.map_err(|error| LabError::Engine { operation: workload.operation, cause: error.to_string() })
}

/// Compares an answer with what it must be.
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
    use super::super::pacing::Caller;
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

    fn alone(
        workload: &Workload,
        caller: impl Caller + Send,
        context: Context<'_>,
    ) -> Result<Outcome, LabError> {
        in_threads(context, vec![caller], |pass, caller| run(pass, workload, caller, context))
    }

    #[test]
    fn every_operation_runs_and_its_answers_are_compared() {
        let (engine, stop) = (engine(), AtomicBool::new(false));
        let context = Context { stop: &stop, others: &|| (0.0, 0.0) };
        for operation in Operation::all() {
            if matches!(operation, Operation::Verb { .. }) {
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
            let context = Context { stop: &AtomicBool::new(false), others: &|| (0.0, 0.0) };
            measure(&workload, &engine(), context)
        }
        .unwrap();
        assert_eq!(outcome.operations, 50);
    }

    #[test]
    fn a_wrong_answer_is_found() {
        let (engine, stop) = (engine(), AtomicBool::new(false));
        let context = Context { stop: &stop, others: &|| (0.0, 0.0) };
        let wrong = |result: Result<Outcome, LabError>| {
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
        wrong(alone(
            &load,
            CipherRaw { workload: &load, engine: &engine, how, jobs: &mut spoiled() },
            context,
        ));
        wrong(alone(&load, CipherBatch::new(&load, &engine, how, &mut spoiled()), context));
        alone(&load, CipherRaw { workload: &load, engine: &engine, how, jobs: &mut [job()] }, context)
            .unwrap();

        let mut job = RsaJob::new(512, RsaForm::Crt, 0).unwrap();
        job.expected[0] ^= 1;
        wrong(alone(&load, RsaPrivateCaller::new(&load, &engine, &mut [job]), context));

        let mut job = TextJob::hash(&engine, Hash::Sha256, 0, 48).unwrap();
        job.expected[0] ^= 1;
        let jobs = [job];
        let items = vec![HashItem::new(&jobs[0].data)];
        let hash = Hash::Sha256;
        wrong(alone(
            &load,
            HashCaller { workload: &load, engine: &engine, hash, jobs: &jobs, items },
            context,
        ));

        let mut job = MacJob::new(&engine, Mac::Tdes, 0, 48).unwrap();
        job.expected[7] ^= 1;
        let jobs = [job];
        for prepared in [false, true] {
            let items = vec![MacItem::new(&jobs[0].prepared, &jobs[0].data)];
            let mac = Mac::Tdes;
            let caller = MacCaller { workload: &load, engine: &engine, mac, jobs: &jobs, items, prepared };
            wrong(alone(&load, caller, context));
        }

        let mut job = EcdsaJob::new(0).unwrap();
        job.public = EcPrivateKey::generate(Curve::P256).unwrap().public_key().unwrap();
        let jobs = [job];
        let items = vec![EcdsaSignItem::new(&jobs[0].private, &jobs[0].digest)];
        wrong(alone(&load, EcdsaCaller { workload: &load, engine: &engine, jobs: &jobs, items }, context));
    }
}
