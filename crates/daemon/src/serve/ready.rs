//! Tells the program that started the daemon, and the service manager, that the cards are ready.

use crate::manager::notify;
use std::fs::File;
use std::io::Write;

/// Who is told, once, that every card is ready or never will be.
#[derive(Debug, Default)]
pub struct Ready {
    /// The file that gets `ready` and a line feed, and is closed.
    pub line: Option<File>,
    /// Whether readiness was announced.
    said: bool,
    /// Whether a service manager is told.
    managed: bool,
}

impl Ready {
    /// Notifies through this file, and the service manager if there is one.
    pub fn new(line: Option<File>) -> Self {
        Self { line, said: false, managed: std::env::var_os("NOTIFY_SOCKET").is_some() }
    }

    /// Whether readiness was announced.
    pub fn is_said(&self) -> bool {
        self.said
    }

    /// Whether anybody waits for the announcement.
    pub fn is_awaited(&self) -> bool {
        self.line.is_some() || self.is_managed()
    }

    /// Whether a service manager is told.
    pub fn is_managed(&self) -> bool {
        self.managed
    }

    /// Reports that every card is ready, or never will be. Only the first call has an effect.
    pub fn announce(&mut self) {
        if self.said {
            return;
        }
        self.said = true;
        tracing::info!("ready");
        if let Some(mut line) = self.line.take() {
            // The reader may be gone.
            let _ = line.write_all(b"ready\n");
        }
        notify("READY=1");
    }
}
