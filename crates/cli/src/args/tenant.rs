//! The command line of `cryptand tenant`.

use super::Json;
use clap::{Args, Subcommand, ValueEnum, ValueHint};
use std::path::PathBuf;
use wire::pattern::{LabelPattern, LabelRule};
use wire::tenant::Dedicated;
use wire::uses::Uses;

const EXAMPLES: &str = "\
Examples:
  cryptand tenant add web --user www-data --weight 2
  cryptand tenant credential web --output web.credential
  CRYPTAND_CREDENTIAL_FILE=web.credential cryptand verb mac-generate ...
  cryptand tenant set web --dedicate 1 --dedicate 2:40     all of card 1, 40 % of card 2
  cryptand tenant set web --role trusted --label 'WEB.*' --label 'CA.SIGN:verify'
  cryptand tenant set web --per-second 500 --in-flight 8
  cryptand tenant set web --clear dedicated --clear users

A change takes effect at once, is written to settings.toml, and is refused where it would leave a
tenant without a card that it needs.";

const CREDENTIAL_EXAMPLES: &str = "\
Examples:
  cryptand tenant credential web -o web.credential               a first one, or one beside the one before
  cryptand tenant credential web --end-former                    once all processes show the new one
  cryptand tenant credential web -o web.credential --end-former  both in one, as once a month
  cryptand tenant credential web -o web.credential --revoke      a credential was stolen
  cryptand tenant set web --clear credential                     none at all

Two are valid at the most: a further one is refused until the former one is ended. `cryptand tenant
list` shows where two are.";

/// `cryptand tenant`.
#[derive(Subcommand, Debug)]
#[command(after_help = EXAMPLES)]
pub enum Tenant {
    /// Show the tenants: users, cards and limits (only the owner sees tenants other than his own)
    List(Json),
    /// Make a tenant
    #[command(after_help = EXAMPLES)]
    Add {
        /// Its name: letters, digits, - and _, at most 32
        name: String,
        /// Who it is and what it may use
        #[command(flatten)]
        options: TenantOptions,
    },
    /// Change the options that are given; a list that is given replaces the earlier one
    #[command(after_help = EXAMPLES)]
    Set {
        /// Its name
        name: String,
        /// What changes
        #[command(flatten)]
        options: TenantOptions,
        /// Empty this list, or remove the credentials
        #[arg(long, value_name = "WHAT")]
        clear: Vec<Clearable>,
    },
    /// Remove a tenant and end its queues; each of its users is a separate tenant again, if they may use the home
    Remove {
        /// Its name
        name: String,
    },
    /// End a tenant's quarantine, which began because cards died over its requests (`cryptand status` shows them)
    Lift {
        /// The tenant's name; the user's name for a user without a tenant
        name: String,
    },
    /// Draw a new credential for a tenant; the current one stays valid beside it, until --end-former
    #[command(after_help = CREDENTIAL_EXAMPLES)]
    Credential {
        /// The tenant's name
        name: String,
        /// Where to write it: a new file that only its owner can read, or a file with a credential of
        /// this tenant, which is replaced. Processes show it by CRYPTAND_CREDENTIAL_FILE
        #[arg(short = 'o', long, value_name = "FILE", value_hint = ValueHint::FilePath)]
        #[arg(required_unless_present = "end_former")]
        output: Option<PathBuf>,
        /// End the former credential: processes that show it are disconnected and refused. With --output the
        /// current one becomes the former one
        #[arg(long)]
        end_former: bool,
        /// End every credential that the tenant has at once, for instance if one was stolen: only the new one
        /// is valid. Processes that show another are disconnected and refused
        #[arg(long, requires = "output", conflicts_with = "end_former")]
        revoke: bool,
    },
}

