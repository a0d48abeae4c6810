//! `cryptand terminal`: plays a terminal with DUKPT, from a base key or an initial key in a file. No card is asked: the
//! keys are computed here, so that what a host does can be tried from end to end. In development homes alone.
//!
//! | need | module |
//! |---|---|
//! | the keys of a transaction | [`keys`] |

mod keys;

use super::development;
use super::dukpt::following;
use super::payment::fields::Serial;
use crate::args::Terminal;
use crate::args::terminal::{OfTerminal, TerminalFormat, Way};
use crate::encoded::shown;
use crate::failure::Failure;
use crate::output::print;
use crate::prompt::{hexadecimal, to_hexadecimal};
use crate::session;
use engine::CipherDirection;
use keys::{MessageSide, Start, TransactionKey, Use};
use payments::{Extraction, Format, Layout, Pin, block, iso4};
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use zeroize::Zeroizing;

/// Longest file of a key, and longest line, in bytes.
const KEY_BYTES_MAX: u64 = 1024;
const LINE_BYTES_MAX: u64 = 8192;
/// Digits of a PAN without which it has no twelve before its check digit, and the most that there are.
const PAN_DIGITS: std::ops::RangeInclusive<usize> = 13..=19;

/// One transaction: options of the command line, and those of a line before them.
#[derive(Clone, Default)]
struct Transaction {
    ksn: Option<String>,
    pan: Option<String>,
    pin: Option<String>,
    text: Option<String>,
    hex: Option<String>,
}

impl Transaction {
    /// As this, with what a line says: `name=value` between blanks.
    fn with(&self, line: &str, names: &[&str]) -> Result<Self, Failure> {
        let mut all = self.clone();
        for word in line.split_whitespace() {
            let (name, value) = word
                .split_once('=')
                .ok_or_else(|| Failure::Usage(format!("{word}: a line has {}", names.join("=, ") + "=")))?;
            let place = match name {
                _ if !names.contains(&name) => {
                    return Err(Failure::Usage(format!(
                        "{name}: no name in a line; there are {}",
                        names.join(", ")
                    )));
                }
                "ksn" => &mut all.ksn,
                "pan" => &mut all.pan,
                "pin" => &mut all.pin,
                // Of the two forms of a text the line says one.
                "text" => {
                    all.hex = None;
                    &mut all.text
                }
                _ => {
                    all.text = None;
                    &mut all.hex
                }
            };
            *place = Some(value.to_owned());
        }
        Ok(all)
    }
}

/// A terminal that makes one thing.
struct Device<'a> {
    start: Start,
    key: Zeroizing<Vec<u8>>,
    makes: Makes<'a>,
}

