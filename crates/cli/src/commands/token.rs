//! `cryptand token`: key tokens as such, without a card.

use super::described;
use crate::args::Token;
use crate::describe::describe;
use crate::encoded;
use crate::failure::Failure;
use crate::output::{print, print_json};

/// Prints a token's fields; an error if the token has a defect.
pub fn run(order: &Token) -> Result<(), Failure> {
    let Token::Show { token: path, json } = order;
    let bytes = encoded::read(path)?;
    let found = describe(&bytes);
    if *json {
        print_json(&serde_json::json!({
            "bytes": bytes.len(), "fields": described::json(&found.fields), "problem": found.problem,
        }))?;
    } else {
        print(&described::text(&found.fields))?;
    }
    match found.problem {
        None => Ok(()),
        Some(problem) => Err(Failure::Usage(format!("{}: {problem}", encoded::shown(path)))),
    }
}