/// What a tenant is and may use.
#[derive(Args, Debug, Default)]
pub struct TenantOptions {
    /// A user whose processes belong to it (repeat for more)
    #[arg(long = "user", value_name = "NAME")]
    pub users: Vec<String>,
    /// A group whose members' processes belong to it (repeat for more)
    #[arg(long = "group", value_name = "NAME")]
    pub groups: Vec<String>,
    /// A domain that it may use (repeat for more); without any, all
    #[arg(long = "domain", value_name = "N")]
    pub domains: Vec<u16>,
    /// Its role: what it may do (`cryptand role list`); without one a guest's
    #[arg(long, value_name = "ROLE")]
    pub role: Option<String>,
    /// Labels that it may open, instead of those of its role, and what for (repeat for more)
    #[arg(long = "label", value_name = "PATTERN[:USE[+USE]]", value_parser = label_rule)]
    pub labels: Vec<LabelRule>,
    /// Weight against other tenants of a shared card, 1 to 1000 (default: 1)
    #[arg(long, value_name = "N")]
    pub weight: Option<u32>,
    /// Most requests in flight over all cards (0: no limit)
    #[arg(long, value_name = "N")]
    pub in_flight: Option<u32>,
    /// Most requests in flight on one card (0: no limit)
    #[arg(long, value_name = "N")]
    pub in_flight_per_card: Option<u32>,
    /// Most requests per second over all cards (0: no limit)
    #[arg(long, value_name = "N")]
    pub per_second: Option<u32>,
    /// A card for this tenant only, or a percentage of one (repeat for more)
    #[arg(long, value_name = "CARD[:PERCENT]", value_parser = dedicated)]
    pub dedicate: Vec<Dedicated>,
    /// With dedicated cards: use the shared ones as well
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub also_shared: Option<bool>,
}

/// What `tenant set --clear` empties.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clearable {
    /// No users
    Users,
    /// No groups
    Groups,
    /// No credential, current or former
    Credential,
    /// All domains
    Domains,
    /// No dedicated cards
    Dedicated,
    /// A guest's role
    Role,
    /// The labels of its role
    Labels,
}

fn dedicated(text: &str) -> Result<Dedicated, String> {
    let (card, percent) = text.split_once(':').unwrap_or((text, "100"));
    let card =
        card.parse().map_err(|_| format!("{card:?} is not a card: give its index, such as 2 or 2:40"))?;
    match percent.parse() {
        Ok(share_percent @ 1..=100) => Ok(Dedicated { card, share_percent }),
        _ => Err(format!("{percent:?} is not a percentage: give 1 to 100, such as {card}:40")),
    }
}

/// A pattern of labels, and after a colon the allowed uses; without a colon, every use of the key.
fn label_rule(text: &str) -> Result<LabelRule, String> {
    let (pattern, uses) = text.split_once(':').unwrap_or((text, "use"));
    let pattern = LabelPattern::new(pattern).map_err(|error| error.to_string())?;
    let mut sum = Uses::NONE;
    for name in uses.split('+') {
        let known = || Uses::NAMES.map(|(known, _)| known).join(", ");
        let uses = Uses::from_name(name);
        sum = sum.union(uses.ok_or_else(|| format!("there is no use {name:?}; known are {}", known()))?);
    }
    Ok(LabelRule { pattern, uses: sum })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_rule_is_a_pattern_and_uses() {
        let uses = |text: &str| label_rule(text).map(|rule| (rule.pattern.to_string(), rule.uses));
        assert_eq!(uses("SHOP.*"), Ok(("SHOP.*".into(), Uses::USE)));
        let two = Uses::MAC_VERIFY.union(Uses::READ);
        assert_eq!(uses("A:mac-verify+read"), Ok(("A".into(), two)));
        for bad in ["", "shop", "A..B", "A:", "A:coffee", "A:use+"] {
            assert!(label_rule(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_share_is_a_card_and_a_percentage() {
        assert_eq!(dedicated("3"), Ok(Dedicated { card: 3, share_percent: 100 }));
        assert_eq!(dedicated("3:40"), Ok(Dedicated { card: 3, share_percent: 40 }));
        for bad in ["", "x", "-1", "3:", "3:0", "3:101", "3:x", "3:4:5"] {
            assert!(dedicated(bad).is_err(), "{bad}");
        }
    }
}
