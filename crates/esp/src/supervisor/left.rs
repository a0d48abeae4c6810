//! Removal of the state that a data plane leaves in its network namespace and its folder.

use super::claim::Claim;
use super::error::ServeError;
use super::net::{Net, NetError};
use crate::folder::PlaneFolder;
use std::fs;

/// Removes what a data plane left that was killed or ended with `keep`: rules, routes, egress filter, device and
/// journal. True if there was anything to remove.
///
/// # Errors
/// [`ServeError`]; [`ServeError::Taken`] if a supervisor serves.
pub fn clear(plane: &PlaneFolder) -> Result<bool, ServeError> {
    if !plane.lock().exists() {
        return Ok(false);
    }
    let claim = Claim::take(plane)?;
    if claim.noted().is_none() && !plane.journal().exists() {
        return Ok(false);
    }
    take_away(plane, &claim, &mut Net::open()?)?;
    Ok(true)
}

/// Removes everything; goes on after an error, so that as little as possible is left.
///
/// # Errors
/// The last error. The device's name stays noted in the lock if anything is left.
pub(super) fn take_away(plane: &PlaneFolder, claim: &Claim, net: &mut Net) -> Result<(), NetError> {
    let mut failed = Ok(());
    let mut keep = |done: Result<(), NetError>| {
        if done.is_err() {
            failed = done;
        }
    };
    keep(super::filter::clear().map_err(|cause| NetError::new("removing the egress filter", cause)));
    match net.routed(None) {
        Ok(routed) => routed.into_keys().for_each(|destination| keep(net.remove_routes(destination))),
        Err(cause) => keep(Err(cause)),
    }
    keep(net.remove_rules());
    match (claim.noted(), net.links()) {
        (Some(name), Ok(links)) => {
            if let Some(link) = links.iter().find(|link| link.name == name) {
                keep(net.remove_link(link));
            }
        }
        (None, _) => {}
        (_, Err(cause)) => keep(Err(cause)),
    }
    remove_sockets(plane);
    let _ = fs::remove_file(plane.journal());
    if failed.is_ok() {
        claim.forget();
    }
    failed
}

/// Removes the paths of sockets at which nobody listens any more.
pub(super) fn remove_sockets(plane: &PlaneFolder) {
    for socket in [plane.xfrm_socket(), plane.plane_socket(), plane.observe_socket()] {
        let _ = fs::remove_file(socket);
    }
}
