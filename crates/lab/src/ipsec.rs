//! IPsec between two network namespaces: our data plane, strongSwan's libipsec, wireguard-go and the kernel, under the
//! workloads of the published Linux report.
//!
//! - [`desk`]: the programs, and a folder for what they are told. [`suite`]: suites as each of them names them.
//! - [`tunnel`]: one tunnel of one kind, with what is asked of it; [`strongswan`], [`wireguard`] and [`ours`] start
//!   one. [`flood`]: packets of ESP that are sent to one.
//! - [`promised`]: rows of `make bench`. [`tables`]: the published workloads in a report.

pub mod desk;
pub mod flood;
mod ours;
pub mod promised;
mod strongswan;
pub mod suite;
pub mod tables;
pub mod tunnel;
mod wireguard;

/// Runs the end of a tunnel that this process was started for; none if it was started for no such work.
pub fn serve_if_asked() -> Option<Result<(), crate::load::LabError>> {
    tunnel::serve_if_asked().or_else(flood::serve_if_asked)
}
