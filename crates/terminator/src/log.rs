//! The access log: a line for each connection that ended. Loops hand lines to a thread, and never wait for a disk.

use crate::said::say;
use crate::settings::{LogFormat, LogSettings, LogTarget};
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fs::OFlags;
use rustix::io::Errno;
use serde_json::json;
use std::fs::{File, OpenOptions};
use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tls::Facts;

/// At most this many lines wait for the thread; further ones are lost, and counted.
const LINES_MAX: usize = 8_192;
/// How long the thread waits for room in a full pipe.
const PIPE_WITHIN: Timespec = Timespec { tv_sec: 1, tv_nsec: 0 };
/// Longest wait for the last lines to be written at the end of the program.
const FINISH_WITHIN: Duration = Duration::from_secs(5);

/// The facts of a connection that ended, for one line.
#[derive(Debug)]
pub(crate) struct Entry<'a> {
    pub(crate) client: SocketAddr,
    pub(crate) listener: &'a str,
    pub(crate) facts: Facts,
    /// Subject of the client's certificate, if it was verified.
    pub(crate) client_certificate: Option<&'a str>,
    /// Subject of a certificate that was refused: an unverified claim.
    pub(crate) refused_certificate: Option<&'a str>,
    /// Name of the private key, if one was used.
    pub(crate) key: Option<&'a str>,
    /// Duration of the private key operation; `None` if there was none.
    pub(crate) key_time: Option<Duration>,
    /// Time from accepting to the end of the handshake; `None` if the handshake did not end.
    pub(crate) handshake: Option<Duration>,
    pub(crate) duration: Duration,
    /// Bytes of data from the client, and to the client.
    pub(crate) bytes_in: u64,
    pub(crate) bytes_out: u64,
    pub(crate) backend: Option<String>,
    /// The reason of the end.
    pub(crate) end: String,
}

impl Entry<'_> {
    /// The entry as a line of the log, with its end.
    fn line(&self, format: LogFormat, now: SystemTime) -> String {
        let micros = |time: Option<Duration>| time.map(|time| time.as_micros() as u64);
        let time = timestamp(now);
        let facts = &self.facts;
        if format == LogFormat::Json {
            let version = Some(facts.version).filter(|version| !version.is_empty());
            let line = json!({
                "time": time,
                "client": self.client.to_string(),
                "listener": self.listener,
                "sni": facts.server_name,
                "version": version,
                "cipher": version.map(|_| &facts.cipher),
                "group": facts.group,
                "alpn": facts.protocol,
                "resumed": facts.is_resumed,
                "client_certificate": self.client_certificate,
                "refused_certificate": self.refused_certificate,
                "key": self.key,
                "key_us": micros(self.key_time),
                "handshake_us": micros(self.handshake),
                "duration_us": self.duration.as_micros() as u64,
                "bytes_in": self.bytes_in,
                "bytes_out": self.bytes_out,
                "backend": self.backend,
                "end": self.end,
            });
            return format!("{line}\n");
        }
        let mut line = format!("{time} client={} listener={}", self.client, word(self.listener));
        let mut add = |key: &str, value: Option<String>| {
            if let Some(value) = value {
                line.push_str(&format!(" {key}={}", word(&value)));
            }
        };
        add("sni", facts.server_name.clone());
        if !facts.version.is_empty() {
            add("version", Some(facts.version.to_owned()));
            add("cipher", Some(facts.cipher.clone()));
            add("group", facts.group.clone());
            add("alpn", facts.protocol.clone());
            add("resumed", Some(if facts.is_resumed { "yes" } else { "no" }.to_owned()));
        }
        add("client_certificate", self.client_certificate.map(str::to_owned));
        add("refused_certificate", self.refused_certificate.map(str::to_owned));
        add("key", self.key.map(str::to_owned));
        add("key_us", micros(self.key_time).map(|time| time.to_string()));
        add("handshake_us", micros(self.handshake).map(|time| time.to_string()));
        add("duration_us", Some(self.duration.as_micros().to_string()));
        add("in", Some(self.bytes_in.to_string()));
        add("out", Some(self.bytes_out.to_string()));
        add("backend", self.backend.clone());
        add("end", Some(self.end.clone()));
        line.push('\n');
        line
    }
}

/// A value as one word: unchanged if it has only plain characters, else in quotes with unprintable characters escaped.
fn word(text: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._:/[]*".contains(&byte);
    if !text.is_empty() && text.bytes().all(is_plain) { text.to_owned() } else { format!("{:?}", text) }
}

