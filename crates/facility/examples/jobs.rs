//! What many requests in flight from one thread cost beside the engine: `jobs HOME cards|caller [JOBS...]`.
//!
//! The home needs a running daemon with accelerators. RSA-2048 private operations, round by round: the
//! facility (through cards only, or with requests that may run in the caller), the engine in one batch on
//! one thread, and the engine on two threads. Prints medians, the ratio to the better engine, and the
//! processor time of this process for each operation.

use engine::{Engine, Options as EngineOptions, RsaPrivateItem, RsaPrivateKey};
use facility::{Facility, Options, Reply, Ticket};
use std::time::{Duration, Instant};
use token::pka::{Attributes, ClearKey, Form, clear_token};
use wire::verb::{Filled, TypedAsk, TypedGot, clear_rsa_private as rsa};

const ROUND: Duration = Duration::from_millis(200);
const ROUNDS: usize = 7;
const BYTES: usize = 256;

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    let mut given = std::env::args().skip(1);
    let (Some(home), Some(way)) = (given.next(), given.next()) else {
        return Err("usage: jobs HOME cards|caller [JOBS...]".into());
    };
    let mut jobs: Vec<usize> = given.map(|jobs| jobs.parse()).collect::<Result<_, _>>()?;
    if jobs.is_empty() {
        jobs = vec![1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96];
    }
    let engine = Engine::new(EngineOptions { limit: None, weak_algorithms: false })?;
    let options = Options { in_caller: way == "caller", ..Options::default() };
    let facility = Facility::open(home.as_ref(), options)?;
    let keys: Vec<RsaPrivateKey> = (0..*jobs.iter().max().unwrap_or(&1))
        .map(|_| engine.rsa_generate(2048, &[1, 0, 1]))
        .collect::<Result<_, _>>()?;
    let tokens: Vec<Vec<u8>> = keys.iter().map(token_of).collect::<Result<_, _>>()?;
    println!("jobs  facility/s  engine/s (1 thread, 2 threads)  ratio  us of this process");
    for jobs in jobs {
        let mut rounds = [const { Vec::new() }; 4];
        for _ in 0..ROUNDS {
            let before = cpu();
            let (rate, done) = through(&facility, &tokens[..jobs])?;
            rounds[3].push((cpu() - before) * 1e6 / done as f64);
            rounds[0].push(rate);
            rounds[1].push(alone(&engine, &keys[..jobs], 1));
            rounds[2].push(alone(&engine, &keys[..jobs], 2));
        }
        let [ours, one, two, us] = rounds.map(|mut rates| {
            rates.sort_by(f64::total_cmp);
            rates[ROUNDS / 2]
        });
        println!("{jobs:4}  {ours:10.0}  {one:8.0} {two:8.0}  {:.3}  {us:.1}", ours / one.max(two));
    }
    Ok(())
}

fn token_of(key: &RsaPrivateKey) -> Result<Vec<u8>, Failure> {
    let (n, e) = (key.n(), key.e());
    let parts = [key.p(), key.q(), key.dp(), key.dq(), key.qinv()];
    let [Some(p), Some(q), Some(dp), Some(dq), Some(u)] = parts else { return Err("no CRT form".into()) };
    let components = token::pka::CrtComponents { p: &p, q: &q, dp: &dp, dq: &dq, u: &u };
    let key = ClearKey::Crt { n: &n, e: &e, components };
    Ok(clear_token(Form::Crt, &key, &Attributes::default(), &(engine::sha1, engine::sha256))?.to_vec())
}

fn through(facility: &Facility, tokens: &[Vec<u8>]) -> Result<(f64, u64), Failure> {
    let input = [7; BYTES];
    let asked = tokens.iter().map(|key| rsa::Ask { key, data: &input, result: BYTES, ..rsa::Ask::new() });
    let asked: Vec<_> = asked.collect();
    let (mut reply, mut filled) = (Reply::new(), Filled::default());
    let begun = asked.iter().map(|ask| facility.submit(0, &ask.arguments(&mut filled)));
    let mut tickets: Vec<Ticket> = begun.collect::<Result<_, _>>()?;
    let (mut begin, mut warm, mut done) = (Instant::now(), true, 0);
    while let Some(first) = Ticket::wait_any(&mut tickets) {
        for index in (first..tickets.len()).chain(0..first) {
            if index != first && !tickets[index].is_done() {
                continue;
            }
            let Some(result) = tickets[index].try_wait_into(&mut reply) else { continue };
            result?;
            assert_eq!(rsa::Got::of(&reply.arguments()).result.len(), BYTES, "{:?}", reply.codes());
            done += 1;
            if begin.elapsed() < ROUND {
                facility.submit_into(&mut tickets[index], 0, &asked[index].arguments(&mut filled))?;
            }
        }
        if warm && begin.elapsed() > ROUND / 10 {
            (warm, begin, done) = (false, Instant::now(), 0);
        }
    }
    Ok((done as f64 / begin.elapsed().as_secs_f64(), done))
}

fn alone(engine: &Engine, keys: &[RsaPrivateKey], threads: usize) -> f64 {
    let mut rates = vec![0.0; threads];
    std::thread::scope(|scope| {
        let share = keys.len().div_ceil(threads);
        for (rate, keys) in rates.iter_mut().zip(keys.chunks(share)) {
            scope.spawn(move || {
                let input = [7; BYTES];
                let mut outputs = vec![[0; BYTES]; keys.len()];
                let (begin, mut done) = (Instant::now(), 0);
                while begin.elapsed() < ROUND {
                    let mut items: Vec<_> = keys
                        .iter()
                        .zip(&mut outputs)
                        .map(|(key, output)| RsaPrivateItem::new(key, &input, output))
                        .collect();
                    engine.rsa_private_batch(&mut items);
                    done += items.len();
                }
                *rate = done as f64 / begin.elapsed().as_secs_f64();
            });
        }
    });
    rates.iter().sum()
}

/// Processor time of this process in seconds.
fn cpu() -> f64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    now.tv_sec as f64 + now.tv_nsec as f64 / 1e9
}
