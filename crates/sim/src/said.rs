//! What the programs of a run said last. A run that needs more than its seed cannot be repeated, and what it says
//! stands beside its finding.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};
use tracing_subscriber::fmt::MakeWriter;

/// How many lines are kept.
const LINES_MAX: usize = 60;

thread_local! {
    static OWN: RefCell<Option<Said>> = const { RefCell::new(None) };
}

/// The last lines of a run.
#[derive(Clone, Debug, Default)]
pub struct Said(Arc<Mutex<VecDeque<String>>>);

impl Said {
    /// Assigns what this thread logs from now on to this run.
    pub fn enter(&self) {
        OWN.set(Some(self.clone()));
    }

    /// The lines, the last one last.
    pub fn lines(&self) -> Vec<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }

    fn add(&self, line: String) {
        let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if lines.len() == LINES_MAX {
            lines.pop_front();
        }
        lines.push_back(line);
    }
}

/// Writes log lines to the run of the thread that logs them.
#[derive(Clone, Copy, Debug)]
pub struct ToRun;

impl MakeWriter<'_> for ToRun {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        Self
    }
}

impl Write for ToRun {
    /// Takes one whole formatted line.
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(line).trim_end().to_owned();
        // A thread that ends says nothing any more.
        let _ = OWN.try_with(|own| own.borrow().as_ref().map(|own| own.add(text)));
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_run_has_the_last_lines_of_its_threads() {
        let (one, other) = (Said::default(), Said::default());
        one.enter();
        for line in 0..LINES_MAX + 2 {
            ToRun.write_all(format!("{line}\n").as_bytes()).unwrap();
        }
        let said = other.clone();
        std::thread::spawn(move || {
            said.enter();
            ToRun.write_all(b"another\n").unwrap();
        })
        .join()
        .unwrap();
        assert_eq!(other.lines(), ["another"]);
        let lines = one.lines();
        assert_eq!((lines.len(), lines[0].as_str(), lines[LINES_MAX - 1].as_str()), (LINES_MAX, "2", "61"));
    }
}
