//! The service manager.

/// Tells the service manager, where there is one.
pub fn notify(state: &str) {
    if let Err(error) = home::notify(state) {
        tracing::warn!("the service manager was not told {state}: {error}");
    }
}
