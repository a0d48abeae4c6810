//! `cryptand metrics`: what cards and tenants do, for Prometheus. Every metric: docs/observing.md.
//!
//! | need | module |
//! |---|---|
//! | looks at the cards | [`crate::watch`] |
//! | which metrics there are | [`page`] |
//! | the text format | [`text`] |
//! | answering over HTTP, within bounds | [`server`] |

mod page;
mod server;
#[cfg(test)]
mod tests;
mod text;

use crate::args::Metrics;
use crate::failure::Failure;
use crate::session;
use crate::watch::Watcher;
use std::net::TcpListener;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Prints the metrics once, or serves them until stopped.
pub fn run(asked: Option<&Path>, metrics: &Metrics) -> Result<(), Failure> {
    // A service may begin before the daemon does, but not without a home.
    let folder = session::open_home(asked)?.folder().to_owned();
    let mut watcher = Watcher::new(folder);
    let Some(address) = metrics.listen else {
        let began = Instant::now();
        let look = watcher.first_look()?;
        return super::print(&page::page(&look, began.elapsed(), metrics.tenants));
    };
    let listening = format!("listen on {address}");
    let listener = TcpListener::bind(address).map_err(Failure::io(listening.as_str()))?;
    let address = listener.local_addr().map_err(Failure::io(listening.as_str()))?;
    eprintln!("http://{address}/metrics");
    let pages = Mutex::new(Pages { watcher, tenants: metrics.tenants, last: None });
    let page = || pages.lock().unwrap_or_else(PoisonError::into_inner).page();
    server::serve(&listener, server::Bounds::default(), &page).map_err(Failure::io(listening))
}

/// Makes the page, not more often than [`LOOK_EVERY`].
struct Pages {
    watcher: Watcher,
    tenants: u32,
    last: Option<(Instant, String)>,
}

impl Pages {
    fn page(&mut self) -> String {
        let began = Instant::now();
        if let Some((made, text)) = &self.last
            && began.saturating_duration_since(*made) < LOOK_EVERY
        {
            return text.clone();
        }
        let look = self.watcher.look();
        let text = page::page(&look, began.elapsed(), self.tenants);
        self.last = Some((Instant::now(), text.clone()));
        text
    }
}

/// Whoever asks more often gets the page before: how often the cards are looked at is not theirs to say.
const LOOK_EVERY: Duration = Duration::from_millis(250);
