//! Stopping: no new requests are taken, cards and keeper are told to end, and the daemon ends after them.

use super::{Daemon, Doors};
use crate::supervise::card::Phase;
use home::StoppedBy;
use link::world;
use std::fs;
use std::time::Instant;
use wire::control::{ClientReply, Refusal};

impl Daemon {
    /// Begins an ordered stop: no program starts the next daemon by itself.
    pub(super) fn stop(&mut self, by: StoppedBy) {
        if self.stopping {
            return;
        }
        if let Some(client) = self.replacing.take().map(|replacing| replacing.client()) {
            self.refuse(client, Refusal::Stopping);
        }
        if self.would_lose_keys() {
            tracing::warn!(
                "master keys in use were in no sealed copy, and end with the keeper: load their parts again"
            );
        }
        // Noted before the sockets go, so that no program finds no daemon and starts one.
        if let Err(error) = self.home.note_stopped(world::unix_ms() / 1000, by) {
            tracing::warn!("programs may start the next daemon by themselves: {error}");
        }
        self.wind_down();
    }

    /// Begins to end. Cards finish the requests they took; a process that does not end in time is killed.
    pub(super) fn wind_down(&mut self) {
        crate::manager::notify("STOPPING=1");
        self.doors.close(&mut self.poller);
        Doors::remove(&self.home);
        self.renewals.clear();
        let indexes: Vec<u32> = self.cards.keys().copied().collect();
        for index in indexes {
            self.stop_card(index);
        }
        self.stop_keeper();
        self.stopping = true;
    }

    /// Whether the daemon stops, everything that it started has ended, and no request waits for the key store.
    pub(super) fn has_stopped(&self) -> bool {
        self.stopping
            && self.continuations.is_empty()
            && self.keeper.process.is_none()
            && self.cards.values().all(|card| card.process.is_none())
    }

    /// Removes the sockets, waits for the storage thread, and answers the clients that ordered the stop.
    pub(super) fn finish(mut self) {
        for index in 0..wire::bounds::CARDS_MAX as u32 {
            let _ = fs::remove_file(self.home.card_listener(index));
            let _ = fs::remove_file(self.home.card_doorbell(index));
        }
        let _ = fs::remove_file(self.home.keeper_listener());
        self.refuse_unread();
        let waiting: Vec<u64> =
            self.clients.iter().filter(|(_, client)| client.awaits_stop).map(|(id, _)| *id).collect();
        // The client that ordered the stop may start the next daemon as soon as it is answered.
        let _ = rustix::fs::flock(&self.lock, rustix::fs::FlockOperation::Unlock);
        for client in waiting {
            self.reply(client, &ClientReply::Done, &[]);
        }
        tracing::info!("stopped");
    }
}

impl Phase {
    /// When this phase needs an action if nothing else happens; `None` if it needs none.
    pub fn due(&self) -> Option<Instant> {
        match *self {
            Self::Down(at) => at,
            Self::Starting(at) | Self::Adopting(at) | Self::Stopping(at) => Some(at),
            Self::Serving | Self::Broken => None,
        }
    }
}