#[derive(Clone, Copy)]
enum Makes<'a> {
    Pin { format: Option<TerminalFormat> },
    Mac { way: &'a Way, bytes: u8 },
    Data { way: &'a Way, direction: CipherDirection },
}

/// Runs the subcommands of `cryptand terminal`.
pub fn run(asked: Option<&Path>, order: &Terminal) -> Result<(), Failure> {
    development::is_home(asked, "terminal")?;
    let empty = Transaction::default();
    let (of, makes, given, names): (_, _, _, &[&str]) = match order {
        Terminal::Pin { of, pin, pan, format } => {
            let given = Transaction { pin: pin.clone(), pan: pan.clone(), ..empty };
            (of, Makes::Pin { format: *format }, given, &["ksn", "pan", "pin"])
        }
        Terminal::Mac { of, way, text, hex, bytes } => {
            let given = Transaction { text: text.clone(), hex: hex.clone(), ..empty };
            (of, Makes::Mac { way, bytes: *bytes }, given, &["ksn", "text", "hex"])
        }
        Terminal::Data { of, way, hex, decipher } => {
            let direction = if *decipher { CipherDirection::Decipher } else { CipherDirection::Encipher };
            (of, Makes::Data { way, direction }, Transaction { hex: hex.clone(), ..empty }, &["ksn", "hex"])
        }
    };
    let given = Transaction { ksn: of.ksn.clone(), ..given };
    let (start, key) = key(of)?;
    let device = Device { start, key, makes };
    match (&of.lines, of.count) {
        (Some(path), _) => lines(&device, &given, path, names),
        (None, Some(count)) => {
            let ksn = given.ksn.as_ref().ok_or_else(|| missing("--ksn"))?;
            for ksn in following(ksn, count)? {
                let given = Transaction { ksn: Some(ksn), ..given.clone() };
                print(&device.line(&given)?)?;
            }
            Ok(())
        }
        (None, None) => print(&(device.answer(&given)? + "\n")),
    }
}

fn missing(option: &str) -> Failure {
    Failure::Usage(format!("{option} is missing"))
}

/// The key of a file, and what it is.
fn key(of: &OfTerminal) -> Result<(Start, Zeroizing<Vec<u8>>), Failure> {
    let (start, path) = match (&of.base, &of.initial) {
        (Some(path), _) => (Start::Base, path),
        (None, Some(path)) => (Start::Initial, path),
        (None, None) => return Err(missing("--base or --initial")),
    };
    if of.lines.as_ref().is_some_and(|lines| lines == path && lines == Path::new("-")) {
        return Err(Failure::Usage("--lines: standard input has the key already".to_owned()));
    }
    let mut text = Zeroizing::new(String::with_capacity(KEY_BYTES_MAX as usize));
    input(path)?
        .take(KEY_BYTES_MAX)
        .read_to_string(&mut text)
        .map_err(Failure::io(format!("read {}", shown(path))))?;
    let key = hexadecimal(&text).map_err(|error| Failure::Usage(format!("{}: {error}", shown(path))))?;
    Ok((start, key))
}

fn input(path: &Path) -> Result<Box<dyn Read>, Failure> {
    if path == Path::new("-") {
        return Ok(Box::new(std::io::stdin()));
    }
    let file = File::open(path).map_err(Failure::io(format!("read {}", shown(path))))?;
    Ok(Box::new(file))
}

/// A transaction for each line; one that fails says so in its place.
fn lines(device: &Device<'_>, given: &Transaction, path: &Path, names: &[&str]) -> Result<(), Failure> {
    let mut input = BufReader::new(input(path)?);
    let (mut lines, mut failed) = (0, 0);
    loop {
        let mut line = String::new();
        let read = (&mut input).take(LINE_BYTES_MAX + 1).read_line(&mut line);
        let read = read.map_err(Failure::io(format!("read {}", shown(path))))?;
        if read == 0 {
            break;
        }
        if read as u64 > LINE_BYTES_MAX {
            return Err(Failure::Usage(format!(
                "{}: a line of more than {LINE_BYTES_MAX} bytes",
                shown(path)
            )));
        }
        if line.trim().is_empty() {
            continue;
        }
        lines += 1;
        let answer = given.with(&line, names).and_then(|given| device.line(&given));
        print(&answer.unwrap_or_else(|failure| {
            failed += 1;
            format!("error: {failure}\n")
        }))?;
    }
    if failed > 0 { Err(Failure::Lines { lines, failed, not_verified: 0 }) } else { Ok(()) }
}

impl Device<'_> {
    /// What the terminal sends in one transaction, as a line that says of which one.
    fn line(&self, given: &Transaction) -> Result<String, Failure> {
        let name = match self.makes {
            Makes::Pin { .. } => "block",
            Makes::Mac { .. } => "mac",
            Makes::Data { .. } => "data",
        };
        let answer = self.answer(given)?;
        let ksn = given.ksn.as_deref().unwrap_or_default();
        let pan = match (&self.makes, &given.pan) {
            (Makes::Pin { .. }, Some(pan)) => format!(" pan={pan}"),
            _ => String::new(),
        };
        Ok(format!("ksn={ksn}{pan} {name}={answer}\n"))
    }

    fn answer(&self, given: &Transaction) -> Result<String, Failure> {
        let serial = Serial::of("--ksn", given.ksn.as_ref())?.ok_or_else(|| missing("--ksn"))?;
        match self.makes {
            Makes::Pin { format } => self.pin_block(serial, given, format),
            Makes::Mac { way, bytes } => {
                let text = match (&given.text, &given.hex) {
                    (Some(text), _) => text.clone().into_bytes(),
                    (None, Some(digits)) => bytes_of(digits)?,
                    (None, None) => return Err(missing("--text or --hex")),
                };
                let mac = self.derived(serial, Use::Mac(side(way)), false)?.mac(&text)?;
                if usize::from(bytes) > mac.len() {
                    return Err(Failure::Usage(format!("--bytes {bytes}: such a MAC has {}", mac.len())));
                }
                Ok(to_hexadecimal(&mac[..usize::from(bytes)]))
            }
            Makes::Data { way, direction } => {
                let digits = given.hex.as_ref().ok_or_else(|| missing("--hex"))?;
                let mut data = bytes_of(digits)?;
                let key = self.derived(serial, Use::Data(side(way)), false)?;
                let block = key.block_bytes();
                if data.is_empty() || !data.len().is_multiple_of(block) {
                    return Err(Failure::Usage(format!(
                        "--hex: {} bytes; data are whole blocks of {block}, which the program of the terminal pads",
                        data.len()
                    )));
                }
                key.chained(direction, &mut data)?;
                Ok(to_hexadecimal(&data))
            }
        }
    }

    fn derived(&self, serial: Serial, use_of: Use, is_tdes: bool) -> Result<TransactionKey, Failure> {
        TransactionKey::derive(self.start, &self.key, serial, use_of, is_tdes)
    }

    fn pin_block(
        &self,
        serial: Serial,
        given: &Transaction,
        format: Option<TerminalFormat>,
    ) -> Result<String, Failure> {
        let is_aes = matches!(serial, Serial::Aes(_));
        let usual = if is_aes { TerminalFormat::Iso4 } else { TerminalFormat::Iso0 };
        let format = format.unwrap_or(usual);
        if format == TerminalFormat::Iso4 && !is_aes {
            return Err(Failure::Usage(
                "--format iso-4: it goes under AES, and this serial number is of TDES DUKPT".to_owned(),
            ));
        }
        let pin = pin(given.pin.as_ref().ok_or_else(|| missing("--pin"))?)?;
        let pan = pan(given.pan.as_ref().ok_or_else(|| missing("--pan"))?)?;
        let key = self.derived(serial, Use::Pin, is_aes && format != TerminalFormat::Iso4)?;
        let mut random = [0; 16];
        session::engine()?.random(&mut random);
        if format == TerminalFormat::Iso4 {
            let (first, _) = random.split_at(8);
            let mut block = iso4::pin_field(&pin, first.first_chunk().unwrap_or(&[0; 8]));
            let field = iso4::pan_field(&pan).ok_or_else(|| missing("--pan"))?;
            key.blocks(&mut block)?;
            block.iter_mut().zip(field).for_each(|(byte, pan)| *byte ^= pan);
            key.blocks(&mut block)?;
            return Ok(to_hexadecimal(&block));
        }
        let (kind, before) =
            (if format == TerminalFormat::Iso3 { Format::Iso3 } else { Format::Iso0 }, pan.len() - 1);
        let layout = Layout {
            format: kind,
            extraction: Extraction::of(kind),
            pad: 15,
            least: 4,
            checks_digits: false,
        };
        let digits = pan[before - 12..before].first_chunk().copied().unwrap_or_default();
        let mut block = block::make(&layout, &digits, &pin, 0, &random);
        key.blocks(&mut block)?;
        Ok(to_hexadecimal(&block))
    }
}

