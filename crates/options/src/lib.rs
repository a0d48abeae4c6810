//! What is typed after the commands that other programs carry out: `cryptand tls`, `cert` and `ipsec`.
//!
//! Each option stands here once, with its range, its default and its help. `cryptand` parses the command line with
//! these definitions, and hands a whole object of JSON on. The program reads the same definitions, and asks nothing of
//! clap, which so is no part of it.
#![forbid(unsafe_code)]

pub mod cert;
pub mod ipsec;
pub mod tls;

use clap::{Args, Command};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// Options of which some have other values, by the names of their fields.
///
/// # Errors
/// Where there is no such field, or it has no such values.
pub fn changed<T: Serialize + DeserializeOwned>(
    options: &T,
    fields: Map<String, Value>,
) -> serde_json::Result<T> {
    let mut all: Map<String, Value> = serde_json::from_value(serde_json::to_value(options)?)?;
    all.extend(fields);
    serde_json::from_value(all.into())
}

/// What a command means that has its target alone, an empty one: clap's own defaults.
fn usual<T: Args>() -> T {
    let matches = T::augment_args(Command::new("cryptand")).get_matches_from(["cryptand", ""]);
    T::from_arg_matches(&matches).unwrap_or_else(|error| error.exit())
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::{CommandFactory, Parser, Subcommand};
    use std::fmt::Debug;

    #[derive(Parser)]
    struct Line<C: Subcommand> {
        #[command(subcommand)]
        command: C,
    }

    fn typed<C: Subcommand>(line: &str) -> C {
        let line: Line<C> = Parser::parse_from(["cryptand"].into_iter().chain(line.split(' ')));
        line.command
    }

    fn is_read_as_written<T: Serialize + DeserializeOwned + Debug>(options: &T) {
        let read: T = serde_json::from_str(&serde_json::to_string(options).unwrap()).unwrap();
        assert_eq!(format!("{read:?}"), format!("{options:?}"));
    }

    #[test]
    fn what_was_typed_is_read_as_it_was_handed_on() {
        Line::<ipsec::Asked>::command().debug_assert();
        Line::<cert::Cert>::command().debug_assert();
        for line in [
            "check --json",
            "up --device tun1 --mtu 1400 --threads 2 --weak-suites --no-egress-filter --keep --folder /a",
            "down --folder /a",
            "status",
            "top --every 2 --count 3",
            "sa list",
            "policy list --json",
            "capture --give-keys-away --seconds 5 /b",
        ] {
            is_read_as_written(&typed::<ipsec::Asked>(line));
        }
        for line in [
            "request WEB.EC1 shop.example --organization A --country DE",
            "self-signed WEB.EC1 localhost --days 3 --output c.pem",
            "install WEB.EC1 chain.pem --name shop.example",
            "show - --pem",
            "check WEB.EC1 --domain 1 --roots r.pem",
        ] {
            is_read_as_written(&typed::<cert::Cert>(line));
        }
        is_read_as_written(&tls::Drive { seconds: Some(0.1), ..tls::Drive::default() });
        is_read_as_written(&ipsec::Load { rate: Some(0.1), ..ipsec::Load::default() });
        is_read_as_written(&ipsec::Serve::at("[::1]:1".to_owned()));
    }

    #[test]
    fn a_label_is_one_where_no_file_is_called_so() {
        let needs = |line: &str| typed::<cert::Cert>(line).needs_home();
        assert!(needs("show WEB.EC1") && needs("check WEB.EC1") && needs("check chain.pem --label WEB.EC1"));
        assert!(!needs("show chain.pem") && !needs("show -") && !needs("check ./WEB.EC1"));
    }

    #[test]
    fn fields_are_changed_by_their_names() {
        let fields = |text: &str| changed(&tls::Drive::default(), serde_json::from_str(text).unwrap());
        let drive = fields(r#"{"target": "a", "send": 2}"#).unwrap();
        assert_eq!((drive.target.as_str(), drive.send), ("a", 2));
        assert_eq!(drive.connections, tls::Drive::default().connections);
        assert!(fields(r#"{"sent": 2}"#).is_err() && fields(r#"{"send": -2}"#).is_err());
    }
}
