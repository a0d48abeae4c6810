//! Reads ZIP, ZLIB and BZIP2 as they arrive.

use crate::backend::Backend;
use crate::inflated::{InflateError, Inflated};
use crate::zlib::{Adler32, is_zlib_header};
use crate::{Format, isal_ffi};
use bzip2::Decompress;
use zlib_rs::{Inflate, InflateFlush};

/// Reads a compressed stream as it arrives. Its memory is bounded whatever it reads: the caller bounds the text by
/// the room that it gives.
pub struct Inflater {
    engine: Engine,
    frame: Option<Frame>,
    state: State,
}

enum Engine {
    Isal(isal_ffi::Inflater),
    ZlibRs(Box<Inflate>),
    Bzip2(Box<Decompress>),
}

/// ZLIB's frame around deflate: octets of header or trailer that have arrived.
#[derive(Default)]
struct Frame {
    octets: [u8; 4],
    filled: usize,
    sum: Adler32,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Header,
    Body,
    Trailer,
    End,
    Failed(InflateError),
}

impl Inflater {
    /// An inflater at the start of a stream. BZIP2 has one backend, whatever `backend` is.
    #[must_use]
    pub fn new(format: Format, backend: Backend) -> Self {
        let frame = (format == Format::Zlib).then(Frame::default);
        let state = if frame.is_some() { State::Header } else { State::Body };
        Self { engine: Engine::new(format, backend), frame, state }
    }

    /// Reads from `input` into `out` until one of them is used up, or the stream ends.
    ///
    /// If nothing is consumed and nothing produced, the stream needs more input, or more room. After the end, every
    /// call consumes and produces nothing and sets `is_end` again. The caller has to notice input that ends before the
    /// stream does: `is_end` was never set.
    ///
    /// # Errors
    /// [`InflateError`]; the room may then hold meaningless text.
    pub fn inflate(&mut self, input: &[u8], out: &mut [u8]) -> Result<Inflated, InflateError> {
        let mut done = Inflated { consumed: 0, produced: 0, is_end: false };
        loop {
            let rest = &input[done.consumed..];
            let step = match self.state {
                State::Header => self.header(rest),
                State::Body => self.body(rest, &mut out[done.produced..]),
                State::Trailer => self.trailer(rest),
                State::End => return Ok(Inflated { is_end: true, ..done }),
                State::Failed(error) => return Err(error),
            };
            match step {
                Ok(step) => {
                    done.consumed += step.consumed;
                    done.produced += step.produced;
                    if !step.is_end {
                        return Ok(done);
                    }
                }
                Err(error) => {
                    self.state = State::Failed(error);
                    return Err(error);
                }
            }
        }
    }

    fn header(&mut self, input: &[u8]) -> Result<Inflated, InflateError> {
        let frame = self.frame.as_mut().expect("only a frame has a header");
        let step = frame.collect(input, HEADER_BYTES);
        if step.is_end {
            if !is_zlib_header([frame.octets[0], frame.octets[1]]) {
                return Err(InflateError::Header);
            }
            frame.filled = 0;
            self.state = State::Body;
        }
        Ok(step)
    }

    fn body(&mut self, input: &[u8], out: &mut [u8]) -> Result<Inflated, InflateError> {
        let step = self.engine.inflate(input, out)?;
        if let Some(frame) = &mut self.frame {
            frame.sum.update(&out[..step.produced]);
        }
        if step.is_end {
            self.state = if self.frame.is_some() { State::Trailer } else { State::End };
        }
        Ok(step)
    }

    fn trailer(&mut self, input: &[u8]) -> Result<Inflated, InflateError> {
        let frame = self.frame.as_mut().expect("only a frame has a trailer");
        let step = frame.collect(input, TRAILER_BYTES);
        if step.is_end {
            if u32::from_be_bytes(frame.octets) != frame.sum.value() {
                return Err(InflateError::Checksum);
            }
            self.state = State::End;
        }
        Ok(step)
    }
}

impl Frame {
    /// Takes octets from `input` until `wanted` octets are collected; `is_end` says that they are.
    fn collect(&mut self, input: &[u8], wanted: usize) -> Inflated {
        let taken = input.len().min(wanted - self.filled);
        self.octets[self.filled..self.filled + taken].copy_from_slice(&input[..taken]);
        self.filled += taken;
        Inflated { consumed: taken, produced: 0, is_end: self.filled == wanted }
    }
}

impl Engine {
    fn new(format: Format, backend: Backend) -> Self {
        if format == Format::Bzip2 {
            return Self::Bzip2(Box::new(Decompress::new(false)));
        }
        let isal = if backend == Backend::Isal { isal_ffi::Inflater::new() } else { None };
        isal.map_or_else(|| Self::ZlibRs(Box::new(Inflate::new(false, WINDOW_BITS))), Self::Isal)
    }

    fn inflate(&mut self, input: &[u8], out: &mut [u8]) -> Result<Inflated, InflateError> {
        let room = out.len().min(STEP_BYTES_MAX);
        let (input, out) = (&input[..input.len().min(STEP_BYTES_MAX)], &mut out[..room]);
        match self {
            Self::Isal(isal) => isal.inflate(input, out),
            Self::ZlibRs(zlib) => {
                let (read, written) = (zlib.total_in(), zlib.total_out());
                let status = zlib.decompress(input, out, InflateFlush::NoFlush);
                let status = status.map_err(|_| InflateError::Stream)?;
                Ok(Inflated {
                    consumed: step_bytes(zlib.total_in() - read),
                    produced: step_bytes(zlib.total_out() - written),
                    is_end: status == zlib_rs::Status::StreamEnd,
                })
            }
            Self::Bzip2(bzip2) => {
                let (read, written) = (bzip2.total_in(), bzip2.total_out());
                let status = bzip2.decompress(input, out).map_err(|_| InflateError::Stream)?;
                Ok(Inflated {
                    consumed: step_bytes(bzip2.total_in() - read),
                    produced: step_bytes(bzip2.total_out() - written),
                    is_end: status == bzip2::Status::StreamEnd,
                })
            }
        }
    }
}

fn step_bytes(bytes: u64) -> usize {
    usize::try_from(bytes).expect("at most the length of a slice")
}

/// At most this many bytes are given to a library at once: the libraries count in 32 bits.
const STEP_BYTES_MAX: usize = 1 << 30;
/// log2 of the window, 32 KiB.
const WINDOW_BITS: u8 = 15;
const HEADER_BYTES: usize = 2;
const TRAILER_BYTES: usize = 4;
