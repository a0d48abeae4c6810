//! The part of HTTP/1.1 for a GET and the length of its answer (RFC 9112).

/// Longest head of an answer, in bytes.
const HEAD_BYTES_MAX: usize = 64 << 10;

/// State of an answer that is being received.
#[derive(Default)]
pub(crate) struct Answer {
    head: Vec<u8>,
    /// Bytes of the body still to come; None before the head is complete.
    rest: Option<u64>,
}

/// Progress of an answer.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Came {
    /// The answer is incomplete.
    Part,
    /// The answer is complete.
    All,
    /// The bytes are more than the answer, or not HTTP.
    Wrong,
    /// The server refused with this status.
    Status(u16),
}

/// A GET of a path; `is_last` asks the server to close the connection.
pub(crate) fn request(path: &str, host: &str, is_last: bool) -> Vec<u8> {
    let end = if is_last { "Connection: close\r\n" } else { "" };
    format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n{end}\r\n").into_bytes()
}

impl Answer {
    /// Takes received bytes of the answer.
    pub(crate) fn take(&mut self, bytes: &[u8]) -> Came {
        let mut body = bytes.len() as u64;
        if self.rest.is_none() {
            self.head.extend_from_slice(bytes);
            let Some(end) = self.head.windows(4).position(|window| window == b"\r\n\r\n") else {
                return if self.head.len() > HEAD_BYTES_MAX { Came::Wrong } else { Came::Part };
            };
            let head = String::from_utf8_lossy(&self.head[..end]);
            let Some((status, length)) = read_head(&head) else { return Came::Wrong };
            if status >= 400 {
                return Came::Status(status);
            }
            body = (self.head.len() - end - 4) as u64;
            self.rest = Some(length);
            self.head = Vec::new();
        }
        let rest = self.rest.unwrap_or_default();
        if body > rest {
            return Came::Wrong;
        }
        self.rest = Some(rest - body);
        if rest == body { Came::All } else { Came::Part }
    }
}

fn read_head(head: &str) -> Option<(u16, u64)> {
    let mut lines = head.split("\r\n");
    let status = lines.next()?.strip_prefix("HTTP/1.")?.split(' ').nth(1)?.parse().ok()?;
    let length = lines.find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse().ok())?
    });
    // Only an error may come without a length.
    Some((status, if status >= 400 { length.unwrap_or_default() } else { length? }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_read_by_their_length_however_they_come() {
        let text = b"HTTP/1.1 200 OK\r\ncontent-Length: 5\r\nA: b\r\n\r\nhello";
        for cut in 0..text.len() {
            let mut answer = Answer::default();
            let first = answer.take(&text[..cut]);
            assert_eq!(first, Came::Part, "{cut}");
            assert_eq!(answer.take(&text[cut..]), Came::All, "{cut}");
        }
        let take = |text: &[u8]| Answer::default().take(text);
        assert_eq!(take(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nhello"), Came::Wrong);
        assert_eq!(take(b"HTTP/1.1 200 OK\r\n\r\nhello"), Came::Wrong);
        assert_eq!(take(b"SSH-2.0\r\n\r\n"), Came::Wrong);
        assert_eq!(take(b"HTTP/1.1 404 Not Found\r\n\r\n"), Came::Status(404));
        assert_eq!(take(&[b'a'; HEAD_BYTES_MAX + 1]), Came::Wrong);
    }
}
