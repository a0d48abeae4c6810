//! The command line of `cryptand role`.

use super::Json;
use clap::{Args, Subcommand};

const EXAMPLES: &str = "\
Examples:
  cryptand role list
  cryptand role show guest                         every access-control point, and who decides it
  cryptand role check web SHOP.MAC mac-verify      exit code 0: allowed, 3: refused
  cryptand role check owner SHOP.MAC CSNBMGN --json

Roles are tables [[role]] in settings.toml; `cryptand tenant set NAME --role ROLE` gives one to a tenant. What is shown
follows from the settings file as it is now: `cryptand reload` brings it into force.";

/// `cryptand role`.
#[derive(Subcommand, Debug)]
#[command(after_help = EXAMPLES)]
pub enum Role {
    /// Show the roles of the home, and who has them
    List(Json),
    /// Show what a role permits, point by point, and which labels it opens
    #[command(after_help = EXAMPLES)]
    Show {
        /// Its name
        role: String,
        /// How it is printed
        #[command(flatten)]
        output: Json,
    },
    /// Check whether someone may use a label's key in a verb, and by which access-control point or pattern
    #[command(after_help = EXAMPLES)]
    Check(RoleCheck),
}

/// `cryptand role check`.
#[derive(Args, Debug)]
pub struct RoleCheck {
    /// A tenant, a user of this machine, or `owner`
    pub who: String,
    /// The key label
    pub label: String,
    /// The verb: its name or its CCA entry point
    pub verb: String,
    /// How it is printed
    #[command(flatten)]
    pub output: Json,
}
