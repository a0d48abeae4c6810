//! A card and a keeper without any cryptography, which speak the control protocol: for the daemon's
//! own tests, and for trying a daemon without real cards.
//!
//! A card answers every verb with its own codes and its own process id as payload, or, quiesced, that it is not ready.
//! A keeper answers officers by the book, hands nothing to cards, and says that they have all. A file `fake-card` in
//! the home says what else a process does at its start: `exit`, `fail`, `mute` (never says ready), `leave` (closes its
//! channel), `claim` (tells a later daemon of one queue more, of a number that cannot be), `hold` (never says that a
//! queue has ended), `deaf` (closes its doorbell), `reject` (serves no queue), `late` (before it maps a queue, waits
//! until somebody opens the pipe `fake-card-go` of the home for writing).
#![forbid(unsafe_code)]

use link::{CardQueue, Channel, ChannelError, Listener, Samples, StatusPage};
use rustix::event::{PollFd, PollFlags, poll};
use stand_in::{ANSWERED, Started, attached, slots};
use std::os::fd::{AsFd, OwnedFd};
use std::process::exit;
use std::time::Duration;
use wire::control::{
    CardNotice, CardOrder, CardStart, CardState, Isolation, KeeperNotice, KeeperOrder, MasterKeyPattern,
    NewState, OfficerOrder, OfficerReply, Register, RegisterRow, Served,
};
use wire::frame::{Outcome, ReplyHeader};
use wire::grant::Grant;

fn main() {
    let Some(channel) = inherited_channel() else {
        eprintln!("fake_card: descriptor 3 is no control channel; this is started by cryptand-daemon");
        exit(2);
    };
    if std::env::args().any(|argument| argument == "--keeper") { keeper(channel) } else { card(channel) }
}

/// The control channel, of which this process has no other descriptor: else the daemon would see none of its ends.
fn inherited_channel() -> Option<Channel> {
    let duplicate = stand_in::inherited()?;
    nix::unistd::close(3).ok()?;
    Channel::from_fd(duplicate).ok()
}

/// The home is where this process's output goes.
fn home() -> std::path::PathBuf {
    let log = std::fs::read_link("/proc/self/fd/1").unwrap_or_default();
    log.ancestors().nth(2).map(std::path::Path::to_owned).unwrap_or_default()
}

/// What the home's `fake-card` file says.
fn directive() -> String {
    std::fs::read_to_string(home().join("fake-card")).unwrap_or_default().trim().to_owned()
}

struct Card {
    start: CardStart,
    state: CardState,
    status: StatusPage,
    views: [OwnedFd; 2],
    roles: Vec<wire::role::Role>,
    queues: Vec<(Grant, CardQueue)>,
    directive: String,
}

