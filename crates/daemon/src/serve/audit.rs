//! Writing auditor's lines: when a request ends, and about requests that cards refused.

use super::Daemon;
use crate::audit::{Act, Ended, GUESTS_LINE_BYTES_MAX, process_name};
use crate::audit_log::TARGET;
use crate::bounded::Written;
use link::world;
use std::fmt::Write;
use std::time::Instant;
use wire::bounds::DENIALS_PER_NOTICE_MAX;
use wire::control::{Denial, Denied, DeniedBy};
use wire::point::Point;
use wire::verb::Entry;

/// The client that a line is about.
#[derive(Clone, Debug)]
pub(super) struct Asker {
    pub(super) user: u32,
    /// Id of its process; `None` if a card refused the request, since a card knows of users alone.
    pub(super) pid: Option<u32>,
    pub(super) tenant: u32,
    pub(super) administers: bool,
}

impl Daemon {
    /// Writes a line about a client's request that ended like this, if one is due and the allowances permit it.
    pub(super) fn audit(&mut self, asker: &Asker, act: &Act, ended: &Ended) {
        if !act.always && !ended.denied {
            return;
        }
        let now = world::now();
        let allowance = match (asker.administers, ended.denied) {
            // Administrators could change these lines anyway, and nobody else's lines are in their file.
            (true, _) => None,
            (false, true) => Some(&mut self.refused_lines),
            (false, false) => Some(&mut self.guests_lines),
        };
        let left_out = match allowance.map(|allowance| allowance.take(asker.user, now)) {
            Some(Written::LeftOut) => return,
            Some(Written::Line(left_out)) => match self.takes_of_day(asker.tenant, left_out, 1, now) {
                Some(left_out) => left_out,
                None => return,
            },
            None => 0,
        };
        self.write_audit(asker, act.what, &act.object, &ended.how, left_out, "");
    }

    /// Counts a line about `times` events as one of a tenant's day, and returns how many lines were left out before it,
    /// `left_out` among them. `None` if the tenant has had its lines of the day; then `left_out` is carried over.
    fn takes_of_day(&mut self, tenant: u32, left_out: u64, times: u64, now: Instant) -> Option<u64> {
        match self.guests_days.take_many(tenant, left_out.saturating_add(times), now) {
            Written::Line(more) => Some(left_out.saturating_add(more)),
            Written::LeftOut => None,
        }
    }

    /// Writes lines about requests that a card refused for want of a right.
    pub(super) fn denied(&mut self, card: u32, kinds: &[Denial], others: u64) {
        let now = world::now();
        // As many as one notice may hold: a card that was taken over claims what it likes, but within the bounds of all
        // lines.
        for &Denial { tenant, user, times, what } in kinds.iter().take(DENIALS_PER_NOTICE_MAX) {
            let Written::Line(left_out) = self.refused_lines.take_many(user, times, now) else { continue };
            let Some(left_out) = self.takes_of_day(tenant, left_out, times, now) else { continue };
            // That the requests were this user's is only the card's claim: the line does not go to the administrators'
            // file.
            let asker = Asker { user, pid: None, tenant, administers: false };
            let Some(Denied { verb, by, key }) = what else {
                let more = format!(" times={times}");
                self.write_audit(&asker, "use cards", "", "refused: more of this kind", left_out, &more);
                continue;
            };
            let entry = Entry::of_number(verb);
            let label = key.and_then(|key| self.labels.of_reference(tenant, key));
            let label = label.map_or(String::new(), |open| open.label.to_string());
            let point = match (by, entry) {
                (DeniedBy::TokenBytes, _) => Point::TokenBytes.entry().name,
                (DeniedBy::Verb | DeniedBy::Label, Some(entry)) => entry.point.entry().name,
                (DeniedBy::Answer, _) | (_, None) => "",
            };
            let result = match by {
                DeniedBy::Verb | DeniedBy::TokenBytes => "refused: the role lacks the point",
                DeniedBy::Label => "refused: not with this label",
                DeniedBy::Answer => "8/90",
            };
            let more = format!(" point={point:?} times={times}");
            self.write_audit(
                &asker,
                entry.map_or("call", |entry| entry.name),
                &label,
                result,
                left_out,
                &more,
            );
        }
        // A card may tell of them ten times a second.
        if others != 0
            && let Written::Line(left_out) = self.of_cards.take_many(card, others, now)
        {
            tracing::warn!(card, others, left_out, "cards refused more requests for want of a right");
        }
    }

    /// Writes a line about an act; `more` holds further fields, each after a space.
    fn write_audit(
        &mut self,
        asker: &Asker,
        act: &str,
        object: &str,
        result: &str,
        left_out: u64,
        more: &str,
    ) {
        let name = self.user_names.of(asker.user);
        let Asker { user, pid, tenant, administers } = *asker;
        let mut line = format!("act={act:?} object={object:?} result={result:?} user={user} name={name:?}");
        if let Some(pid) = pid {
            // Writing into a string does not fail.
            let _ = write!(line, " pid={pid} process={:?}", process_name(pid));
        }
        let _ = write!(line, " tenant={tenant}{more}");
        if left_out != 0 {
            let _ = write!(line, " left_out={left_out}");
        }
        if !administers {
            line.truncate(line.floor_char_boundary(GUESTS_LINE_BYTES_MAX));
        }
        self.audit_log.write(administers, &line);
        tracing::info!(target: TARGET, "audit {line}");
    }

    /// Writes how many lines that others caused were left out, as far as no later line has reported them.
    pub(super) fn tell_left_out(&mut self) {
        let now = world::now();
        self.strangers.tell_left_out(now);
        self.of_cards.tell_left_out(now);
        for allowance in [&mut self.refused_lines, &mut self.guests_lines, &mut self.guests_days] {
            if let Some(left_out) = allowance.left_out(now) {
                let line = format!(
                    "act=\"left out\" object=\"\" result=\"more lines like these\" left_out={} users={}",
                    left_out.lines, left_out.users
                );
                self.audit_log.write(false, &line);
                tracing::info!(target: TARGET, "audit {line}");
            }
        }
    }
}
