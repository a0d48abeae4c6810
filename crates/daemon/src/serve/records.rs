//! Records and labels: what is asked of the storage thread, and what follows from its answers.
//!
//! Outcomes come back in the order of their jobs. A label that is found is put into the key table
//! before a later change of its record is heard of, and is revoked then, before the change is
//! acknowledged.

use super::Daemon;
use crate::access::GUEST_LABELS_MAX;
use crate::labels::OpenLabel;
use crate::storage::{Job, Outcome};
use std::collections::HashSet;
use wire::bounds::{CONNECTIONS_MAX, KEY_TABLE_ENTRIES};
use wire::control::{ClientReply, OfficerOrder, OfficerReply, Refusal, Store};
use wire::{Label, code};

/// What follows when a job is done.
pub(super) enum Continuation {
    /// The outcome is the reply.
    Reply { client: u64 },
    /// The record of a label changed: its entries are revoked, then the outcome is the reply.
    Changed { client: u64, label: Label },
    /// The token of a label goes into the key table.
    Open { client: u64, tenant: u32, label: Label },
    /// The number of records goes into a status.
    Status { client: u64 },
    /// The sealed master keys, where there are any, go to the keeper with the order.
    WithSealed { client: u64, order: OfficerOrder },
    /// The sealed master keys are stored: the keeper's answer may be passed on.
    Sealed { client: u64, reply: OfficerReply },
}

impl Daemon {
    pub(super) fn give(&mut self, job: Job, after: Continuation) -> Result<(), Refusal> {
        // Those of clients that are gone meanwhile count as well: no one piles them up by leaving.
        let is_owed = matches!(after, Continuation::Sealed { .. });
        if self.continuations.len() >= JOBS_MAX && !is_owed {
            let what = "requests that wait for the key store".into();
            return Err(Refusal::Full { what, limit: JOBS_MAX as u64 });
        }
        let number = self.storage.give(job);
        self.continuations.insert(number, after);
        Ok(())
    }

    pub(super) fn take_outcomes(&mut self) {
        self.storage.acknowledge();
        while let Some((number, outcome)) = self.storage.outcome() {
            if let Some(after) = self.continuations.remove(&number) {
                self.follow(after, outcome);
            }
        }
    }

    fn follow(&mut self, after: Continuation, outcome: Outcome) {
        match (after, outcome) {
            (Continuation::Changed { client, label }, outcome) => {
                if outcome == Outcome::Done {
                    self.revoke(&label);
                }
                self.reply_outcome(client, outcome);
            }
            (Continuation::Open { client, tenant, label }, Outcome::Found(store, token)) => {
                // One that is gone meanwhile, or another tenant's, leaves nothing open behind it.
                if self.clients.get(&client).is_none_or(|client| client.tenant() != tenant) {
                    return self.refuse(client, Refusal::Denied);
                }
                let opened = self.put(tenant, label, store, &token);
                match opened {
                    Ok(reply) => self.reply(client, &reply, &[]),
                    Err(refusal) => self.refuse(client, refusal),
                }
            }
            (Continuation::Status { client }, Outcome::Count(records)) => {
                let status = self.status(client, records);
                self.reply(client, &ClientReply::Status(status), &[]);
            }
            (Continuation::WithSealed { client, order }, Outcome::Sealed(sealed)) => {
                if let Err(refusal) = self.officer(client, order, sealed) {
                    self.refuse(client, refusal);
                }
            }
            (Continuation::Sealed { client, reply }, Outcome::Done) => {
                self.reply(client, &ClientReply::Officer(reply), &[]);
            }
            (
                Continuation::Reply { client }
                | Continuation::Open { client, .. }
                | Continuation::Status { client }
                | Continuation::WithSealed { client, .. }
                | Continuation::Sealed { client, .. },
                outcome,
            ) => self.reply_outcome(client, outcome),
        }
    }

