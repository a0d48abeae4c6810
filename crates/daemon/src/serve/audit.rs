//! Writing an auditor's line as a request ends.

use super::Daemon;
use crate::audit::{Act, Ended, Written, process_name};
use link::world;

/// Who a line is about.
#[derive(Clone, Debug)]
pub(super) struct Asker {
    pub(super) user: u32,
    pub(super) pid: u32,
    pub(super) tenant: u32,
}

impl Daemon {
    /// A request of this client ended so.
    pub(super) fn audit(&mut self, asker: &Asker, act: &Act, ended: &Ended) {
        if !act.always && !ended.denied {
            return;
        }
        let left_out = match ended.denied.then(|| self.refused_lines.take(asker.user, world::now())) {
            Some(Written::LeftOut) => return,
            Some(Written::Line(left_out)) => left_out,
            None => 0,
        };
        let name = self.user_names.of(asker.user);
        let Asker { user, pid, tenant } = *asker;
        let process = process_name(pid);
        let (act, object, result) = (act.what, &act.object, &ended.how);
        if left_out == 0 {
            tracing::info!(target: "audit", act, object, result, user, name, pid, process, tenant, "audit");
        } else {
            tracing::info!(target: "audit", act, object, result, user, name, pid, process, tenant, left_out, "audit");
        }
    }
}