/// A time as RFC 3339 writes it, in UTC with milliseconds.
pub(crate) fn timestamp(now: SystemTime) -> String {
    let since = now.duration_since(UNIX_EPOCH).unwrap_or_default();
    let (days, second) = ((since.as_secs() / 86_400) as i64, since.as_secs() % 86_400);
    // Counts years from March of year 0, in eras of 400 years.
    let from_march = days + 719_468;
    let (era, day) = (from_march.div_euclid(146_097), from_march.rem_euclid(146_097));
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (month, late) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    format!(
        "{:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}.{:03}Z",
        era * 400 + year + late,
        second / 3_600,
        second / 60 % 60,
        second % 60,
        since.subsec_millis()
    )
}

enum Message {
    Line(String),
    /// A line for standard error.
    Said(String),
    /// Another output is in [`Log::next`].
    Opened,
}

/// Numbers of lost lines: those not reported yet, and all since the program began.
#[derive(Default)]
struct Lost {
    unsaid: AtomicU64,
    all: Arc<AtomicU64>,
}

impl Lost {
    fn add(&self, lines: u64) {
        self.unsaid.fetch_add(lines, Ordering::Relaxed);
        self.all.fetch_add(lines, Ordering::Relaxed);
    }
}

/// The end of the log that loops write to. Clones write to the same log.
#[derive(Clone)]
pub(crate) struct Log {
    sender: SyncSender<Message>,
    lost: Arc<Lost>,
    /// The output for all further lines. It is put here instead of being sent, so that nobody waits for a thread that
    /// waits for a disk.
    next: Arc<Mutex<Option<Output>>>,
    format: LogFormat,
    is_off: bool,
}

/// The thread that writes the log; it ends when no [`Log`] is left.
pub(crate) struct Writer {
    thread: JoinHandle<()>,
    /// Closed when the thread has ended.
    ended: Receiver<()>,
}

impl Writer {
    /// Waits until everything is written, at most [`FINISH_WITHIN`]: a pipe's reader may have stopped reading.
    pub(crate) fn finish(self) {
        if self.ended.recv_timeout(FINISH_WITHIN) == Err(RecvTimeoutError::Disconnected) {
            let _ = self.thread.join();
        }
    }
}

impl Log {
    /// Opens a log and starts its thread.
    ///
    /// # Errors
    /// The file cannot be opened, or no thread can be started.
    pub(crate) fn open(settings: &LogSettings) -> io::Result<(Self, Writer)> {
        let (sender, receiver) = sync_channel(LINES_MAX);
        let lost = Arc::new(Lost::default());
        let output = Output::open(&settings.target)?;
        let (of_thread, next) = (Arc::clone(&lost), Arc::<Mutex<Option<Output>>>::default());
        let (ending, ended) = sync_channel(0);
        let next_of_thread = Arc::clone(&next);
        let thread = std::thread::Builder::new().name("log".to_owned()).spawn(move || {
            let _ending: SyncSender<()> = ending;
            write_all(output, &receiver, &next_of_thread, &of_thread);
        })?;
        let is_off = settings.target == LogTarget::None;
        Ok((Self { sender, lost, next, format: settings.format, is_off }, Writer { thread, ended }))
    }

    /// Opens the output anew after a reload: the file's name may mean another file by now.
    ///
    /// # Errors
    /// The file cannot be opened; the log is then unchanged.
    pub(crate) fn reopen(&mut self, settings: &LogSettings) -> io::Result<()> {
        let output = Output::open(&settings.target)?;
        *self.next.lock().unwrap_or_else(PoisonError::into_inner) = Some(output);
        // If too many messages wait already, the thread sees the new output without this one.
        let _ = self.sender.try_send(Message::Opened);
        (self.format, self.is_off) = (settings.format, settings.target == LogTarget::None);
        Ok(())
    }

    /// The number of lines that were lost since the program began.
    pub(crate) fn lines_lost(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.lost.all)
    }

    /// Writes a line to standard error, unless too many wait: a loop does not wait for a reader of standard error.
    pub(crate) fn say(&self, line: String) {
        let _ = self.sender.try_send(Message::Said(line));
    }

    /// Writes an entry. If too many lines wait, the entry is lost, and counted.
    pub(crate) fn write(&self, entry: &Entry<'_>) {
        if self.is_off {
            return;
        }
        let line = entry.line(self.format, SystemTime::now());
        // Also fails if the thread has ended.
        if self.sender.try_send(Message::Line(line)).is_err() {
            self.lost.add(1);
        }
    }
}

enum Output {
    Nothing,
    Stdout,
    File(PathBuf, File),
}

impl Output {
    fn open(target: &LogTarget) -> io::Result<Self> {
        Ok(match target {
            LogTarget::None => Self::Nothing,
            LogTarget::Stdout => Self::Stdout,
            LogTarget::File(path) => {
                // With this flag, a pipe without a reader is an error, and writing to a full pipe does not block.
                let nonblocking = OFlags::NONBLOCK.bits() as i32;
                let file =
                    OpenOptions::new().append(true).create(true).custom_flags(nonblocking).open(path)?;
                Self::File(path.clone(), file)
            }
        })
    }

