//! The programs as actors: what their `main` does, except for arguments, sandbox, secret memory,
//! self-tests and logs.

use crate::audits::Audits;
use crate::outside::{Records, SharedStore};
use crate::stage::Stage;
use card::control::{Control, Identity};
use card::held::Waits;
use card::keeper::{self, Keeper};
use card::lanes::Lanes;
use card::life::Life;
use card::serve::{End, Memories, Server};
use card::start;
use cca::Processor;
use daemon::{Daemon, Ready, StartedBy};
use engine::{Engine, Options};
use link::Channel;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;
use wire::control::CardState;

/// Lanes of every kernel, whatever machine this is.
const LANES: usize = 8;

/// A daemon of a home, over records that others change or over its own.
pub fn daemon(folder: &Path, records: Option<&Arc<Records>>) {
    let start = match records {
        None => Daemon::start(folder, None, Ready::default()),
        Some(records) => {
            let open = |_: &home::Home| Ok(SharedStore::open(records));
            Daemon::start_over(folder, StartedBy::Hand, None, Ready::default(), open, None)
        }
    };
    // An error is one of the faults; whoever watches over the daemon starts the next one.
    if let Err(error) = start.and_then(Daemon::run) {
        tracing::error!("{error}");
    }
}

fn engine() -> Option<Engine> {
    Engine::new(Options { limit: None, weak_algorithms: false }).ok()
}

/// A card with this control channel.
pub fn card(control: OwnedFd, stage: &Arc<Stage>) {
    let Some((mut server, mut control)) = begin_card(control, stage) else { return };
    if server.await_registers(&mut control).is_break() {
        return;
    }
    control.ready();
    match server.run(&mut control) {
        End::Stopped => server.zeroize(),
        End::SelfCheck => {
            server.life.fail();
            server.status.set_state(CardState::Failed);
            control.failed("a result did not pass its own check and was withheld".to_owned());
        }
    }
}

fn begin_card(control: OwnedFd, stage: &Arc<Stage>) -> Option<(Server, Control)> {
    let channel = Channel::from_fd(control).ok()?;
    let start::Parts { start, doorbell, listener, status, views, keys, accounts, samples, keeper } =
        start::receive(&channel).ok()?;
    let mut life = Life::new();
    let mut processor = Processor::new(engine()?, start.domains);
    processor.set_token_forms(start.tokens);
    life.tested().ok()?;
    status.set_state(life.state());
    let user = rustix::process::geteuid().as_raw();
    let identity = Identity {
        level: "simulated".into(),
        lanes: LANES as u32,
        isolation: Default::default(),
        user: Some(user),
    };
    let memories = Memories { status, doorbell, keys, accounts, samples };
    let waits = waits(stage, start.index);
    let server = Server::new(start, life, memories, processor, Lanes::new(|_| [LANES; 2]), waits);
    Some((server, Control::new(channel, keeper, listener, identity, views)))
}

/// The rule by which answers of a card wait for an audit log; none in plans without one.
fn waits(stage: &Arc<Stage>, index: u32) -> Option<Box<dyn Waits>> {
    let audits = stage.state().plan.audits;
    let folder = stage.state().folder.clone();
    let doorbell = home::Home::open(&folder).ok().filter(|_| audits)?.card_doorbell(index);
    let seed = stage.state().random.u64(..);
    Some(Box::new(Audits::new(Arc::clone(stage), &doorbell, seed)))
}

/// A keeper with this control channel.
pub fn keeper(control: OwnedFd) {
    let Ok(channel) = Channel::from_fd(control) else { return };
    let (Ok(start), Some(engine)) = (keeper::receive(&channel), engine()) else { return };
    let user = rustix::process::geteuid().as_raw();
    Keeper::new(engine, start, channel, Default::default(), user).run();
}
