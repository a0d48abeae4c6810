//! A tenant's MACs on one card beside a hostile tenant: the rest of its share, the time within which 99 of 100 requests
//! are answered, and the time that an administrator waits for the daemon meanwhile.
//!
//! A hostile tenant costs something behind any walls: its requests are served in turn with the others', and its
//! program computes. So each row is compared with an honest neighbour that asks as much of the card, or with a program
//! that only computes if the attack asks nothing of the card. The difference is the harm.

use super::tenants::house;
use super::{Effort, cards_only, in_turn, of_rounds};
use crate::cards::{bound, own};
use crate::experiment::promise::{Measure, Promise};
use crate::load::operation::{Mac, Operation, RsaForm};
use crate::load::target::{Needs, Target};
use crate::load::{LabError, Load, Workload};
use facility::{Facility, Ticket};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use wire::tenant::Limits;
use wire::verb::{Filled, TypedAsk, Verb, mac_generate, null};

/// Bytes of a MAC's text, of the tenant under attack.
const MAC_BYTES: usize = 64;
const QUIET_JOBS: usize = 8;
/// Requests that the hostile tenant has in flight.
const HOSTILE_JOBS: usize = 32;
/// Key generations that the hostile tenant has in flight: each takes many times as long as a MAC.
const GENERATIONS: usize = 8;
/// Connections that the hostile tenant opens before it closes them.
const CONNECTIONS: usize = 64;
/// Time between two questions of the administrator.
const ASKS_EVERY: Duration = Duration::from_millis(20);
const ROUNDS_MAX: usize = 5;
/// The bound of a neighbour's times beside generations.
const STEP: &str = "how long one step of a generation keeps the card";

/// The load of the second tenant: an attack, or what an attack is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Beside {
    /// MACs like those of the tenant under attack.
    Macs,
    /// Generations of RSA keys of this many bits.
    Generations(u32),
    /// Requests that are refused: MACs under an invalid key.
    Refused,
    /// A loop that attaches, calls once, and detaches.
    Attaches,
    /// A loop that connects, sends nothing, and closes.
    Connections,
    /// Computation only, without the home.
    Computing,
}

/// The figures of a round.
#[derive(Clone, Copy, Debug)]
struct Round {
    /// MACs a second.
    rate: f64,
    /// The 99th percentile of the MACs' times, in microseconds.
    p99_us: f64,
    /// The longest time until an administrator was answered, in milliseconds.
    answered_ms: f64,
}

/// A home with one card, a quiet tenant and a hostile one.
struct SharedCard {
    target: Target,
    quiet: Facility,
    hostile: Facility,
    administrator: Facility,
    /// The options with which the hostile tenant's program opens the home.
    options: facility::Options,
}

/// Rows of every attack, beside its comparison.
pub(super) fn neighbours(effort: Effort, stop: &Arc<AtomicBool>) -> Result<Vec<Measure>, LabError> {
    let effort = effort.at_most(ROUNDS_MAX);
    let mut rows = Vec::new();
    for (attack, peer, what, bound_by) in [
        (Beside::Generations(2048), Beside::Macs, "RSA-2048 key generations", STEP),
        (Beside::Generations(4096), Beside::Macs, "RSA-4096 key generations", STEP),
        (Beside::Refused, Beside::Macs, "refused requests", "a refusal costs the card a take and an answer"),
        (
            Beside::Attaches,
            Beside::Computing,
            "attaches",
            "the daemon's processor time, and orders that the card obeys",
        ),
        (Beside::Connections, Beside::Computing, "connections", "the daemon's processor time"),
    ] {
        let mut card = SharedCard::new(stop)?;
        let rounds =
            in_turn(effort.rounds, |is_first| card.round(effort, if is_first { attack } else { peer }))?;
        let beside =
            if peer == Beside::Macs { "as many MACs of a neighbour's" } else { "a program that computes" };
        let of = |figure: fn(&Round) -> f64| -> Vec<(f64, f64)> {
            rounds.iter().map(|(ours, theirs)| (figure(ours), figure(theirs))).collect()
        };
        let case = format!("{QUIET_JOBS} MACs of {MAC_BYTES} B beside a tenant's {what}, one card");
        let share = of_rounds(&case, "ops/s", beside, &of(|round| round.rate), Promise::RatioAtLeast(0.9));
        rows.push(share.bounded_by(bound_by));
        let p99: Vec<f64> = rounds.iter().map(|(ours, _)| ours.p99_us).collect();
        let row = Measure::alone(&format!("{case}: p99"), "us", &p99, Some(Promise::Below(1000.0)));
        rows.push(row.beside(beside, crate::kit::statistics::median(&column(&rounds, |round| round.p99_us))));
        let answered: Vec<f64> = rounds.iter().map(|(ours, _)| ours.answered_ms).collect();
        let case = format!("an administrator's longest wait beside {what}");
        let row = Measure::alone(&case, "ms", &answered, Some(Promise::Below(100.0)));
        rows.push(
            row.beside(beside, crate::kit::statistics::median(&column(&rounds, |round| round.answered_ms))),
        );
    }
    Ok(rows)
}

