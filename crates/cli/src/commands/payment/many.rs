//! A request for each line of a file, many in flight, and an answer for each in its place.
//!
//! ```text
//! block=1B9C1845EB993A7A pan=4012345678909          -> 0123456789ABCDEF
//! {"id": 7, "block": "1B9C1845EB993A7A"}            -> {"block": "0123456789ABCDEF", "id": 7}
//! ```

use super::Order;
use super::call::{Answer, Call};
use crate::args::payment::{ClearPin, Many};
use crate::encoded::shown;
use crate::failure::Failure;
use facility::{Facility, FacilityError, Ticket};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde::de::value::MapDeserializer;
use serde_json::{Map, Value, json};
use std::collections::VecDeque;
use std::io::{BufRead, BufReader, IsTerminal, Read, Write};
use std::path::Path;
use zeroize::Zeroizing;

/// Requests in flight: enough for two passes of a card with 64 lanes.
const IN_FLIGHT_MAX: usize = 128;
/// Longest line in bytes.
const LINE_BYTES_MAX: usize = 8192;
/// Bytes of answers that are written together.
const OUTPUT_BYTES: usize = 1 << 16;

/// A line that was read: its own `id`, and its request.
struct Sent {
    id: Option<Value>,
    state: State,
}

enum State {
    Asked(Box<(Call, Result<Ticket, FacilityError>)>),
    /// The line is not a request.
    Misread(Failure),
}

/// Numbers of lines by result.
#[derive(Default)]
struct Outcome {
    lines: u64,
    failed: u64,
    not_verified: u64,
}

/// Answers each line of a file.
pub fn run<O: Order>(facility: &Facility, order: &O, options: &Many, path: &Path) -> Result<(), Failure> {
    let is_standard = path == Path::new("-");
    let (input, length): (Box<dyn Read>, _) = if is_standard {
        (Box::new(std::io::stdin()), None)
    } else {
        let file = std::fs::File::open(path).map_err(Failure::io(format!("read {}", shown(path))))?;
        let length = file.metadata().ok().map(|data| data.len());
        (Box::new(file), length)
    };
    let progress = progress(length);
    let mut input = BufReader::with_capacity(LINE_BYTES_MAX, input);
    let base = Base::of(order)?;
    let mut output = Output { json: options.json, text: Zeroizing::new(Vec::with_capacity(OUTPUT_BYTES)) };
    let (mut outcome, mut sent) = (Outcome::default(), VecDeque::with_capacity(IN_FLIGHT_MAX));
    // Space for the whole line, so that growing the buffer leaves no copy of a clear PIN.
    let mut line = Zeroizing::new(Vec::with_capacity(LINE_BYTES_MAX + 1));
    loop {
        line.clear();
        let read = (&mut input).take(LINE_BYTES_MAX as u64 + 1).read_until(b'\n', &mut line);
        let read = read.map_err(Failure::io(format!("read {}", shown(path))))?;
        if read == 0 {
            break;
        }
        if read > LINE_BYTES_MAX {
            output.write()?;
            return Err(Failure::Usage(format!(
                "{}: a line of more than {LINE_BYTES_MAX} bytes",
                shown(path)
            )));
        }
        progress.inc(read as u64);
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        let (id, called) = request::<O>(&base, &line, options.json);
        let state = match called {
            Err(failure) => State::Misread(failure),
            Ok(call) => {
                while sent.len() >= IN_FLIGHT_MAX {
                    take(&mut sent, &mut output, &mut outcome)?;
                }
                let mut ticket = facility.submit(options.domain, &call.arguments());
                while matches!(ticket, Err(FacilityError::Full { .. })) && !sent.is_empty() {
                    take(&mut sent, &mut output, &mut outcome)?;
                    ticket = facility.submit(options.domain, &call.arguments());
                }
                State::Asked(Box::new((call, ticket)))
            }
        };
        sent.push_back(Sent { id, state });
        if sent.len() >= IN_FLIGHT_MAX {
            take(&mut sent, &mut output, &mut outcome)?;
        }
    }
    while !sent.is_empty() {
        take(&mut sent, &mut output, &mut outcome)?;
    }
    output.write()?;
    progress.finish_and_clear();
    let Outcome { lines, failed, not_verified } = outcome;
    match (failed, not_verified) {
        (0, 0) => {
            eprintln!("{lines} lines: all done");
            Ok(())
        }
        _ => Err(Failure::Lines { lines, failed, not_verified }),
    }
}

/// A progress bar on standard error, hidden unless that is a terminal and standard output is none.
fn progress(length: Option<u64>) -> ProgressBar {
    let (bar, template) = match length.filter(|length| *length != 0) {
        Some(length) => (ProgressBar::new(length), "{bar:40} {bytes}/{total_bytes}, {eta} left"),
        None => (ProgressBar::new_spinner(), "{spinner} {bytes}, {elapsed}"),
    };
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    if std::io::stdout().is_terminal() {
        bar.set_draw_target(ProgressDrawTarget::hidden());
    }
    bar
}

