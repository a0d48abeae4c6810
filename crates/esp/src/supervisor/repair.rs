//! Puts back missing state: a device that was removed or set down, and rules, routes and the egress filter that were
//! flushed by hand or by a network manager. Without these, traffic that policies protect would leave in clear; a repair
//! that fails is tried again each second.

use super::error::{ServeError, system};
use super::filter::Filter;
use super::net::{Link, Net};
use super::{Supervisor, quiet};
use crate::messages::{Order, Refused};
use std::io;
use std::time::{Duration, Instant};

/// Pause before a failed repair is tried again.
const RETRY_WAIT: Duration = Duration::from_secs(1);

/// Makes the device, or finds an existing one, and sets it up with an MTU in bytes. It stays when no process has it
/// open.
///
/// # Errors
/// [`ServeError`].
pub fn make_device(net: &mut Net, name: &str) -> Result<Link, ServeError> {
    plane::open_tun(name, 1, true).map(drop).map_err(ServeError::Device)?;
    let missing = || io::Error::new(io::ErrorKind::NotFound, "the device that was made is not there");
    let link = net.links()?.into_iter().find(|link| link.name == name);
    let link = link.ok_or_else(|| system("finding the device")(missing()))?;
    quiet(&link.name);
    Ok(link)
}

impl Supervisor<'_> {
    /// Checks the device, rules, routes and egress filter, and puts back missing parts.
    pub(super) fn repair(&mut self) {
        if let Err(cause) = self.try_repair() {
            tell!("putting back what others changed: {cause}");
        }
        self.set_all_routes();
    }

    /// Makes the egress filter anew if others have changed its tables, as `nft flush ruleset` does.
    pub(super) fn repair_filter(&mut self) {
        match self.filter.as_mut().and_then(Filter::repair) {
            None => {}
            Some(Ok(())) => tell!("others changed the egress filter: it is made again"),
            Some(Err(refused)) => self.tell_refused(refused),
        }
    }

    /// Repeats failed repairs that are due, lets a worker serve that waits for the egress filter, and tells the worker
    /// whether a filter is in force.
    pub(super) fn go_on(&mut self) {
        if self.retry_at.take_if(|at| *at <= Instant::now()).is_some() {
            if self.is_open {
                self.set_all_routes();
            }
            match self.filter.as_mut().filter(|filter| filter.is_broken()).map(Filter::rebuild) {
                None => {}
                Some(Ok(())) => tell!("the egress filter is in force"),
                Some(Err(refused)) => self.tell_refused(refused),
            }
        }
        let is_broken = self.filter.as_ref().is_some_and(Filter::is_broken);
        if !is_broken {
            self.refused = None;
        }
        match is_broken || self.is_open {
            true => _ = self.retry_at.get_or_insert_with(|| Instant::now() + RETRY_WAIT),
            false => self.retry_at = None,
        }
        let is_whole = self.filter.as_ref().is_some_and(Filter::is_whole);
        let Some(worker) = &mut self.worker else { return };
        // A worker that has ended is noticed by its channel.
        if std::mem::replace(&mut worker.has_filter, is_whole) != is_whole {
            let _ = worker.channel.send(&Order::EgressFilter(is_whole), &[]);
        }
        if worker.waits && !is_broken {
            worker.waits = false;
            let _ = worker.channel.send(&Order::Serve, &[]);
        }
    }

    /// Logs why the egress filter is not in force, once for each new reason.
    pub(super) fn tell_refused(&mut self, refused: Refused) {
        if self.refused.as_ref() != Some(&refused) {
            tell!("{}; it is tried again each second, and a worker that begins waits for it", refused.text);
            self.refused = Some(refused);
        }
    }

    fn try_repair(&mut self) -> Result<(), ServeError> {
        // The rules and routes that keep packets in come first.
        self.net.add_rules()?;
        let found = self.net.links()?.into_iter().find(|link| link.index == self.device.index);
        match found {
            Some(link) => self.device = link,
            None => {
                tell!(
                    "the device {} was removed: it is made again, and the worker starts anew",
                    self.device.name
                );
                self.device = make_device(&mut self.net, &self.settings.device)?;
                // The worker's queues are those of the removed device. Its end is noticed by its channel.
                if let Some(worker) = &mut self.worker {
                    let _ = worker.child.kill();
                }
            }
        }
        if !self.device.up {
            self.net.set_up(&self.device, self.mtu)?;
            self.device.up = true;
        }
        let routed = self.net.routed(Some(self.device.index))?;
        self.routes.found(|destination| routed.get(&destination).is_some_and(|routed| routed.is_whole()));
        Ok(())
    }
}