    fn reply_outcome(&mut self, client: u64, outcome: Outcome) {
        let reply = match outcome {
            Outcome::Done | Outcome::Sealed(_) => ClientReply::Done,
            Outcome::Token(token) | Outcome::Found(_, token) => ClientReply::Token(token),
            Outcome::Records(rows) => ClientReply::Records(rows),
            Outcome::Count(records) => ClientReply::Status(self.status(client, records)),
            Outcome::Failed(refusal) => {
                if let Refusal::Storage { operation, cause } = &refusal {
                    tracing::error!("{operation}: {cause}");
                }
                ClientReply::Refused(refusal)
            }
        };
        self.reply(client, &reply, &[]);
    }

    pub(super) fn open_label(&mut self, client: u64, label: Label) -> Result<(), Refusal> {
        let tenant = self.clients.get(&client).ok_or(Refusal::Denied)?.tenant();
        if let Some(open) = self.labels.find(tenant, &label) {
            let reply = opened(open);
            self.reply(client, &reply, &[]);
            return Ok(());
        }
        let is_guest = !self.clients.get(&client).is_some_and(super::client::Client::administers);
        if is_guest && self.labels.of_tenant(tenant) >= GUEST_LABELS_MAX {
            let what = "opened labels of this tenant".into();
            return Err(Refusal::Full { what, limit: GUEST_LABELS_MAX as u64 });
        }
        let after = Continuation::Open { client, tenant, label: label.clone() };
        self.give(Job::Find { label }, after)
    }

    fn put(&mut self, tenant: u32, label: Label, store: Store, token: &[u8]) -> Result<ClientReply, Refusal> {
        if let Some(open) = self.labels.find(tenant, &label) {
            return Ok(opened(open));
        }
        if token.is_empty() {
            // A record without a key.
            return Err(Refusal::Verb(code::TOKEN_INVALID));
        }
        if self.labels.vacant().is_none() {
            self.revoke_absent();
        }
        let full = || Refusal::Full { what: "opened labels".into(), limit: KEY_TABLE_ENTRIES as u64 };
        let slot = self.labels.vacant().ok_or_else(full)?;
        let note = note(store, &label);
        let reference = self.key_table.put_noted(slot, tenant, &note, token);
        let open = OpenLabel { tenant, label, store, token_bytes: token.len() as u32, reference };
        let reply = opened(&open);
        self.labels.insert(open);
        Ok(reply)
    }

    fn revoke(&mut self, label: &Label) {
        for open in self.labels.take_label(label) {
            self.key_table.revoke(open.reference.slot);
        }
    }

    /// Gives up the entries of tenants that have neither a connection nor a queue.
    fn revoke_absent(&mut self) {
        let present: HashSet<u32> = self
            .clients
            .values()
            .map(super::client::Client::tenant)
            .chain(self.queues.values().map(|queue| queue.grant.tenant))
            .collect();
        for open in self.labels.take_absent(&present) {
            self.key_table.revoke(open.reference.slot);
        }
    }
}

fn opened(open: &OpenLabel) -> ClientReply {
    ClientReply::Opened { reference: open.reference, store: open.store, token_bytes: open.token_bytes }
}

/// What an entry says to a later daemon: its store and label, at most 67 bytes.
pub(super) fn note(store: Store, label: &Label) -> Vec<u8> {
    postcard::to_stdvec(&(store, label)).unwrap_or_default()
}

/// Reads a note.
pub(super) fn noted(note: &[u8]) -> Option<(Store, Label)> {
    postcard::from_bytes(note).ok()
}

/// Jobs that wait for the storage thread; each connection has at most one.
const JOBS_MAX: usize = 2 * CONNECTIONS_MAX;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_note_fits_its_entry() {
        let label = Label::new(&["ABCDEFGH"; 7].join(".")).unwrap();
        let written = note(Store::Pka, &label);
        assert!(written.len() <= link::NOTE_BYTES_MAX);
        assert_eq!(noted(&written), Some((Store::Pka, label)));
        assert_eq!(noted(&[]), None);
    }
}
