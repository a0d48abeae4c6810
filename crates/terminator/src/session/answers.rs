//! Answers that this program gives itself, for tests.

use super::question::Stays;
use super::{Around, DONE, Moved, Over, Session, failed, of_client, send_out};
use crate::settings::{Exchange, Service};
use tls::Read;

/// Contents of an exchange's messages: sent in blocks of a record's length, so that no whole message is in memory.
static BLOCK: [u8; 16 << 10] = [b'.'; 16 << 10];
/// At most this many blocks are written before pending bytes are sent.
const BLOCKS_AT_ONCE: usize = 4;

/// Progress of an exchange.
#[derive(Default)]
pub(super) struct Messages {
    /// Bytes of the client's present message that have arrived.
    came: u64,
    /// Bytes of answers that are still to be written.
    owed: u64,
}

impl Messages {
    /// The state after the handshake: if the client sends nothing first, a message is owed already.
    pub(super) fn begin(exchange: &Exchange) -> Self {
        Self { came: 0, owed: if exchange.receive == 0 { exchange.send } else { 0 } }
    }

    /// Counts `count` bytes of the client; each full message adds an answer.
    fn take(&mut self, exchange: &Exchange, count: u64) {
        if exchange.receive == 0 {
            return;
        }
        let came = self.came + count;
        self.came = came % exchange.receive;
        // Nothing is read while bytes are owed, so this is at most a read's bytes times the longest message.
        self.owed += came / exchange.receive * exchange.send;
    }
}

impl Session {
    /// Answers the client's requests or messages.
    pub(super) fn answer(&mut self, around: &mut Around<'_>) -> Moved {
        let Some(tls) = &mut self.tls else { return Ok(false) };
        let moved = send_out(tls, &mut self.client).map_err(of_client)?;
        if self.client_ended {
            return if tls.outgoing().is_empty() { Err(Over::of(DONE)) } else { Ok(moved) };
        }
        if self.was_last {
            return if tls.outgoing().is_empty() { self.see_end(around) } else { Ok(moved) };
        }
        if tls.outgoing().len() >= around.limits.buffer_bytes {
            return Ok(moved);
        }
        let has_answered = match self.listener.service {
            Service::Exchange(_) => self.send_message()?,
            _ => self.send_text()?,
        };
        let moved = has_answered || self.read_question(around)? || moved;
        if moved {
            self.active = around.now;
        }
        Ok(moved)
    }

    /// Answers one HTTP request with the listener's text, if a complete one is there. Pipelined requests are answered
    /// as fast as the client takes the answers.
    fn send_text(&mut self) -> Moved {
        let (Some(tls), Service::Answer(text)) = (&mut self.tls, &self.listener.service) else {
            return Ok(false);
        };
        let asked = self.question.find(self.to_backend.rest());
        let looked_at = asked.map_or(self.to_backend.rest().len(), |(bytes, _)| bytes);
        if looked_at > 0 {
            self.to_backend.took(looked_at);
        }
        let Some((_, stays)) = asked else { return Ok(false) };
        let connection = match stays {
            Stays::Open => "",
            Stays::OpenAsAsked => "Connection: keep-alive\r\n",
            Stays::Closed => "Connection: close\r\n",
        };
        let reply = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: {}\r\n{connection}\r\n{text}",
            text.len()
        );
        self.bytes_out += reply.len() as u64;
        tls.write(reply.as_bytes()).map_err(|failure| failed(&failure, tls.delay()))?;
        if stays == Stays::Closed {
            self.was_last = true;
            tls.close().map_err(|failure| failed(&failure, tls.delay()))?;
        }
        Ok(true)
    }

    /// Waits for the client's end and ignores what it still sends: if the connection ended before, the answer could be
    /// lost with it.
    fn see_end(&mut self, around: &mut Around<'_>) -> Moved {
        let Some(tls) = &mut self.tls else { return Ok(false) };
        match tls.read(around.scratch) {
            Ok(Read::Bytes(_)) => Ok(true),
            Ok(Read::NeedsBytes) => {
                // Ignored bytes do not prolong the connection.
                let active = self.active;
                let moved = self.receive(around);
                self.active = active;
                moved.map_err(|_| Over::of(DONE))
            }
            Ok(Read::End) | Err(_) => Err(Over::of(DONE)),
        }
    }

    /// Writes owed bytes of an exchange's answers; false if none are owed.
    fn send_message(&mut self) -> Moved {
        let Some(tls) = &mut self.tls else { return Ok(false) };
        let mut moved = false;
        for _ in 0..BLOCKS_AT_ONCE {
            let count = self.messages.owed.min(BLOCK.len() as u64);
            if count == 0 {
                break;
            }
            tls.write(BLOCK.get(..count as usize).unwrap_or_default())
                .map_err(|failure| failed(&failure, tls.delay()))?;
            self.messages.owed -= count;
            self.bytes_out += count;
            moved = true;
        }
        Ok(moved)
    }

    fn read_question(&mut self, around: &mut Around<'_>) -> Moved {
        let Some(tls) = &mut self.tls else { return Ok(false) };
        match tls.read(around.scratch) {
            Ok(Read::Bytes(count)) => {
                self.bytes_in += count as u64;
                match &self.listener.service {
                    Service::Exchange(exchange) => self.messages.take(exchange, count as u64),
                    _ => self.to_backend.push(around.scratch.get(..count).unwrap_or_default()),
                }
                Ok(true)
            }
            Ok(Read::NeedsBytes) => self.receive(around),
            Ok(Read::End) => {
                self.client_ended = true;
                tls.close().map_err(|failure| failed(&failure, tls.delay()))?;
                Ok(true)
            }
            Err(failure) => Err(failed(&failure, tls.delay())),
        }
    }
}
