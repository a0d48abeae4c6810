//! Columns: pieces of memory of one length, one for each request of a batch in which all requests are equal.
//!
//! ```text
//! stride  |<----------------->|
//! lane    |0 key|             |1 key|             |2 key|            records side by side: `strided`
//! lane    |0 key|1 key|2 key|                                        one after the other: `contiguous`
//! lane    |0 key|   ...  |1 key|     ...    |2 key|                  anywhere: `scattered`
//! ```

use crate::error::ColumnError;

/// A piece of memory for each request, all of one length, to be read.
#[derive(Clone, Copy)]
pub struct Column<'a> {
    places: Places<'a>,
    bytes: usize,
    lanes: usize,
}

#[derive(Clone, Copy)]
enum Places<'a> {
    Strided { memory: &'a [u8], stride: usize },
    Scattered(&'a [&'a [u8]]),
}

impl<'a> Column<'a> {
    /// `lanes` pieces of `bytes` each, one after the other from the start of the memory, which may be longer.
    ///
    /// # Errors
    /// [`ColumnError::Memory`] where it is shorter.
    #[inline]
    pub fn contiguous(memory: &'a [u8], bytes: usize, lanes: usize) -> Result<Column<'a>, ColumnError> {
        Column::strided(memory, bytes, bytes, lanes)
    }

    /// `lanes` pieces of `bytes` each, of which each begins `stride` bytes behind the one before.
    ///
    /// # Errors
    /// [`ColumnError::Stride`] where pieces would overlap, [`ColumnError::Memory`] where the last ends behind the
    /// memory.
    #[inline]
    pub fn strided(
        memory: &'a [u8],
        bytes: usize,
        stride: usize,
        lanes: usize,
    ) -> Result<Column<'a>, ColumnError> {
        check(memory.len(), bytes, stride, lanes)?;
        Ok(Column { places: Places::Strided { memory, stride }, bytes, lanes })
    }

    /// Pieces that lie anywhere.
    ///
    /// # Errors
    /// [`ColumnError::Unequal`] where one has another length than the first.
    pub fn scattered(pieces: &'a [&'a [u8]]) -> Result<Column<'a>, ColumnError> {
        let expected = pieces.first().map_or(0, |first| first.len());
        match pieces.iter().position(|piece| piece.len() != expected) {
            Some(lane) => Err(ColumnError::Unequal { lane, bytes: pieces[lane].len(), expected }),
            None => Ok(Column { places: Places::Scattered(pieces), bytes: expected, lanes: pieces.len() }),
        }
    }

    /// Length of each piece.
    #[inline]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// How many pieces there are.
    #[inline]
    pub fn lanes(&self) -> usize {
        self.lanes
    }

    /// The piece of a request; beyond the last one this panics.
    #[inline]
    pub(crate) fn lane(&self, lane: usize) -> &'a [u8] {
        match self.places {
            Places::Strided { memory, stride } => &memory[lane * stride..][..self.bytes],
            Places::Scattered(pieces) => pieces[lane],
        }
    }

    /// `N` bytes of the piece of a request, which has so many from `at` on.
    #[inline]
    pub(crate) fn part<const N: usize>(&self, lane: usize, at: usize) -> &'a [u8; N] {
        let from = match self.places {
            Places::Strided { memory, stride } => &memory[lane * stride + at..],
            Places::Scattered(pieces) => &pieces[lane][at..],
        };
        &from.as_chunks().0[0]
    }

    /// Eight bytes of the pieces of some requests, which have so many from `at` on.
    #[inline]
    pub(crate) fn gather(&self, first: usize, at: usize, to: &mut [[u8; 8]]) {
        match self.places {
            Places::Strided { memory, stride } => gather(memory, first * stride + at, stride, to),
            Places::Scattered(_) => {
                for (lane, to) in (first..).zip(to) {
                    *to = *self.part(lane, at);
                }
            }
        }
    }
}

/// A piece of memory for each request, all of one length, to be changed.
pub struct ColumnMut<'a> {
    memory: &'a mut [u8],
    bytes: usize,
    stride: usize,
    lanes: usize,
}