fn side(way: &Way) -> MessageSide {
    match (way.response, way.both) {
        (true, _) => MessageSide::Response,
        (false, true) => MessageSide::Both,
        (false, false) => MessageSide::Request,
    }
}

fn bytes_of(digits: &str) -> Result<Vec<u8>, Failure> {
    let bytes = hexadecimal(digits).map_err(|error| Failure::Usage(format!("--hex: {error}")))?;
    Ok(bytes.to_vec())
}

fn pin(text: &str) -> Result<Pin, Failure> {
    let wrong =
        || Failure::Usage(format!("--pin: 4 to 12 digits are expected, and {} characters given", text.len()));
    if !(4..=12).contains(&text.len()) {
        return Err(wrong());
    }
    let digits = payments::digits::<16>(text.as_bytes()).map_err(|_| wrong())?;
    Ok(Pin::new(&digits, text.len() as u8))
}

fn pan(text: &str) -> Result<Vec<u8>, Failure> {
    let (least, most) = (PAN_DIGITS.start(), PAN_DIGITS.end());
    let wrong = || {
        Failure::Usage(format!(
            "--pan: {least} to {most} digits with the check digit are expected, and {} characters given",
            text.len()
        ))
    };
    if !PAN_DIGITS.contains(&text.len()) {
        return Err(wrong());
    }
    let digits = payments::digits::<19>(text.as_bytes()).map_err(|_| wrong())?;
    Ok(digits[..text.len()].to_vec())
}
