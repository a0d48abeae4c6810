//! Calls as lines: a JSON object in, a JSON object out, in order, over one connection.
//!
//! ```text
//! {"id": 7, "verb": "mac-generate", "domain": 0, "parameters": {...}}
//! {"id": 7, "return_code": 0, "reason_code": 0, "meaning": "done", "mac": "hex:..."}
//! {"id": 8, "error": "no verb is called mac-make; `cryptand verb` lists them"}
//! ```
//! A line that cannot be called, or whose call fails, is answered with `error`, and reading continues. The command ends
//! at the end of the input, with 0 unless reading or writing fails.

use super::{PARAMETERS_BYTES_MAX, call, find};
use crate::failure::Failure;
use facility::Facility;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::io::{BufRead, Read, Write};

/// One call: a line of input.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    /// The caller's identifier of the call, repeated in the answer.
    #[serde(default)]
    id: Option<Value>,
    verb: String,
    #[serde(default)]
    parameters: Map<String, Value>,
    domain: Option<u16>,
}

/// Answers each line of standard input.
pub fn serve(facility: &Facility, domain: u16) -> Result<(), Failure> {
    let (mut input, mut output) = (std::io::stdin().lock(), std::io::stdout().lock());
    let mut line = Vec::new();
    loop {
        line.clear();
        let read = (&mut input).take(PARAMETERS_BYTES_MAX).read_until(b'\n', &mut line);
        let read = read.map_err(Failure::io("read a call from standard input"))?;
        if read == 0 {
            return Ok(());
        }
        if line.last() != Some(&b'\n') && read as u64 == PARAMETERS_BYTES_MAX {
            return Err(Failure::Usage(format!("a call is longer than {PARAMETERS_BYTES_MAX} bytes")));
        }
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        let answer = answer(facility, domain, &line);
        // An answer is out before the next call is read: the caller may wait for it.
        writeln!(output, "{answer}")
            .and_then(|()| output.flush())
            .map_err(Failure::io("write an answer to standard output"))?;
    }
}

fn answer(facility: &Facility, domain: u16, line: &[u8]) -> Value {
    let read: Line = match serde_json::from_slice(line) {
        Ok(read) => read,
        Err(error) => return json!({ "error": format!("this line is not a valid call: {error}") }),
    };
    let called = find(&read.verb)
        .and_then(|verb| call(facility, verb, read.domain.unwrap_or(domain), &read.parameters, &[]));
    let mut answer = match called {
        Ok((answer, _)) => answer,
        Err(failure) => json!({ "error": failure.to_string() }),
    };
    if let (Some(id), Some(fields)) = (read.id, answer.as_object_mut()) {
        fields.insert("id".into(), id);
    }
    answer
}