fn card(daemon: Channel) -> ! {
    let Some(started) = Started::take(&daemon) else { exit(3) };
    let Started { start, doorbell, listener, page, status, samples, .. } = started;
    listener.set_nonblocking(true).unwrap();
    let views = [StatusPage::read_only(page.as_fd()).unwrap(), Samples::read_only(samples.as_fd()).unwrap()];
    let directive = directive();
    match directive.as_str() {
        "exit" => exit(5),
        "fail" => {
            status.set_state(CardState::Failed);
            daemon.send(&CardNotice::Failed { why: "told to".into() }, &[]).unwrap();
            exit(4);
        }
        "mute" => loop {
            std::thread::park();
        },
        _ => {}
    }
    let (state, roles, queues) = (CardState::Ready, Vec::new(), Vec::new());
    let mut card = Card { start, state, status, views, roles, queues, directive: directive.clone() };
    card.status.set_state(CardState::Ready);
    let ready = CardNotice::Ready {
        level: "fake".into(),
        lanes: 8,
        isolation: Isolation { missing: vec!["cryptography".into()], ..Isolation::default() },
    };
    daemon.send(&ready, &[]).unwrap();
    if directive == "deaf" {
        drop(doorbell);
        loop {
            match daemon.recv::<CardOrder>() {
                Ok((CardOrder::Stop, _)) | Err(_) => exit(0),
                Ok((order, descriptors)) => card.obey(&daemon, order, descriptors),
            }
        }
    }
    let mut daemon = (directive != "leave").then_some(daemon);
    let mut newcomers: Vec<Channel> = Vec::new();
    loop {
        let mut extra = vec![listener.as_fd()];
        extra.extend(daemon.iter().chain(&newcomers).map(AsFd::as_fd));
        let queues = &card.queues;
        let pending = || queues.iter().any(|(_, queue)| queue.pending() != 0);
        doorbell.sleep(&card.status, &extra, Some(Duration::from_secs(1)), pending).unwrap();
        while let Ok(Some(newcomer)) = listener.try_accept() {
            newcomers.push(newcomer);
        }
        newcomers.retain(|newcomer| match newcomer.try_recv::<CardOrder>() {
            Ok((CardOrder::Adopt, _)) => {
                card.adopted(newcomer);
                daemon = newcomer.try_clone().ok();
                false
            }
            Ok(_) => false,
            Err(ChannelError::WouldBlock) => true,
            Err(_) => false,
        });
        while let Some(channel) = &daemon {
            match channel.try_recv::<CardOrder>() {
                Ok((CardOrder::Stop, _)) => exit(0),
                Ok((order, descriptors)) => card.obey(channel, order, descriptors),
                Err(ChannelError::WouldBlock) => break,
                Err(_) => daemon = None,
            }
        }
        card.answer();
    }
}

impl Card {
    fn obey(&mut self, daemon: &Channel, order: CardOrder, descriptors: Vec<OwnedFd>) {
        let notice = match order {
            CardOrder::Role(role) => return self.roles.push(role),
            CardOrder::Regrant { grant: new } => {
                let mine = self.queues.iter_mut().find(|(grant, _)| grant.queue == new.queue);
                return mine.map_or((), |(grant, _)| *grant = new);
            }
            CardOrder::Attach { grant, slots } => {
                let queue = grant.queue;
                if self.directive == "late" {
                    drop(std::fs::File::open(home().join("fake-card-go")));
                }
                let joined = attached(queue, slots, descriptors).unwrap();
                if self.directive == "reject" {
                    drop(joined);
                    CardNotice::Rejected { queue, why: "told to".into() }
                } else {
                    self.queues.push((grant, joined));
                    CardNotice::Attached { queue }
                }
            }
            CardOrder::Detach { queue } => {
                self.queues.retain(|(grant, _)| grant.queue != queue);
                CardNotice::Detached { queue }
            }
            CardOrder::Adopt => return self.adopted(daemon),
            CardOrder::Quiesce => self.turn(CardState::Quiescing),
            CardOrder::Resume => self.turn(CardState::Ready),
            CardOrder::Zeroize => self.turn(CardState::Zeroized),
            CardOrder::Tables(_)
            | CardOrder::Counting { .. }
            | CardOrder::Counted { .. }
            | CardOrder::Start(_)
            | CardOrder::Stop => return,
        };
        let _ = daemon.try_send(&notice, &[]);
    }

    fn turn(&mut self, state: CardState) -> CardNotice {
        self.state = state;
        self.status.set_state(state);
        CardNotice::State(state)
    }

    fn adopted(&self, daemon: &Channel) {
        let mut queues: Vec<Grant> = self.queues.iter().map(|(grant, _)| grant.clone()).collect();
        if let Some(one) = queues.first().cloned().filter(|_| self.directive == "claim") {
            queues.push(Grant { queue: u64::MAX, ..one });
        }
        let notice = CardNotice::Adopted {
            start: self.start.clone(),
            state: self.state,
            level: "fake".into(),
            lanes: 8,
            isolation: Default::default(),
            holds_registers: true,
            roles: self.roles.clone(),
            queues,
        };
        let _ = daemon.try_send(&notice, &self.views.each_ref().map(AsFd::as_fd));
    }

