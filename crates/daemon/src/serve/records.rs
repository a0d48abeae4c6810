//! Records and labels: tasks for the storage thread, and the handling of their outcomes.
//!
//! Outcomes come back in the order of their jobs. So a label that is found is put into the key table before the outcome
//! of a later change of its record arrives. That outcome revokes the entry, before the change is acknowledged. Labels
//! whose records other hosts changed are revoked too, if the store has other writers.

use super::Daemon;
use super::client::Client;
use crate::labels::{Bound, OpenLabel, OpenLabels, Opener};
use crate::poller::{Interest, Source};
use crate::rights::{Rights, Who};
use crate::storage::{Task, TaskOutcome};
use crate::store::{Changes, Done, Job, Pattern};
use crate::verbs::{self, Answer};
use link::world;
use std::collections::HashSet;
use wire::bounds::{
    CONNECTIONS_MAX, CONTROL_BYTES_MAX, KEY_TABLE_UNITS_PER_LABEL, LIST_ROWS_MAX, REPLACEMENTS_MAX,
};
use wire::control::{
    ClientReply, MasterKeyName, OfficerOrder, OfficerReply, RecordRow, Refusal, Replacement, Store,
};
use wire::tenant::NAMED_TENANT;
use wire::uses::Uses;
use wire::verb::Class;
use wire::{Label, code};

/// The next step after a job of the key store.
pub(super) enum Continuation {
    /// The outcome is the reply.
    Reply { client: u64 },
    /// A backup was written: its time is recorded, and the outcome is the reply.
    BackedUp { client: u64 },
    /// A page of records: those whose keys the client may use are the reply.
    List(Listing),
    /// A verb ran: the entries of labels whose records it changed are revoked, then its answer is the reply.
    Called { client: u64, changed: Vec<Label> },
    /// The token of a label goes into the key table.
    Open { client: u64, tenant: u32, label: Label },
    /// The numbers of records under these master keys go into a status.
    Status { client: u64, keys: Vec<MasterKeyName> },
    /// The entries of labels whose records were replaced are revoked, then the client is told which.
    Replaced { client: u64, labels: Vec<Label> },
    /// The sealed master keys, where there are any, go to the keeper with the order.
    WithSealed { client: u64, order: OfficerOrder },
    /// The sealed master keys are stored: the keeper's answer may be passed on.
    Sealed { client: u64, reply: OfficerReply },
    /// The entries of labels whose records others changed are revoked.
    Outside,
}

/// A page of a listing that is still being filled.
pub(super) struct Listing {
    pub(super) client: u64,
    pub(super) store: Option<Store>,
    pub(super) pattern: Pattern,
    pub(super) rows: Vec<RecordRow>,
}

