//! Output of commands: text and JSON to standard output, tables for people, and files for their owner alone.

use crate::encoded::shown;
use crate::failure::Failure;
use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use zeroize::Zeroizing;

/// Writes to standard output; a closed reader becomes a [`Failure`] rather than a panic.
pub fn print(text: &str) -> Result<(), Failure> {
    let mut output = std::io::stdout().lock();
    output
        .write_all(text.as_bytes())
        .and_then(|()| output.flush())
        .map_err(Failure::io("write to standard output"))
}

/// Writes a new file that only its owner can read. An existing file is an error: it may be the only copy of something.
pub fn write_new(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let failed = || Failure::io(format!("write {}", shown(path)));
    let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    let mut file = file.map_err(|cause| {
        let there = "it is there already, and is not written over; remove it, or name another file";
        let is_there = cause.kind() == ErrorKind::AlreadyExists;
        failed()(if is_there { io::Error::new(cause.kind(), there) } else { cause })
    })?;
    file.write_all(bytes).map_err(|cause| {
        let _ = std::fs::remove_file(path);
        failed()(cause)
    })
}

/// Writes a value as JSON lines.
pub fn print_json(value: &impl serde::Serialize) -> Result<(), Failure> {
    let mut text = json(value)?;
    text.push('\n');
    print(&text)
}

/// A value as JSON that cannot control a terminal or reverse the direction of text: control characters beyond those
/// of ASCII, which JSON escapes, are escaped too.
pub fn json(value: &impl serde::Serialize) -> Result<String, Failure> {
    let text = serde_json::to_string(value).map_err(|error| Failure::io("write JSON")(error.into()))?;
    // Such characters stand within strings only: everything else is ASCII.
    if !text.chars().any(keyring::store::steers) {
        return Ok(text);
    }
    let mut escaped = String::with_capacity(text.len() + 16);
    for letter in text.chars() {
        if keyring::store::steers(letter) {
            // Each such character is below U+10000.
            escaped.push_str(&format!("\\u{:04x}", u32::from(letter)));
        } else {
            escaped.push(letter);
        }
    }
    Ok(escaped)
}

/// A sheet as an HTML page for printing; a form feed begins another page.
///
/// The text may hold a secret: what is made of it is wiped.
pub fn page(title: &str, text: &str) -> Zeroizing<String> {
    // Room for every character in its longest form, so that nothing of it is left behind by growing.
    let mut pages = Zeroizing::new(String::with_capacity(text.len() * "</pre>\n<pre>".len()));
    for letter in text.chars() {
        match letter {
            '&' => pages.push_str("&amp;"),
            '<' => pages.push_str("&lt;"),
            '>' => pages.push_str("&gt;"),
            '\x0C' => pages.push_str("</pre>\n<pre>"),
            letter => pages.push(letter),
        }
    }
    let pages = pages.as_str();
    let mut page = Zeroizing::new(String::with_capacity(pages.len() + 1024));
    // A String takes what is written.
    let _ = write!(
        *page,
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>{title}</title>\n\
         <style>@page {{ size: A4; margin: 15mm }} pre {{ font: 10pt monospace; break-after: page }}</style>\n</head>\n\
         <body>\n<pre>{pages}</pre>\n</body>\n</html>\n"
    );
    page
}

/// A table for people: a header and rows, without borders.
pub fn table(header: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let mut table = comfy_table::Table::new();
    table.load_preset(comfy_table::presets::NOTHING).set_header(header.iter().copied());
    for row in rows {
        table.add_row(row);
    }
    let lines: Vec<_> = table.lines().map(|line| line.trim_end().to_owned()).collect();
    lines.join("\n") + "\n"
}
