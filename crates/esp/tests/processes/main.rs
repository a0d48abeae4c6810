//! The programs of the data plane, as processes in network namespaces: their commands, what becomes of clear text
//! whatever ends, keys, and whoever speaks to their sockets.

mod check;
mod clear_text;
mod commands;
mod counts;
mod fragments;
mod hostile;
mod keys;
mod many;
mod measured;
mod mounts;
mod net;
mod paths;
mod plane;
mod refused;
mod rekeying;
mod scheduling;
#[path = "../../../plane/tests/common/spaces.rs"]
mod spaces;
mod stopped;
mod xfrm;