    /// Writes a text. Returns the number of bytes written, also if an error came before the end.
    fn write(&mut self, text: &[u8]) -> (usize, io::Result<()>) {
        let mut written = 0;
        while written < text.len() {
            let rest = &text[written..];
            let done = match self {
                Self::Nothing => return (text.len(), Ok(())),
                Self::Stdout => rustix::io::write(rustix::stdio::stdout(), rest),
                Self::File(_, file) => rustix::io::write(&*file, rest),
            };
            match done {
                Ok(0) => return (written, Err(io::ErrorKind::WriteZero.into())),
                Ok(count) => written += count,
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) if self.has_room() => {}
                Err(errno) => return (written, Err(errno.into())),
            }
        }
        (written, Ok(()))
    }

    /// Waits at most [`PIPE_WITHIN`] until the output takes more; false if it does not.
    fn has_room(&self) -> bool {
        let wait = |polled: PollFd<'_>| rustix::event::poll(&mut [polled], Some(&PIPE_WITHIN));
        let ready = match self {
            Self::Nothing => return true,
            Self::Stdout => wait(PollFd::from_borrowed_fd(rustix::stdio::stdout(), PollFlags::OUT)),
            Self::File(_, file) => wait(PollFd::new(file, PollFlags::OUT)),
        };
        ready.is_ok_and(|count| count > 0)
    }

    fn name(&self) -> String {
        match self {
            Self::File(path, _) => path.display().to_string(),
            _ => "standard output".to_owned(),
        }
    }
}

/// The state of the writing thread.
struct Writing<'a> {
    output: Output,
    text: Vec<u8>,
    lost: &'a Lost,
    is_failing: bool,
    /// Whether the output ends within a line.
    is_torn: bool,
}

fn write_all(output: Output, receiver: &Receiver<Message>, next: &Mutex<Option<Output>>, lost: &Lost) {
    let mut writing = Writing { output, text: Vec::new(), lost, is_failing: false, is_torn: false };
    while let Ok(first) = receiver.recv() {
        let (mut message, mut lines) = (Some(first), 0);
        while let Some(taken) = message {
            match taken {
                Message::Line(line) => {
                    writing.text.extend_from_slice(line.as_bytes());
                    lines += 1;
                }
                Message::Said(line) => say(format_args!("{line}")),
                Message::Opened => writing.reopen(next),
            }
            message = if lines < LINES_MAX { receiver.try_recv().ok() } else { None };
        }
        writing.write_out();
        writing.reopen(next);
    }
}

impl Writing<'_> {
    fn reopen(&mut self, next: &Mutex<Option<Output>>) {
        let opened = next.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(opened) = opened {
            // The lines so far belong to the former output.
            self.write_out();
            (self.output, self.is_torn) = (opened, false);
        }
    }

    fn write_out(&mut self) {
        if self.text.is_empty() {
            return;
        }
        let was_torn = self.is_torn;
        if was_torn {
            self.text.insert(0, b'\n');
        }
        let (written, done) = self.output.write(&self.text);
        let rest = &self.text[written..];
        self.is_torn = if written == 0 { was_torn } else { self.text[written - 1] != b'\n' };
        match done {
            Ok(()) => {
                let lost = self.lost.unsaid.swap(0, Ordering::Relaxed);
                if lost > 0 {
                    say(format_args!("the access log lost {lost} lines"));
                }
                self.is_failing = false;
            }
            Err(cause) => {
                let ends = rest.iter().filter(|byte| **byte == b'\n').count();
                // The line feed that ends a torn line ends no line of this text.
                self.lost.add((ends - usize::from(was_torn && written == 0)) as u64);
                // Reported once, not for each line: a full disk stays full for a while.
                if !std::mem::replace(&mut self.is_failing, true) {
                    say(format_args!("the access log cannot be written to {}: {cause}", self.output.name()));
                }
            }
        }
        self.text.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_words_read_as_they_should() {
        let at = |seconds: u64, millis: u64| {
            timestamp(UNIX_EPOCH + Duration::from_millis(seconds * 1000 + millis))
        };
        assert_eq!(at(0, 7), "1970-01-01T00:00:00.007Z");
        assert_eq!(at(951_782_399, 0), "2000-02-28T23:59:59.000Z");
        assert_eq!(at(951_782_400, 0), "2000-02-29T00:00:00.000Z");
        assert_eq!(at(1_735_689_599, 999), "2024-12-31T23:59:59.999Z");
        assert_eq!(word("example.org"), "example.org");
        assert_eq!(word(""), "\"\"");
        assert_eq!(word("a b\n\"\u{1b}"), r#""a b\n\"\u{1b}""#);
    }
}