    fn answer(&mut self) {
        let mut payload = Vec::new();
        for (_, queue) in &mut self.queues {
            let serves = self.state == CardState::Ready;
            let outcome = if serves { Outcome::Answered } else { Outcome::NotReady };
            for slot in slots(queue.pending()) {
                if queue.take(slot, &mut payload).is_ok() {
                    let header = ReplyHeader { outcome, ..ANSWERED };
                    let _ = queue.reply(slot, &header, &std::process::id().to_le_bytes());
                }
            }
        }
    }
}

fn keeper(daemon: Channel) -> ! {
    let Ok((KeeperOrder::Start { insecure_seed, .. }, descriptors)) = daemon.recv::<KeeperOrder>() else {
        exit(3)
    };
    let listener = Listener::from_fd(descriptors.into_iter().next().unwrap()).unwrap();
    listener.set_nonblocking(true).unwrap();
    let mut unsealed = insecure_seed.is_some();
    let rows = |unsealed: bool| {
        let row = RegisterRow {
            domain: 0,
            register: Register::Aes,
            new_state: NewState::Empty,
            new_pattern: None,
            current_pattern: Some(MasterKeyPattern::new(Register::Sym, [7; 16])),
            old_pattern: None,
            is_sealed: true,
        };
        if unsealed { vec![row] } else { Vec::new() }
    };
    let ready = |unsealed, cards: &[(Served, OwnedFd)]| KeeperNotice::Ready {
        isolation: Isolation::default(),
        registers: rows(unsealed),
        cards: cards.iter().map(|(served, _)| (*served, true)).collect(),
        unsealing: wire::control::Unsealing::default(),
    };
    daemon.send(&ready(unsealed, &[]), &[]).unwrap();
    let mut daemon = Some(daemon);
    let mut served = Vec::new();
    loop {
        let mut watched = vec![PollFd::new(&listener, PollFlags::IN)];
        watched.extend(daemon.iter().map(|daemon| PollFd::new(daemon, PollFlags::IN)));
        let _ = poll(&mut watched, None);
        while let Ok(Some(newcomer)) = listener.try_accept() {
            daemon = Some(newcomer);
        }
        while let Some(channel) = &daemon {
            let (order, descriptors) = match channel.try_recv::<KeeperOrder>() {
                Ok(received) => received,
                Err(ChannelError::WouldBlock) => break,
                Err(_) => {
                    daemon = None;
                    break;
                }
            };
            let notice = match order {
                KeeperOrder::NotStored | KeeperOrder::HandOver => continue,
                KeeperOrder::Stop => exit(0),
                KeeperOrder::Adopt | KeeperOrder::Start { .. } | KeeperOrder::TakeOver => {
                    ready(unsealed, &served)
                }
                KeeperOrder::Serve(card) => {
                    served.retain(|(other, _): &(Served, OwnedFd)| other.card != card.card);
                    served.extend(descriptors.into_iter().map(|end| (card, end)));
                    let _ = channel.try_send(&KeeperNotice::Done, &[]);
                    KeeperNotice::Holds(card)
                }
                KeeperOrder::Officer { order, sealed_registers, .. } => {
                    let store = matches!(order, OfficerOrder::SealUnder { .. }).then(|| b"sealed".to_vec());
                    let reply = match order {
                        OfficerOrder::StartupKey => OfficerReply::StartupKey([9; 32]),
                        OfficerOrder::Registers => OfficerReply::Registers(rows(unsealed)),
                        OfficerOrder::Unseal { .. } if sealed_registers.is_none() => {
                            OfficerReply::Refused(wire::control::OfficerRefusal::NothingSealed)
                        }
                        OfficerOrder::Unseal { .. } => {
                            unsealed = true;
                            OfficerReply::Done
                        }
                        _ => OfficerReply::Done,
                    };
                    KeeperNotice::Officer { reply, store, spreads: 0 }
                }
            };
            let _ = channel.try_send(&notice, &[]);
        }
    }
}
