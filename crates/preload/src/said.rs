//! Messages on standard error: each cause is told once, until it has gone.
//!
//! Written with one system call from memory on the stack: the host may be between a fork and an exec, or in a signal
//! handler.

use std::fmt::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};

/// Longest line in bytes; a longer one is cut.
const LINE_BYTES: usize = 512;

/// A cause that is told once.
#[derive(Debug)]
pub struct Cause(AtomicBool);

impl Cause {
    /// A cause that has not been told.
    pub const fn new() -> Self {
        Self(AtomicBool::new(false))
    }

    /// Writes the text to standard error, unless the cause was told since it last ended.
    pub fn tell(&self, text: fmt::Arguments<'_>) {
        if self.0.swap(true, Ordering::Relaxed) {
            return;
        }
        let mut line = Line { bytes: [0; LINE_BYTES], length: 0 };
        let _ = writeln!(line, "cryptand-xfrm: {text}");
        let _ = rustix::io::write(rustix::stdio::stderr(), line.bytes.get(..line.length).unwrap_or_default());
    }

    /// Notes that the cause has gone: when it returns, it is told again.
    pub fn ended(&self) {
        self.0.store(false, Ordering::Relaxed);
    }
}

/// A line, which is cut to [`LINE_BYTES`].
struct Line {
    bytes: [u8; LINE_BYTES],
    length: usize,
}

impl Write for Line {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let room = self.bytes.get_mut(self.length..).unwrap_or_default();
        let fits = text.len().min(room.len());
        room[..fits].copy_from_slice(&text.as_bytes()[..fits]);
        self.length += fits;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_are_cut() {
        let mut line = Line { bytes: [0; LINE_BYTES], length: 0 };
        for _ in 0..LINE_BYTES {
            line.write_str("abc").unwrap();
        }
        assert_eq!(line.length, LINE_BYTES);
        assert!(line.bytes.starts_with(b"abcabc"));
    }

    #[test]
    fn a_cause_is_told_again_once_it_has_ended() {
        let cause = Cause::new();
        cause.tell(format_args!("a line of a test"));
        assert!(cause.0.load(Ordering::Relaxed));
        cause.ended();
        assert!(!cause.0.load(Ordering::Relaxed));
    }
}
