//! The subcommand `version`.

use sop::Result;
use sop::ops::{self, VersionInfo};

/// Answers with the names and versions of the program and of the implementation behind it.
pub(crate) struct Version;

impl ops::Version<'_> for Version {
    fn frontend(&self) -> Result<VersionInfo> {
        Ok(VersionInfo { name: "cryptand-sop".to_owned(), version: env!("CARGO_PKG_VERSION").to_owned() })
    }

    fn backend(&self) -> Result<VersionInfo> {
        Ok(VersionInfo { name: "cryptand".to_owned(), version: env!("CARGO_PKG_VERSION").to_owned() })
    }

    fn extended(&self) -> Result<String> {
        Ok("RFC 9580, RFC 4880, RFC 9980; bulk data and private-key operations in cryptand's engine"
            .to_owned())
    }
}
