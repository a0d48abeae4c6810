//! The terminal of the progress bar, which reports a width a little smaller than the real one.

use indicatif::TermLike;
use rustix::termios::tcgetwinsize;
use std::io::{self, Write, stderr};

/// Columns that stay free behind the bar. A terminal echoes a key press there (`^C`); without room it would begin a
/// line with it, and the bar's own line would be left standing.
const FREE_COLUMNS: u16 = 4;
/// Columns of a terminal that does not tell its width.
const COLUMNS_DEFAULT: u16 = 80;

/// Standard error as the bar's terminal, [`FREE_COLUMNS`] narrower.
#[derive(Debug)]
pub struct Narrow;

impl TermLike for Narrow {
    fn width(&self) -> u16 {
        narrowed(tcgetwinsize(stderr()).map_or(0, |size| size.ws_col))
    }

    fn move_cursor_up(&self, n: usize) -> io::Result<()> {
        steer(n, 'A')
    }

    fn move_cursor_down(&self, n: usize) -> io::Result<()> {
        steer(n, 'B')
    }

    fn move_cursor_right(&self, n: usize) -> io::Result<()> {
        steer(n, 'C')
    }

    fn move_cursor_left(&self, n: usize) -> io::Result<()> {
        steer(n, 'D')
    }

    fn write_line(&self, text: &str) -> io::Result<()> {
        stderr().write_all(format!("{text}\n").as_bytes())
    }

    fn write_str(&self, text: &str) -> io::Result<()> {
        stderr().write_all(text.as_bytes())
    }

    fn clear_line(&self) -> io::Result<()> {
        self.write_str("\r\x1b[2K")
    }

    fn flush(&self) -> io::Result<()> {
        stderr().flush()
    }
}

/// Moves the cursor (ECMA-48, CUU to CUB). Zero steps write nothing: a terminal would take a zero for one.
fn steer(steps: usize, direction: char) -> io::Result<()> {
    if steps == 0 {
        return Ok(());
    }
    stderr().write_all(format!("\x1b[{steps}{direction}").as_bytes())
}

fn narrowed(columns: u16) -> u16 {
    let columns = if columns == 0 { COLUMNS_DEFAULT } else { columns };
    columns.saturating_sub(FREE_COLUMNS).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_stay_free_where_there_are_some() {
        assert_eq!([0, 80, 200, 5, 3].map(narrowed), [76, 76, 196, 1, 1]);
    }
}