/// Waits for the first answer that is not written yet, and writes it.
fn take(sent: &mut VecDeque<Sent>, output: &mut Output, outcome: &mut Outcome) -> Result<(), Failure> {
    let Some(Sent { id, state }) = sent.pop_front() else { return Ok(()) };
    let answer = match state {
        State::Misread(failure) => Err(failure),
        State::Asked(asked) => {
            let (call, ticket) = *asked;
            match ticket.and_then(Ticket::wait) {
                Ok(reply) => call.answer(&reply),
                Err(error) => Err(error.into()),
            }
        }
    };
    outcome.lines += 1;
    match &answer {
        Ok(Answer::Verified { is_right: false, .. }) => outcome.not_verified += 1,
        Ok(_) => {}
        Err(_) => outcome.failed += 1,
    }
    output.add(id, &answer)
}

/// Answers that are not yet written, which may include clear PINs.
struct Output {
    json: bool,
    text: Zeroizing<Vec<u8>>,
}

impl Output {
    fn add(&mut self, id: Option<Value>, answer: &Result<Answer, Failure>) -> Result<(), Failure> {
        let line = Zeroizing::new(match (answer, self.json) {
            (Ok(answer), false) => answer.text().to_owned(),
            (Err(failure), false) => format!("error: {}", failure.to_string().replace('\n', " ")),
            (answer, true) => {
                let mut value = match answer {
                    Ok(answer) => answer.json(),
                    Err(failure) => match failure {
                        Failure::Payment { codes, .. } => json!({
                            "error": failure.to_string(),
                            "return_code": codes.return_code,
                            "reason_code": codes.reason_code,
                        }),
                        _ => json!({ "error": failure.to_string() }),
                    },
                };
                if let (Some(id), Some(fields)) = (id, value.as_object_mut()) {
                    fields.insert("id".into(), id);
                }
                crate::output::json(&value)?
            }
        });
        if self.text.len() + line.len() + 1 > OUTPUT_BYTES {
            self.write()?;
        }
        self.text.extend_from_slice(line.as_bytes());
        self.text.push(b'\n');
        Ok(())
    }

    fn write(&mut self) -> Result<(), Failure> {
        let mut output = std::io::stdout().lock();
        let written = output.write_all(&self.text).and_then(|()| output.flush());
        self.text.clear();
        written.map_err(Failure::io("write to standard output"))
    }
}

/// The command line's values for every line.
struct Base {
    /// The names of all options.
    names: Vec<String>,
    /// The options that the command line gives.
    given: Map<String, Value>,
    /// The clear PIN that the command line gives.
    pin: Option<ClearPin>,
}

impl Base {
    fn of(order: &impl Order) -> Result<Self, Failure> {
        let Ok(Value::Object(mut given)) = serde_json::to_value(order) else {
            return Err(Failure::Unexpected("options"));
        };
        let names = given.keys().cloned().collect();
        // Options that were not given are left out: each line is read with these, and few are given.
        given.retain(|_, value| !value.is_null());
        let pin = order.clone().clear().and_then(Option::take);
        Ok(Self { names, given, pin })
    }
}

/// The request of a line, and the line's `id`, which its answer repeats.
fn request<O: Order>(base: &Base, line: &[u8], json: bool) -> (Option<Value>, Result<Call, Failure>) {
    let mut said = match if json { of_json(line) } else { of_words(line) } {
        Ok(said) => said,
        Err(failure) => return (None, Err(failure)),
    };
    let id = if json { said.remove("id") } else { None };
    (id, built::<O>(base, said))
}

fn built<O: Order>(base: &Base, said: Map<String, Value>) -> Result<Call, Failure> {
    let (mut own, mut pin) = (Vec::with_capacity(said.len()), None);
    for (name, value) in said {
        let name = if name.contains('_') { name.replace('_', "-") } else { name };
        match value {
            Value::String(text) if name == "pin" => pin = Some(ClearPin(Zeroizing::new(text))),
            value if base.names.contains(&name) => own.push((name, value)),
            _ => return Err(unknown(&name, base)),
        }
    }
    let is_own = |name: &String| own.iter().any(|(own, _)| own == name);
    let given = base.given.iter().filter(|(name, _)| !is_own(name));
    let options = own.iter().map(|(name, value)| (name, value)).chain(given);
    let options = options.map(|(name, value)| (name.as_str(), value));
    let mut order_of_line = O::deserialize(MapDeserializer::new(options))
        .map_err(|error: serde_json::Error| Failure::Usage(format!("this line is no request: {error}")))?;
    if let Some(pin) = pin.or_else(|| base.pin.clone()) {
        *order_of_line.clear().ok_or_else(|| unknown("pin", base))? = Some(pin);
    }
    order_of_line.call()
}

fn unknown(name: &str, base: &Base) -> Failure {
    Failure::Usage(format!("a line has no {name}; there are {}", base.names.join(", ")))
}

fn of_json(line: &[u8]) -> Result<Map<String, Value>, Failure> {
    serde_json::from_slice(line).map_err(|error| {
        // The message tells the column and not the text, which may contain a clear PIN.
        Failure::Usage(format!("this line is no JSON object (column {})", error.column()))
    })
}

/// Members of a line of words, each `name=value`.
fn of_words(line: &[u8]) -> Result<Map<String, Value>, Failure> {
    let text = std::str::from_utf8(line).map_err(|_| Failure::Usage("this line is no text".to_owned()))?;
    let mut said = Map::new();
    for word in text.split_ascii_whitespace() {
        let Some((name, value)) = word.split_once('=') else {
            return Err(Failure::Usage("this line is not of words as block=... and pan=...".to_owned()));
        };
        said.insert(name.to_owned(), value.into());
    }
    Ok(said)
}
