//! Puts back what others took away: a device that was removed or set down, rules and routes that were flushed by hand or by a program that manages networks.
//! Without its rules, what policies protect would leave in clear.

use std::io;

use super::error::{ServeError, system};
use super::net::{Link, Net};
use super::{Supervisor, quiet};

/// Makes the device, or finds one that is there, and sets it up with an MTU in bytes. It stays when nobody has it open.
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
    /// Looks at everything that was set, and sets again what is not there.
    pub(super) fn repair(&mut self) {
        if let Err(cause) = self.try_repair() {
            tell!("putting back what others changed: {cause}");
        }
        self.set_all_routes();
    }

    /// Makes the egress filter anew where others have changed its tables, as `nft flush ruleset` does.
    pub(super) fn repair_filter(&mut self) {
        let Some(Ok((filter, news))) = &mut self.filter else { return };
        match filter.repair(news.take(filter.port(), super::filter::TABLE)) {
            None => {}
            Some(Ok(())) => tell!("others changed the egress filter: it is made again"),
            Some(Err(refused)) => tell!("{}", refused.text),
        }
    }

    fn try_repair(&mut self) -> Result<(), ServeError> {
        // First what keeps packets in.
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
                // Its queues are those of the device that is gone. Its end is noticed by its channel.
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
