//! `cryptand metrics`: the activity of cards and tenants and the health of the home, for Prometheus.
//! docs/howto/observing.md lists every metric.
//!
//! | need | module |
//! |---|---|
//! | read the cards' samples | [`crate::watch`] |
//! | the metrics | [`page`] |
//! | the text format | [`text`] |
//! | answering over HTTP, within bounds | [`server`] |

mod page;
mod server;
#[cfg(test)]
mod tests;
mod text;

use crate::args::Metrics;
use crate::commands::health::Health;
use crate::failure::Failure;
use crate::output::print;
use crate::session;
use crate::watch::Watcher;
pub use server::Site;
use server::{Bounds, serve};
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use wire::control::HealthState;

/// Prints the metrics once, or serves them until stopped.
pub fn run(asked: Option<&Path>, metrics: &Metrics) -> Result<(), Failure> {
    // The exporter may start before the daemon, but not without a home.
    let folder = session::open_home(asked)?.folder().to_owned();
    let mut watcher = Watcher::new(folder);
    let Some(address) = metrics.listen else {
        let began = Instant::now();
        let look = watcher.first_look()?;
        return print(&page::page(&look, began.elapsed(), metrics.tenants));
    };
    listen(address, &Mutex::new(Pages { watcher, tenants: metrics.tenants, last: None }))
}

/// Serves the metrics of a site at an address until stopped.
pub fn listen(address: SocketAddr, site: &(dyn Site + Sync)) -> Result<(), Failure> {
    let listening = format!("listen on {address}");
    let listener = TcpListener::bind(address).map_err(Failure::io(listening.as_str()))?;
    let address = listener.local_addr().map_err(Failure::io(listening.as_str()))?;
    eprintln!("http://{address}/metrics");
    if let Err(error) = home::notify("READY=1") {
        eprintln!("cryptand: the service manager was not told that the page is served: {error}");
    }
    serve(&listener, Bounds::default(), site).map_err(Failure::io(listening))
}

/// Looks at the home, not more often than [`LOOK_EVERY`].
struct Pages {
    watcher: Watcher,
    tenants: u32,
    last: Option<(Instant, Made)>,
}

/// The answers made of one look: the page of metrics, and the health.
#[derive(Clone)]
struct Made {
    metrics: String,
    health: Health,
}

impl Site for Mutex<Pages> {
    fn metrics(&self) -> String {
        self.lock().unwrap_or_else(PoisonError::into_inner).made().metrics
    }

    fn health(&self) -> (bool, String) {
        let health = self.lock().unwrap_or_else(PoisonError::into_inner).made().health;
        // Serialising this value cannot fail.
        let json = serde_json::to_string(&health).unwrap_or_default();
        (matches!(health.state, HealthState::Healthy | HealthState::Degraded), json + "\n")
    }
}

impl Pages {
    fn made(&mut self) -> Made {
        let began = Instant::now();
        if let Some((at, made)) = &self.last
            && began.saturating_duration_since(*at) < LOOK_EVERY
        {
            return made.clone();
        }
        let look = self.watcher.look();
        let metrics = page::page(&look, began.elapsed(), self.tenants);
        let made = Made { metrics, health: Health::of_look(&look) };
        self.last = Some((Instant::now(), made.clone()));
        made
    }
}

/// More frequent requests get the previous page, so that clients do not decide how often the cards are read.
const LOOK_EVERY: Duration = Duration::from_millis(250);