impl Daemon {
    pub(super) fn give(&mut self, task: Task, after: Continuation) -> Result<(), Refusal> {
        // Jobs of clients that have gone count as well: nobody piles up jobs by leaving.
        let is_owed = matches!(after, Continuation::Sealed { .. } | Continuation::Outside);
        if self.continuations.len() >= JOBS_MAX && !is_owed {
            let what = "requests that wait for the key store".into();
            return Err(Refusal::Full { what, limit: JOBS_MAX as u64 });
        }
        let number = self.storage.give(task);
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

    fn follow(&mut self, after: Continuation, outcome: TaskOutcome) {
        match (after, outcome) {
            (Continuation::Called { client, changed }, outcome) => {
                // A change that is reported as failed may have been made in a store elsewhere.
                if !matches!(outcome, TaskOutcome::Failed(Refusal::Verb(_))) {
                    changed.iter().for_each(|label| self.revoke(label));
                }
                self.reply_called(client, outcome);
            }
            (Continuation::Open { client, tenant, label }, TaskOutcome::Done(Done::Found(record))) => {
                // A client that has gone, or has become another tenant's, leaves no open entry behind.
                let opener =
                    self.clients.get(&client).filter(|client| client.tenant() == tenant).map(Client::opener);
                let Some(opener) = opener else { return self.refuse(client, Refusal::Denied) };
                let opened = self.put(client, opener, tenant, label, record.store, &record.token);
                match opened {
                    Ok(reply) => self.reply(client, &reply, &[]),
                    Err(refusal) => self.refuse(client, refusal),
                }
            }
            (Continuation::List(listing), TaskOutcome::Done(Done::Rows(rows))) => self.listed(listing, rows),
            (Continuation::Status { client, keys }, TaskOutcome::Done(Done::Census(census))) => {
                let status = self.status(client, &keys, &census);
                self.reply(client, &ClientReply::Status(status), &[]);
            }
            (Continuation::Replaced { client, labels }, outcome) => {
                // A change that is reported as failed may have been made in a store elsewhere.
                labels.iter().for_each(|label| self.revoke(label));
                self.reply_outcome(client, outcome);
            }
            (Continuation::WithSealed { client, order }, TaskOutcome::Sealed(sealed)) => {
                if let Err(refusal) = self.officer(client, order, sealed) {
                    self.refuse(client, refusal);
                }
            }
            (Continuation::Sealed { client, reply }, TaskOutcome::Stored) => {
                self.refresh(client, ClientReply::Officer(reply));
            }
            (Continuation::Sealed { client, .. }, outcome) => {
                self.not_stored();
                self.reply_outcome(client, outcome);
            }
            (Continuation::BackedUp { client }, outcome) => {
                if matches!(outcome, TaskOutcome::Stored) {
                    self.backed_up();
                }
                self.reply_outcome(client, outcome);
            }
            (Continuation::Outside, outcome) => self.follow_outside(outcome),
            (
                Continuation::Reply { client }
                | Continuation::List(Listing { client, .. })
                | Continuation::Open { client, .. }
                | Continuation::Status { client, .. }
                | Continuation::WithSealed { client, .. },
                outcome,
            ) => self.reply_outcome(client, outcome),
        }
    }

    fn reply_outcome(&mut self, client: u64, outcome: TaskOutcome) {
        let reply = match outcome {
            TaskOutcome::Done(Done::Rows(rows)) => ClientReply::Records(rows),
            TaskOutcome::Done(Done::Records(records)) => ClientReply::Tokens(records),
            TaskOutcome::Done(Done::Replaced(replaced)) => ClientReply::Replaced(replaced),
            TaskOutcome::Done(Done::Chain(chain)) => ClientReply::Chain(chain),
            TaskOutcome::Done(_)
            | TaskOutcome::Answered(_)
            | TaskOutcome::Stored
            | TaskOutcome::Sealed(_)
            | TaskOutcome::Changes(_) => ClientReply::Done,
            TaskOutcome::Failed(refusal) => {
                if let Refusal::Storage { operation, cause } = &refusal {
                    self.warn_of(client, format_args!("{operation}: {cause}"));
                }
                ClientReply::Refused(refusal)
            }
        };
        self.reply(client, &reply, &[]);
    }

    fn reply_called(&mut self, client: u64, outcome: TaskOutcome) {
        match outcome {
            TaskOutcome::Answered(Answer { codes, payload }) => {
                self.reply(client, &ClientReply::Called { codes, payload }, &[]);
            }
            TaskOutcome::Failed(Refusal::Verb(codes)) => {
                self.reply(client, &ClientReply::Called { codes, payload: Vec::new() }, &[]);
            }
            outcome => self.reply_outcome(client, outcome),
        }
    }

    /// Asks the store for a page of records with their tokens.
    pub(super) fn token_list(
        &mut self,
        client: u64,
        pattern: &str,
        after: Option<Label>,
        but: Vec<MasterKeyName>,
    ) -> Result<(), Refusal> {
        let pattern = Pattern::new(pattern).map_err(|_| Refusal::Verb(code::LABEL_FORMAT))?;
        let job = Job::Tokens { pattern, after, but, bytes_max: TOKENS_BYTES_MAX };
        self.give(Task::Job(job), Continuation::Reply { client })
    }

    /// Has the store replace tokens of records.
    pub(super) fn token_replace(
        &mut self,
        client: u64,
        replacements: Vec<Replacement>,
    ) -> Result<(), Refusal> {
        if !(1..=REPLACEMENTS_MAX).contains(&replacements.len()) {
            let given = replacements.len();
            return Err(Refusal::Invalid(format!(
                "{given} replacements; allowed are 1 to {REPLACEMENTS_MAX}"
            )));
        }
        let labels = replacements.iter().map(|of| of.record.label.clone()).collect();
        let job = Job::Replace { replacements, now_unix_s: world::unix_ms() / 1000 };
        self.give(Task::Job(job), Continuation::Replaced { client, labels })
    }

    /// Calls a verb of the daemon; a query is about this domain, and this card.
    pub(super) fn call(
        &mut self,
        client: u64,
        verb: u16,
        payload: &[u8],
        about: (u16, Option<u32>),
    ) -> Result<(), Refusal> {
        let entry = verbs::entry(verb)?;
        self.need(client, entry.point)?;
        if verbs::is_query(entry.verb) {
            return self.query(client, entry, payload, about);
        }
        let call = match verbs::read(entry, payload) {
            Ok(call) => call,
            Err(Refusal::Verb(codes)) => {
                self.reply(client, &ClientReply::Called { codes, payload: Vec::new() }, &[]);
                return Ok(());
            }
            Err(refusal) => return Err(refusal),
        };
        self.need_labels(client, entry.verb, call.labels().into_iter())?;
        let is_changed = entry.class == Class::Once;
        let changed = if is_changed { call.labels().into_iter().cloned().collect() } else { Vec::new() };
        self.give(Task::Call(call), Continuation::Called { client, changed })
    }

    /// Asks the store which records others have changed. The store's descriptor is not watched until the store reports
    /// no more changes, since it may stay readable.
    pub(super) fn ask_outside(&mut self) {
        if let Some(wakes) = self.storage.wakes() {
            self.poller.forget(wakes);
            self.outside_again = None;
            // `give` does not refuse this continuation.
            let _ = self.give(Task::Changes, Continuation::Outside);
        }
    }

    /// Revokes labels whose records other hosts changed, and asks the store again, which acknowledges the changes.
    fn follow_outside(&mut self, outcome: TaskOutcome) {
        match outcome {
            TaskOutcome::Changes(changes) if changes == Changes::NONE => {
                if let Err(error) = self.watch_outside() {
                    tracing::error!("other hosts' changes of key records are only polled for: {error}");
                    self.outside_again = Some(world::now() + super::LOOK_EVERY);
                }
            }
            TaskOutcome::Changes(changes) => {
                let taken = match changes {
                    Changes::Labels(labels) => {
                        labels.iter().flat_map(|label| self.labels.take_label(label)).collect()
                    }
                    Changes::Any => self.labels.take_tenants(|_| true),
                };
                self.revoke_taken(&taken);
                self.ask_outside();
            }
            outcome => {
                if let TaskOutcome::Failed(refusal) = outcome {
                    log_failure(&refusal);
                }
                self.outside_again = Some(world::now() + super::LOOK_EVERY);
            }
        }
    }

    /// Has the event loop watch for others' changes of records.
    pub(super) fn watch_outside(&self) -> std::io::Result<()> {
        match self.storage.wakes() {
            Some(wakes) => self.poller.watch(wakes, Source::Outside, Interest::Reading),
            None => Ok(()),
        }
    }

    /// Adds the records of a page whose keys the client may use, and asks for the next page until the reply is full. A
    /// client takes a reply with fewer rows for the last one.
    fn listed(&mut self, mut listing: Listing, rows: Vec<RecordRow>) {
        let Some(who) = self.clients.get(&listing.client).map(Client::who) else { return };
        let is_last = rows.len() < LIST_ROWS_MAX;
        let after = rows.last().map(|row| row.label.clone());
        let seen = |row: &RecordRow| !self.rights.may_open(who, &row.label).is_none();
        listing.rows.extend(rows.into_iter().filter(seen));
        let client = listing.client;
        if is_last || listing.rows.len() >= LIST_ROWS_MAX {
            listing.rows.truncate(LIST_ROWS_MAX);
            return self.reply(client, &ClientReply::Records(listing.rows), &[]);
        }
        let (store, pattern) = (listing.store, listing.pattern.clone());
        let job = Job::List { store, pattern, after, rows_max: LIST_ROWS_MAX };
        if let Err(refusal) = self.give(Task::Job(job), Continuation::List(listing)) {
            self.refuse(client, refusal);
        }
    }

    /// The uses of a tenant's entry for a label, the same for all processes of the tenant: cards cannot tell these
    /// apart.
    fn uses_of_entry(&self, tenant: u32, label: &Label) -> Uses {
        let owner = tenant < NAMED_TENANT && self.access.is_owner(tenant);
        self.rights.may_open(Who { tenant, owner }, label)
    }

    /// Updates the entries of the key table to their tenants' present rights. Cards see the change with the next
    /// request.
    pub(super) fn review_labels(&mut self) {
        let mut labels = std::mem::replace(&mut self.labels, OpenLabels::new(0));
        let (gone, changed) = labels.review(|tenant, label| self.uses_of_entry(tenant, label));
        self.labels = labels;
        for open in gone {
            tracing::info!(tenant = open.tenant, label = %open.label, "closed: its tenant may not use it any more");
            self.key_table.revoke(open.reference.slot);
        }
        for open in changed {
            tracing::info!(tenant = open.tenant, label = %open.label, uses = %open.uses, "other uses from now on");
            self.key_table.set_uses(open.reference.slot, open.uses);
        }
    }

    pub(super) fn open_label(&mut self, client: u64, label: Label) -> Result<(), Refusal> {
        let tenant = self.clients.get(&client).ok_or(Refusal::Denied)?.tenant();
        // Checked before the label is looked for: a client that may not open it does not learn whether it exists.
        if self.uses_of_entry(tenant, &label).is_none() {
            return Err(Refusal::Verb(code::ACCESS_DENIED));
        }
        if let Some(open) = self.labels.find(tenant, &label) {
            let reply = opened(open);
            self.labels.asked_for(client, tenant, &label);
            self.reply(client, &reply, &[]);
            return Ok(());
        }
        let after = Continuation::Open { client, tenant, label: label.clone() };
        self.give(Task::Job(Job::Find { label }), after)
    }

    fn put(
        &mut self,
        client: u64,
        opener: Opener,
        tenant: u32,
        label: Label,
        store: Store,
        token: &[u8],
    ) -> Result<ClientReply, Refusal> {
        if let Some(open) = self.labels.find(tenant, &label) {
            let reply = opened(open);
            self.labels.asked_for(client, tenant, &label);
            return Ok(reply);
        }
        if token.is_empty() {
            // A record without a key.
            return Err(Refusal::Verb(code::TOKEN_INVALID));
        }
        let exceeds =
            |server: &Self| server.labels.exceeds(opener, tenant, token.len(), server.key_table.free());
        // Entries of tenants that are gone stay, and count, until somebody needs their place.
        if exceeds(self).is_some() {
            self.revoke_absent();
        }
        let gone = self.labels.make_room(opener, tenant, token.len(), self.key_table.free());
        self.revoke_taken(&gone);
        let full = |bound: Bound, units: usize| {
            let whose = match bound {
                Bound::Tenant => " of this tenant",
                Bound::User => " of this user",
                Bound::Table => "",
            };
            // In the words of the settings: labels with keys as long as those that they are counted by.
            let limit = (units / KEY_TABLE_UNITS_PER_LABEL) as u64;
            Refusal::Full { what: format!("opened labels{whose} ([daemon] labels in the settings)"), limit }
        };
        if let Some((bound, units)) = exceeds(self) {
            return Err(full(bound, units));
        }
        let uses = self.uses_of_entry(tenant, &label);
        if uses.is_none() {
            // The settings changed while the label was looked for.
            return Err(Refusal::Verb(code::ACCESS_DENIED));
        }
        let note = note(store, &label);
        let reference = self
            .key_table
            .put_noted(tenant, uses, &note, token)
            .ok_or_else(|| full(Bound::Table, self.key_table.units()))?;
        let open =
            OpenLabel { tenant, label, store, token_bytes: token.len() as u32, reference, uses, opener };
        let reply = opened(&open);
        self.labels.insert(open, Some(client));
        Ok(reply)
    }

    fn revoke(&mut self, label: &Label) {
        let taken = self.labels.take_label(label);
        self.revoke_taken(&taken);
    }

    /// Removes the entries of tenants that have neither a connection nor a queue, unless none went since the last time.
    fn revoke_absent(&mut self) {
        if !std::mem::take(&mut self.someone_left) {
            return;
        }
        let present: HashSet<u32> = self
            .clients
            .values()
            .map(Client::tenant)
            .chain(self.queues.values().map(|queue| queue.grant.tenant))
            .collect();
        let taken = self.labels.take_absent(&present);
        self.revoke_taken(&taken);
    }

    fn revoke_taken(&mut self, taken: &[OpenLabel]) {
        for open in taken {
            self.key_table.revoke(open.reference.slot);
        }
    }
}

fn log_failure(refusal: &Refusal) {
    if let Refusal::Storage { operation, cause } = refusal {
        tracing::error!("{operation}: {cause}");
    }
}

fn opened(open: &OpenLabel) -> ClientReply {
    ClientReply::Opened { reference: open.reference, store: open.store, token_bytes: open.token_bytes }
}

/// The note of an entry for a later daemon: its store and label, at most 67 bytes.
pub(super) fn note(store: Store, label: &Label) -> Vec<u8> {
    postcard::to_stdvec(&(store, label)).unwrap_or_default()
}

/// Store and label from a note; `None` if the note does not parse.
pub(super) fn noted(note: &[u8]) -> Option<(Store, Label)> {
    postcard::from_bytes(note).ok()
}

/// Upper bound of labels and tokens in one page, in bytes: the rest of the page's message is for their lengths.
const TOKENS_BYTES_MAX: usize = CONTROL_BYTES_MAX / 4 * 3;
/// Upper bound of the jobs that wait for the storage thread; each connection has at most one.
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
