//! Reads as much of an HTTP request as a plain answer needs: where its head ends, and whether it is the last one of its
//! connection.

/// Longest part of a line that is looked at, in bytes; the rest is skipped.
const LINE_BYTES_MAX: usize = 8 << 10;

/// A request whose head is being read.
#[derive(Default)]
pub(super) struct Question {
    line: Vec<u8>,
    has_begun: bool,
    is_old: bool,
    says_close: bool,
    says_keep: bool,
}

/// The connection's state that the client expects after the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stays {
    /// The connection stays open.
    Open,
    /// The connection stays open, and the answer has to say so.
    OpenAsAsked,
    /// The connection is closed.
    Closed,
}

impl Question {
    /// The number of bytes up to and including the end of a head, and the state of the connection after the answer (RFC
    /// 9112, 9.3). `None` if the head goes on behind these bytes.
    pub(super) fn find(&mut self, bytes: &[u8]) -> Option<(usize, Stays)> {
        let mut at = 0;
        while let Some(length) = memchr::memchr(b'\n', &bytes[at..]) {
            let stays = self.take(&bytes[at..at + length]);
            at += length + 1;
            if let Some(stays) = stays {
                return Some((at, stays));
            }
        }
        self.keep(&bytes[at..]);
        None
    }

    /// Adds bytes to the line; a line that is too long keeps its beginning and its last byte.
    fn keep(&mut self, bytes: &[u8]) {
        let Some(last) = bytes.last() else { return };
        let room = LINE_BYTES_MAX.saturating_sub(self.line.len());
        self.line.extend_from_slice(&bytes[..bytes.len().min(room)]);
        if room < bytes.len() {
            self.line.pop();
            self.line.push(*last);
        }
    }

    /// Takes the rest of a line; at the end of the head, returns the state of the connection after the answer.
    fn take(&mut self, rest: &[u8]) -> Option<Stays> {
        self.keep(rest);
        // A bare line feed does not end a line.
        if self.line.last() != Some(&b'\r') {
            self.keep(b"\n");
            return None;
        }
        self.line.pop();
        let line = std::mem::take(&mut self.line);
        match (self.has_begun, line.as_slice()) {
            // Empty lines before the first one are skipped (2.2).
            (false, []) => None,
            (false, first) => {
                (self.has_begun, self.is_old) = (true, first.ends_with(b" HTTP/1.0"));
                None
            }
            (true, []) => {
                let stays = match (self.says_close, self.is_old) {
                    (false, false) => Stays::Open,
                    (false, true) if self.says_keep => Stays::OpenAsAsked,
                    _ => Stays::Closed,
                };
                *self = Self::default();
                Some(stays)
            }
            (true, field) => {
                self.read_field(&String::from_utf8_lossy(field));
                None
            }
        }
    }

    fn read_field(&mut self, field: &str) {
        let Some((name, value)) = field.split_once(':') else { return };
        if !name.eq_ignore_ascii_case("connection") {
            return;
        }
        for option in value.split(',').map(str::trim) {
            self.says_close |= option.eq_ignore_ascii_case("close");
            self.says_keep |= option.eq_ignore_ascii_case("keep-alive");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(text: &str) -> Vec<Stays> {
        let mut question = Question::default();
        let mut found = Vec::new();
        // Once in one piece, and once byte by byte.
        let mut rest = text.as_bytes();
        while let Some((bytes, stays)) = question.find(rest) {
            found.push(stays);
            rest = &rest[bytes..];
        }
        let mut question = Question::default();
        let bytes = text.as_bytes().chunks(1).filter_map(|byte| question.find(byte));
        assert_eq!(bytes.map(|(_, stays)| stays).collect::<Vec<_>>(), found);
        found
    }

    #[test]
    fn the_last_request_is_the_one_that_says_so() {
        use Stays::{Closed, Open, OpenAsAsked};
        for (text, expected) in [
            ("GET / HTTP/1.1\r\n\r\n", vec![Open]),
            ("\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\nGET / HTTP/1.0\r\n\r\n", vec![Open, Closed]),
            ("GET / HTTP/1.1\r\nConnection: close\r\n\r\nGET / HTTP/1.1\r\n\r\n", vec![Closed, Open]),
            ("GET / HTTP/1.1\r\nCONNECTION:TE ,\tClose\r\n\r\n", vec![Closed]),
            ("GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n", vec![OpenAsAsked]),
            ("GET / HTTP/1.0\r\nConnection: keep-alive, close\r\n\r\n", vec![Closed]),
            ("GET / HTTP/1.1\r\nX-Connection: close\r\nA: close\r\n\r\n", vec![Open]),
            ("GET / HTTP/1.1\nConnection: close\n\n", vec![]),
            ("GET / HTTP/1.1\r\n\r", vec![]),
        ] {
            assert_eq!(asked(text), expected, "{text:?}");
        }
        let long = format!("GET /{} HTTP/1.1\r\nConnection: close\r\n\r\n", "a".repeat(3 * LINE_BYTES_MAX));
        assert_eq!(asked(&long), [Closed]);
    }
}
