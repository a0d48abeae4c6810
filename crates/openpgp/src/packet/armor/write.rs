//! Writing armor: packets as a block of base64, with a checksum if asked for.

use super::checksum::Checksum;
use super::{ArmorKind, BEGIN, DASHES, END, LINE_BYTES, LINE_CHARS};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// Writes one block of armor, in pieces of any length. Less than a line is buffered.
#[derive(Clone, Debug)]
pub struct Armorer {
    kind: ArmorKind,
    checksum: Option<Checksum>,
    kept: [u8; LINE_BYTES],
    kept_bytes: usize,
}

impl Armorer {
    /// A block of this kind. `has_checksum` is for readers of RFC 4880. For readers of RFC 9580 (6.1), which ignore a
    /// checksum, it should be left out.
    pub fn new(kind: ArmorKind, has_checksum: bool) -> Self {
        Self { kind, checksum: has_checksum.then(Checksum::new), kept: [0; LINE_BYTES], kept_bytes: 0 }
    }

    /// Appends the first lines; each header is a name and a value without line breaks.
    pub fn begin(&self, headers: &[(&str, &str)], out: &mut Vec<u8>) {
        self.line(BEGIN, out);
        for (name, value) in headers {
            out.extend_from_slice(format!("{name}: {value}\n").as_bytes());
        }
        out.push(b'\n');
    }

    /// Appends the lines that the next bytes complete: 65 bytes for every 48.
    pub fn update(&mut self, data: &[u8], out: &mut Vec<u8>) {
        if let Some(checksum) = &mut self.checksum {
            checksum.update(data);
        }
        let head = data.len().min((LINE_BYTES - self.kept_bytes) % LINE_BYTES);
        let (head, rest) = data.split_at(head);
        self.keep(head);
        if self.kept_bytes == LINE_BYTES {
            lines(&[self.kept], out);
            self.kept_bytes = 0;
        }
        let (whole, tail) = rest.as_chunks::<LINE_BYTES>();
        lines(whole, out);
        self.keep(tail);
    }

    /// Appends the rest of the data, the checksum and the last line.
    pub fn finish(self, out: &mut Vec<u8>) {
        if self.kept_bytes > 0 {
            out.extend_from_slice(STANDARD.encode(&self.kept[..self.kept_bytes]).as_bytes());
            out.push(b'\n');
        }
        if let Some(checksum) = &self.checksum {
            out.push(b'=');
            out.extend_from_slice(STANDARD.encode(checksum.value()).as_bytes());
            out.push(b'\n');
        }
        self.line(END, out);
    }

    fn keep(&mut self, bytes: &[u8]) {
        self.kept[self.kept_bytes..][..bytes.len()].copy_from_slice(bytes);
        self.kept_bytes += bytes.len();
    }

    fn line(&self, begin: &[u8], out: &mut Vec<u8>) {
        for part in [begin, self.kind.name().as_bytes(), DASHES, b"\n"] {
            out.extend_from_slice(part);
        }
    }
}

fn lines(whole: &[[u8; LINE_BYTES]], out: &mut Vec<u8>) {
    let begin = out.len();
    out.resize(begin + whole.len() * (LINE_CHARS + 1), b'\n');
    let (places, _) = out[begin..].as_chunks_mut::<{ LINE_CHARS + 1 }>();
    for (bytes, place) in whole.iter().zip(places) {
        STANDARD.encode_slice(bytes, &mut place[..LINE_CHARS]).expect("64 characters for 48 bytes");
    }
}