impl<'a> ColumnMut<'a> {
    /// As [`Column::contiguous`].
    ///
    /// # Errors
    /// Those of [`Column::contiguous`].
    #[inline]
    pub fn contiguous(
        memory: &'a mut [u8],
        bytes: usize,
        lanes: usize,
    ) -> Result<ColumnMut<'a>, ColumnError> {
        ColumnMut::strided(memory, bytes, bytes, lanes)
    }

    /// As [`Column::strided`]. What lies between the pieces is neither read nor changed.
    ///
    /// # Errors
    /// Those of [`Column::strided`].
    #[inline]
    pub fn strided(
        memory: &'a mut [u8],
        bytes: usize,
        stride: usize,
        lanes: usize,
    ) -> Result<ColumnMut<'a>, ColumnError> {
        check(memory.len(), bytes, stride, lanes)?;
        Ok(ColumnMut { memory, bytes, stride, lanes })
    }

    /// Length of each piece.
    #[inline]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// How many pieces there are.
    #[inline]
    pub fn lanes(&self) -> usize {
        self.lanes
    }

    /// The piece of a request; beyond the last one this panics.
    #[inline]
    pub(crate) fn lane(&mut self, lane: usize) -> &mut [u8] {
        &mut self.memory[lane * self.stride..][..self.bytes]
    }

    /// Eight bytes of the pieces of some requests, which have so many from `at` on.
    #[inline]
    pub(crate) fn gather(&self, first: usize, at: usize, to: &mut [[u8; 8]]) {
        gather(self.memory, first * self.stride + at, self.stride, to);
    }

    /// The reverse.
    #[inline]
    pub(crate) fn scatter(&mut self, first: usize, at: usize, from: &[[u8; 8]]) {
        let to = &mut self.memory[first * self.stride + at..];
        for (from, to) in from.iter().zip(to.chunks_mut(self.stride)) {
            to.as_chunks_mut().0[0] = *from;
        }
    }

    /// The pieces of some requests where they lie, if they are eight bytes long and have nothing between them.
    #[inline]
    pub(crate) fn side_by_side(&mut self, first: usize, lanes: usize) -> Option<&mut [[u8; 8]]> {
        if (self.bytes, self.stride) != (8, 8) {
            return None;
        }
        self.memory.as_chunks_mut().0.get_mut(first..first + lanes)
    }

    /// Every piece, in order.
    pub(crate) fn pieces(&mut self) -> impl Iterator<Item = &mut [u8]> {
        let bytes = self.bytes;
        // The last may end with the memory; of a stride of zero, pieces are empty.
        let records = self.memory.chunks_mut(self.stride.max(1));
        records.map(move |record| &mut record[..bytes]).take(self.lanes)
    }
}

/// Eight bytes of each record from a place on. The last record may end behind them.
#[inline]
fn gather(memory: &[u8], from: usize, stride: usize, to: &mut [[u8; 8]]) {
    let Some((last, others)) = to.split_last_mut() else { return };
    let (body, end) = memory[from..].split_at(others.len() * stride);
    // Of a length that is the same for all, so that it is looked at once.
    for (to, from) in others.iter_mut().zip(body.chunks_exact(stride)) {
        *to = from.as_chunks().0[0];
    }
    *last = end.as_chunks().0[0];
}

/// Whether so many pieces fit.
#[inline]
fn check(memory_bytes: usize, bytes: usize, stride: usize, lanes: usize) -> Result<(), ColumnError> {
    if stride < bytes {
        return Err(ColumnError::Stride { stride, bytes });
    }
    let Some(others) = lanes.checked_sub(1) else { return Ok(()) };
    let needed = others.saturating_mul(stride).saturating_add(bytes);
    if memory_bytes < needed {
        return Err(ColumnError::Memory { bytes: memory_bytes, needed });
    }
    Ok(())
}

/// Blocks of the algorithm, one for each request, that the caller gave as bytes.
pub(crate) fn blocks<const N: usize>(bytes: &mut [u8], lanes: usize) -> Result<&mut [[u8; N]], ColumnError> {
    let needed = lanes.saturating_mul(N);
    if bytes.len() != needed {
        return Err(ColumnError::Output { bytes: bytes.len(), needed });
    }
    Ok(bytes.as_chunks_mut().0)
}

/// Whether columns are of the same requests.
pub(crate) fn same_lanes(lanes: usize, expected: usize) -> Result<(), ColumnError> {
    if lanes == expected { Ok(()) } else { Err(ColumnError::Lanes { lanes, expected }) }
}