/// A figure of the peer's rounds.
fn column(rounds: &[(Round, Round)], figure: fn(&Round) -> f64) -> Vec<f64> {
    rounds.iter().map(|(_, theirs)| figure(theirs)).collect()
}

impl SharedCard {
    fn new(stop: &Arc<AtomicBool>) -> Result<Self, LabError> {
        let needs = Needs { processor: own(1), ..Needs::default() };
        let (target, ways) = house(&needs, &[Limits::default(); 2], stop)?;
        let [quiet, hostile] = ways.try_into().map_err(|_| LabError::Interrupted)?;
        let administrator = target.open_again(facility::Options::default())?;
        // The second tenant of the home is the hostile one.
        let options = target.options_as("guest-2", cards_only());
        Ok(Self { target, quiet, hostile, administrator, options })
    }

    fn round(&mut self, effort: Effort, beside: Beside) -> Result<Round, LabError> {
        let Self { target, quiet, hostile, administrator, options } = self;
        let macs = |jobs| Workload { bytes: MAC_BYTES, ..effort.work(Operation::Mac(Mac::X919), jobs) };
        let quiet_work = macs(QUIET_JOBS);
        let quiet = Load::of(quiet, &quiet_work);
        let other = match beside {
            Beside::Macs => Some(macs(HOSTILE_JOBS)),
            Beside::Generations(bits) => {
                Some(effort.work(Operation::rsa_verb(Verb::PkaKeyGenerate, bits, RsaForm::Crt), GENERATIONS))
            }
            _ => None,
        };
        let loads = std::iter::once(quiet)
            .chain(other.as_ref().map(|workload| Load::of(hostile, workload)))
            .collect::<Vec<_>>();
        let folder = target.folder().map(Path::to_owned).unwrap_or_default();
        let ends = AtomicBool::new(false);
        bound(own(0), || {
            std::thread::scope(|scope| {
                scope.spawn(|| match beside {
                    Beside::Macs | Beside::Generations(_) => {}
                    Beside::Refused => refused(hostile, &ends),
                    Beside::Attaches => attaches(options, &folder, &ends),
                    Beside::Connections => connections(&folder, &ends),
                    Beside::Computing => computes(&ends),
                });
                let asks = scope.spawn(|| longest_wait(administrator, &ends));
                let together = target.together(&loads);
                ends.store(true, Ordering::Relaxed);
                let answered = asks.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
                let together = together?;
                let quiet = together.each.first();
                Ok(Round {
                    rate: quiet.map_or(0.0, |quiet| quiet.ops_per_s),
                    p99_us: quiet
                        .map_or(0.0, |quiet| quiet.latency_ns.value_at_quantile(0.99) as f64 / 1000.0),
                    answered_ms: answered?.as_secs_f64() * 1000.0,
                })
            })
        })
    }
}

/// The longest time that the daemon took to tell an administrator the state of the home.
fn longest_wait(administrator: &Facility, ends: &AtomicBool) -> Result<Duration, LabError> {
    let mut longest = Duration::ZERO;
    while !ends.load(Ordering::Relaxed) {
        let begin = Instant::now();
        administrator.status().map_err(LabError::facility("ask for the state of the home"))?;
        longest = longest.max(begin.elapsed());
        std::thread::sleep(ASKS_EVERY);
    }
    Ok(longest)
}

/// Keeps requests in flight that the card refuses.
fn refused(way: &Facility, ends: &AtomicBool) {
    let new = mac_generate::Ask::new();
    let ask = mac_generate::Ask { text: &[0; MAC_BYTES], chaining_vector: Some(&[0; 18]), ..new };
    let mut filled = Filled::default();
    let arguments = ask.arguments(&mut filled);
    let mut flying: VecDeque<Ticket> = VecDeque::new();
    while !ends.load(Ordering::Relaxed) {
        if flying.len() < HOSTILE_JOBS {
            flying.extend(way.submit(0, &arguments));
        } else if let Some(ticket) = flying.pop_front() {
            // The answer does not matter: the next request follows.
            drop(ticket.wait());
        }
    }
    flying.into_iter().for_each(|ticket| drop(ticket.wait()));
}

/// Attaches anew for each request.
fn attaches(options: &facility::Options, folder: &Path, ends: &AtomicBool) {
    while !ends.load(Ordering::Relaxed) {
        if let Ok(fresh) = Facility::open(folder, options.clone()) {
            drop(fresh.ask(0, &null::Ask::new()));
        }
    }
}

/// Connects to the guests' socket and sends nothing.
fn connections(folder: &Path, ends: &AtomicBool) {
    let Ok(address) = SocketAddrUnix::new(folder.join("run/guest.sock")) else { return };
    let mut held = Vec::new();
    while !ends.load(Ordering::Relaxed) {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None);
        held.extend(socket.and_then(|socket| rustix::net::connect(&socket, &address).map(|()| socket)));
        if held.len() >= CONNECTIONS {
            held.clear();
        }
    }
}

fn computes(ends: &AtomicBool) {
    while !ends.load(Ordering::Relaxed) {
        std::hint::spin_loop();
    }
}
