//! Keeps the memory of this process, with parts of master keys, passphrases and keys, out of core files and out of the
//! reach of other processes.

use crate::failure::Failure;
use rustix::process::{DumpableBehavior, Resource, Rlimit, set_dumpable_behavior, setrlimit};

/// Stops core files from here on, and keeps other processes of the same user from tracing this one or reading its
/// memory. An executed program keeps only the limit on core files.
pub fn enter() -> Result<(), Failure> {
    let none = Rlimit { current: Some(0), maximum: Some(0) };
    let left =
        setrlimit(Resource::Core, none).and_then(|()| set_dumpable_behavior(DumpableBehavior::NotDumpable));
    left.map_err(|cause| Failure::io("keep this process out of core files")(cause.into()))
}
