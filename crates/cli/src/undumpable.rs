//! Keeps the memory of this process, with parts of master keys, passphrases and keys, out of core files and out of the
//! reach of other processes.

use crate::failure::Failure;
use rustix::process::{DumpableBehavior, Resource, Rlimit, set_dumpable_behavior, setrlimit};

/// Leaves no core file from here on, and lets no process of the same user trace this one or read its memory. A program
/// that is executed begins anew: of this it keeps the limit alone.
pub fn enter() -> Result<(), Failure> {
    let none = Rlimit { current: Some(0), maximum: Some(0) };
    let left =
        setrlimit(Resource::Core, none).and_then(|()| set_dumpable_behavior(DumpableBehavior::NotDumpable));
    left.map_err(|cause| Failure::io("keep this process out of core files")(cause.into()))
}
