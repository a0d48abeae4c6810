//! Payment verbs for people: one request from options, or many from lines.
//!
//! | need | module |
//! |---|---|
//! | the arguments of a request, what it answers, and what its keys are | [`call`] |
//! | what options say, as parameters have it | [`fields`] |
//! | what to do about a refusal | [`hints`] |
//! | a request for each line of a file | [`many`] |

pub mod call;
pub mod fields;
pub mod hints;
mod many;

use crate::args::payment::{ClearPin, Many};
use crate::failure::Failure;
use crate::output::{print, print_json};
use crate::session;
use call::{Answer, Call};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;
use std::io::{IsTerminal, Read};
use std::path::Path;
use zeroize::Zeroizing;

/// Longest clear PIN in a file, with what stands around it, in bytes.
const PIN_FILE_BYTES_MAX: usize = 64;

/// Options that make a request, of the command line or of a line.
pub trait Order: Clone + Serialize + DeserializeOwned {
    /// The request.
    ///
    /// # Errors
    /// [`Failure::Usage`] for an option that is missing or is not what it has to be.
    fn call(&self) -> Result<Call, Failure>;

    /// The place for the clear PIN of one line, or of the command line for every line; none if the request takes no
    /// clear PIN.
    fn clear(&mut self) -> Option<&mut Option<ClearPin>> {
        None
    }
}

/// Runs the request of the command line once, or for each line.
pub fn run(asked: Option<&Path>, order: &impl Order, options: &Many) -> Result<(), Failure> {
    if let Some(file) = &options.lines {
        return many::run(&session::connect(asked)?, order, options, file);
    }
    conclude(answered(asked, order, options.domain)?, options.json)
}

/// Prints an answer; an error where a value does not verify.
pub fn conclude(answer: Answer, json: bool) -> Result<(), Failure> {
    let Answer::Verified { is_right, what, codes, verb } = answer else {
        return match json {
            true => print_json(&answer.json()),
            false => print(&format!("{}\n", answer.text())),
        };
    };
    if json {
        print_json(&json!({ "verified": is_right }))?;
    } else if is_right {
        print(&format!("the {what} verifies\n"))?;
    }
    if is_right { Ok(()) } else { Err(Failure::Verb { verb, codes }) }
}

/// Runs one request; returns its answer.
pub fn answered(asked: Option<&Path>, order: &impl Order, domain: u16) -> Result<Answer, Failure> {
    let call = order.call()?;
    let facility = session::connect(asked)?;
    let reply = facility.call(domain, &call.arguments())?;
    call.answer(&reply).map_err(|failure| call.with_near(&facility, failure))
}

/// The clear PIN in a file, or on standard input (`-`), where a terminal asks for it and does not show it.
pub fn clear_pin(path: &Path) -> Result<ClearPin, Failure> {
    let mut given = Zeroizing::new(Vec::with_capacity(PIN_FILE_BYTES_MAX + 2));
    if path == Path::new("-") {
        if std::io::stdin().is_terminal() {
            return Ok(ClearPin(crate::prompt::secret("PIN: ")?));
        }
        std::io::stdin().lock().take(PIN_FILE_BYTES_MAX as u64 + 1).read_to_end(&mut given)
    } else {
        std::fs::File::open(path)
            .and_then(|file| file.take(PIN_FILE_BYTES_MAX as u64 + 1).read_to_end(&mut given))
    }
    .map_err(Failure::io(format!("read {}", crate::encoded::shown(path))))?;
    let digits = given.trim_ascii();
    if given.len() > PIN_FILE_BYTES_MAX || !fields::is_pin(digits) {
        return Err(Failure::Usage(format!(
            "{}: expected a PIN of 4 to 16 digits, and nothing else",
            crate::encoded::shown(path)
        )));
    }
    Ok(ClearPin(Zeroizing::new(String::from_utf8_lossy(digits).into_owned())))
}
