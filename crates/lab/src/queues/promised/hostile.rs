//! A tenant's MACs on one card beside a hostile tenant: what is left of its share, how long 99 of 100 requests take,
//! and how long an administrator waits for the daemon meanwhile.
//!
//! A hostile tenant costs something whatever walls there are: its requests are served in turn with the others', and its
//! program computes. So each row stands beside an honest neighbour that asks as much of the card, or beside a program
//! that only computes where the attack asks nothing of the card: what is measured is the harm beyond that.

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
use wire::frame::Arguments;
use wire::tenant::Limits;
use wire::verb::{Verb, mac_generate};

/// The MACs of the tenant that is looked at.
const MAC_BYTES: usize = 64;
const QUIET_JOBS: usize = 8;
/// Requests that the other one has in flight.
const HOSTILE_JOBS: usize = 32;
/// Key generations that it has in flight: each takes many times as long as a MAC.
const GENERATIONS: usize = 8;
/// Connections that it holds before it closes them.
const CONNECTIONS: usize = 64;
/// How often an administrator asks.
const ASKS_EVERY: Duration = Duration::from_millis(20);
const ROUNDS_MAX: usize = 5;
/// What bounds a neighbour's times beside generations.
const STEP: &str = "how long one step of a generation keeps the card";

/// What a hostile tenant does, and what it is measured beside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Beside {
    /// MACs like those of the tenant that is looked at.
    Macs,
    /// Generations of RSA keys of so many bits.
    Generations(u32),
    /// Requests that are refused: MACs under a key that is none.
    Refused,
    /// It attaches, calls once, and leaves.
    Attaches,
    /// It connects, says nothing, and closes.
    Connections,
    /// Nothing of the home: it computes.
    Computing,
}

/// What a round gave.
#[derive(Clone, Copy, Debug)]
struct Round {
    /// MACs a second.
    rate: f64,
    /// The 99th percentile of their times, in microseconds.
    p99_us: f64,
    /// The longest time until an administrator was answered, in milliseconds.
    answered_ms: f64,
}

/// A home with one card, a quiet tenant and a hostile one.
struct Place {
    target: Target,
    quiet: Facility,
    hostile: Facility,
    administrator: Facility,
    /// How a program of the hostile tenant opens the home.
    options: facility::Options,
}

/// Every attack, with what it is measured beside.
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
        let mut place = Place::new(stop)?;
        let rounds =
            in_turn(effort.rounds, |is_first| place.round(effort, if is_first { attack } else { peer }))?;
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

impl Place {
    fn new(stop: &Arc<AtomicBool>) -> Result<Self, LabError> {
        let needs = Needs { processor: own(1), ..Needs::default() };
        let (target, ways) = house(&needs, &[Limits::default(); 2], stop)?;
        let [quiet, hostile] = ways.try_into().map_err(|_| LabError::Interrupted)?;
        let administrator = target.open_again(facility::Options::default())?;
        // The second of the house's tenants.
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

/// How long the daemon took at the most to tell an administrator the state of the home.
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
    let (text, none) = ([0; MAC_BYTES], [0; 64]);
    let mut arguments = Arguments::new(Verb::MacGenerate);
    arguments
        .set_bytes(mac_generate::KEY_IDENTIFIER, &none)
        .set_integer(mac_generate::TEXT_LENGTH, MAC_BYTES as i64)
        .set_bytes(mac_generate::TEXT, &text)
        .set_bytes(mac_generate::CHAINING_VECTOR, &[0; 18]);
    let mut flying: VecDeque<Ticket> = VecDeque::new();
    while !ends.load(Ordering::Relaxed) {
        if flying.len() < HOSTILE_JOBS {
            flying.extend(way.submit(0, &arguments));
        } else if let Some(ticket) = flying.pop_front() {
            // Refused as it must be, or not: it is asked for again.
            drop(ticket.wait());
        }
    }
    flying.into_iter().for_each(|ticket| drop(ticket.wait()));
}

/// Attaches anew for each request.
fn attaches(options: &facility::Options, folder: &Path, ends: &AtomicBool) {
    let null = Arguments::new(Verb::Null);
    while !ends.load(Ordering::Relaxed) {
        if let Ok(fresh) = Facility::open(folder, options.clone()) {
            drop(fresh.call(0, &null));
        }
    }
}

/// Connects to the guests' socket and says nothing.
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
