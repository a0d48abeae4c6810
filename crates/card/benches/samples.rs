//! What recording costs: nanoseconds of processor time per request, for batches of several make-ups.
//!
//! `cargo bench -p card --bench samples` prints one line per batch. Both sides of a line take turns: noting,
//! answering and writing a batch; and the same loop without any of it. What is recorded is counted.

use card::samples::Sampler;
use link::{SampleSubject, Samples, SamplesView, tsc};
use std::hint::black_box;
use std::os::fd::AsFd;
use std::time::Duration;

/// A make-up of batches.
struct Shape {
    fill: usize,
    tenants: u32,
    verbs: usize,
}

const SHAPES: [Shape; 6] = [
    Shape { fill: 1, tenants: 1, verbs: 1 },
    Shape { fill: 1, tenants: 120, verbs: 4 },
    Shape { fill: 8, tenants: 1, verbs: 1 },
    Shape { fill: 8, tenants: 8, verbs: 2 },
    Shape { fill: 64, tenants: 1, verbs: 1 },
    Shape { fill: 64, tenants: 64, verbs: 4 },
];
const ROUNDS: usize = 41;

fn main() {
    // `cargo test --benches` runs this too, for its checks alone.
    let rounds = if std::env::args().any(|argument| argument == "--bench") { ROUNDS } else { 3 };
    for shape in SHAPES {
        measure(&shape, rounds);
    }
}

fn measure(shape: &Shape, rounds: usize) {
    let fd = Samples::create(1).expect("samples");
    let mut sampler = Sampler::new(Samples::join(fd.as_fd()).expect("samples"));
    let batches = 40_000 / shape.fill;
    let (mut costs, mut serial) = (Vec::new(), 0);
    for _ in 0..rounds {
        let without = cpu_time(|| (0..batches).for_each(|batch| empty(shape, batch)));
        let with = cpu_time(|| {
            for batch in 0..batches {
                record(&mut sampler, shape, batch, &mut serial);
            }
        });
        costs.push((with.as_nanos() as f64 - without.as_nanos() as f64) / (batches * shape.fill) as f64);
    }
    let view = SamplesView::join(fd.as_fd()).expect("samples");
    let requests: u64 = view.rows().into_iter().map(|row| requests(&view, row)).sum();
    assert_eq!(requests, 2 * (rounds * batches * shape.fill) as u64, "in a tenant's row and in a verb's");
    costs.sort_by(f64::total_cmp);
    let at = |share: usize| costs[costs.len() * share / 100];
    println!(
        "fill {:2}, {:3} tenant(s), {} verb(s): median {:5.1} ns a request, middle half {:.1} to {:.1}",
        shape.fill,
        shape.tenants,
        shape.verbs,
        at(50),
        at(25),
        at(75)
    );
}

fn requests(view: &SamplesView, row: SampleSubject) -> u64 {
    view.read(row).expect("a row in use").queue.count()
}

/// Requests of a batch: the tenant, the verb, and how long it waited, which differs from one to the next.
fn request(shape: &Shape, batch: usize, place: usize) -> (u32, usize, u64) {
    let number = batch.wrapping_mul(shape.fill) + place;
    let wait_tsc = (number as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 46;
    (number as u32 % shape.tenants, 10 + number % shape.verbs, wait_tsc)
}

fn empty(shape: &Shape, batch: usize) {
    let begin = tsc();
    for place in 0..shape.fill {
        black_box((request(shape, batch, place), begin));
    }
}

fn record(sampler: &mut Sampler, shape: &Shape, batch: usize, serial: &mut u64) {
    let begin = tsc();
    for place in 0..shape.fill {
        let (tenant, verb, wait_tsc) = black_box(request(shape, batch, place));
        sampler.took(tenant, verb, begin - wait_tsc, 100);
    }
    for place in 0..shape.fill {
        sampler.answered(place, 0, 300);
    }
    *serial += 1;
    let bytes = sampler.passed(begin, begin + 20_000 + *serial % 4096, |place| 1_000 + place as u64);
    black_box(bytes);
}

/// Processor time of this thread.
fn cpu_time(work: impl FnOnce()) -> Duration {
    let now = || {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
        Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
    };
    let begin = now();
    work();
    now() - begin
}
