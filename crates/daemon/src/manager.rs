//! Messages to the service manager.

/// Tells the service manager this state (sd_notify(3)), if there is a service manager; a failure is logged.
pub fn notify(state: &str) {
    if let Err(error) = home::notify(state) {
        tracing::warn!("the service manager was not told {state}: {error}");
    }
}
