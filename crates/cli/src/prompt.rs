//! Asking people: secrets without echo on a terminal, lines of standard input otherwise.

use crate::failure::Failure;
use nix::sys::signal::{SigSet, Signal};
use std::io::{self, BufRead, IsTerminal, Read, Write};
use zeroize::Zeroizing;

/// Longest line that is read, in bytes.
const LINE_BYTES_MAX: usize = 4096;

/// Asks for a secret: not echoed on a terminal; one line of standard input otherwise.
pub fn secret(question: &str) -> Result<Zeroizing<String>, Failure> {
    if io::stdin().is_terminal() {
        let mut interrupts = SigSet::empty();
        interrupts.add(Signal::SIGINT);
        // Ctrl-C is held back while the terminal does not echo: it ends this process once the terminal echoes again.
        let held = interrupts.thread_block();
        let answer = rpassword::prompt_password(question);
        if held.is_ok() {
            let _ = interrupts.thread_unblock();
        }
        return Ok(Zeroizing::new(answer.map_err(Failure::io("read from the terminal"))?));
    }
    eprintln!("{question}");
    line()
}

/// Asks on a terminal for a confirmation, unless `yes`. Any answer but a yes is a failure.
pub fn confirm(question: &str, yes: bool) -> Result<(), Failure> {
    if yes {
        return Ok(());
    }
    if !io::stdin().is_terminal() {
        let said =
            format!("{question} Nobody can be asked here, nothing was done: --yes does it without asking");
        return Err(Failure::Usage(said));
    }
    eprint!("{question} [y/N] ");
    io::stderr().flush().map_err(Failure::io("write to the terminal"))?;
    if matches!(line()?.trim(), "y" | "Y" | "yes") { Ok(()) } else { Err(Failure::Declined) }
}

/// Asks on a terminal for something that is no secret; the answer is echoed.
pub fn shown(question: &str) -> Result<Zeroizing<String>, Failure> {
    eprint!("{question}");
    io::stderr().flush().map_err(Failure::io("write to the terminal"))?;
    line()
}

/// Asks until the answer is valid, telling what was wrong; without a terminal the first answer counts.
pub fn until_valid<T>(mut ask: impl FnMut() -> Result<T, Failure>) -> Result<T, Failure> {
    loop {
        match ask() {
            Err(Failure::Usage(text)) if io::stdin().is_terminal() => eprintln!("  {text}; once more"),
            outcome => return outcome,
        }
    }
}

/// Waits until one person has finished before the next one looks, and then clears the terminal with its scrollback.
pub fn hand_over(question: &str) -> Result<(), Failure> {
    if !io::stdin().is_terminal() {
        return Ok(());
    }
    eprint!("{question}");
    io::stderr().flush().map_err(Failure::io("write to the terminal"))?;
    line()?;
    eprint!("\x1b[2J\x1b[3J\x1b[H");
    io::stderr().flush().map_err(Failure::io("write to the terminal"))
}

fn line() -> Result<Zeroizing<String>, Failure> {
    line_of(&mut io::stdin().lock())
}

/// The next line, without its end, in memory that never moves: no copy of a secret is left behind.
fn line_of(input: &mut impl BufRead) -> Result<Zeroizing<String>, Failure> {
    let mut text = Zeroizing::new(String::with_capacity(LINE_BYTES_MAX + 1));
    let read = input
        .take(LINE_BYTES_MAX as u64 + 1)
        .read_line(&mut text)
        .map_err(Failure::io("read standard input"))?;
    if read == 0 {
        return Err(Failure::Usage("standard input ended before every question was answered".to_owned()));
    }
    if read > LINE_BYTES_MAX {
        return Err(Failure::Usage(format!("a line of more than {LINE_BYTES_MAX} bytes")));
    }
    let length = text.trim_end_matches(['\r', '\n']).len();
    text.truncate(length);
    Ok(text)
}

/// Reads hexadecimal digits, with blanks between them allowed.
pub fn hexadecimal(text: &str) -> Result<Zeroizing<Vec<u8>>, Failure> {
    let digits: Zeroizing<Vec<u8>> =
        Zeroizing::new(text.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect());
    if !digits.len().is_multiple_of(2) {
        return Err(Failure::Usage("hexadecimal text has two digits for each byte".to_owned()));
    }
    let digit = |byte: u8| (byte as char).to_digit(16).map(|value| value as u8);
    let mut bytes = Zeroizing::new(Vec::with_capacity(digits.len() / 2));
    for pair in digits.chunks_exact(2) {
        match (digit(pair[0]), digit(pair[1])) {
            (Some(high), Some(low)) => bytes.push(high << 4 | low),
            _ => return Err(Failure::Usage("hexadecimal text holds 0-9 and A-F only".to_owned())),
        }
    }
    Ok(bytes)
}

/// Bytes as upper-case hexadecimal digits.
pub fn to_hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02X}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_read_to_its_bound_and_no_further() {
        let line = |text: &[u8]| line_of(&mut &*text);
        assert_eq!(line(b"one\r\ntwo\n").unwrap().as_str(), "one");
        assert_eq!(line(b"no end").unwrap().as_str(), "no end");
        assert_eq!(line(&[b'a'; LINE_BYTES_MAX]).unwrap().len(), LINE_BYTES_MAX);
        assert!(
            matches!(line(&vec![b'a'; 10 * LINE_BYTES_MAX]), Err(Failure::Usage(text)) if text.contains("4096"))
        );
        assert!(matches!(line(b""), Err(Failure::Usage(_))));
        let mut endless = io::repeat(b'a');
        assert!(line_of(&mut io::BufReader::new(&mut endless)).is_err());
    }

    #[test]
    fn hexadecimal_reads_back_and_refuses_the_rest() {
        assert_eq!(*hexadecimal("00 ff A5").unwrap(), [0, 0xFF, 0xA5]);
        assert_eq!(to_hexadecimal(&[0, 0xFF, 0xA5]), "00FFA5");
        assert!(hexadecimal("0").is_err());
        assert!(hexadecimal("0g").is_err());
    }
}
