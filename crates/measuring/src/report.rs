//! `cryptand report`.

use clap::{Args, Subcommand, ValueEnum};
use std::path::PathBuf;

/// `cryptand report`.
#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Report {
    /// Compare two reports instead
    #[command(subcommand)]
    pub command: Option<ReportCommand>,
    /// Folder for report.html, report.json and CSV; an interrupted run in it is resumed
    #[arg(long, default_value = "cryptand-report", value_name = "DIR")]
    pub output: PathBuf,
    /// At most two minutes: shorter runs, every table
    #[arg(long)]
    pub quick: bool,
    /// Only compare native with a tenant in a container; the result is added to a report in the folder
    #[arg(long)]
    pub container: bool,
    /// With --container, only cases whose name holds this text
    #[arg(long, value_name = "TEXT", requires = "container")]
    pub filter: Option<String>,
    /// Only this part of what goes beyond the published tables
    #[arg(long, value_name = "PART", conflicts_with = "container")]
    pub only: Option<ReportPart>,
    /// Only say what would run and how long it takes
    #[arg(long)]
    pub plan: bool,
    /// Start over even if an interrupted run could be resumed
    #[arg(long)]
    pub fresh: bool,
}

/// A part of a report that can be measured alone.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReportPart {
    /// One tenant on shared and on dedicated cards
    Shared,
    /// One tenant, and many
    Tenants,
    /// How the load divides between two cards
    Balance,
    /// How the rate grows with the jobs
    Jobs,
    /// How cards and callers wait
    Waiting,
    /// OpenPGP files
    Openpgp,
    /// TLS with keys on cards
    Tls,
    /// Workloads over IPsec
    Ipsec,
}

/// `cryptand report compare`.
#[derive(Subcommand, Debug)]
pub enum ReportCommand {
    /// Compare two reports, row by row
    Compare {
        /// Folder or report.json of the first
        a: PathBuf,
        /// Folder or report.json of the second
        b: PathBuf,
    },
}
