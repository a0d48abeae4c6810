//! Columns: pieces of memory of one length, one for each request of a batch of equal requests.
//!
//! ```text
//! stride  |<----------------->|
//! lane    |0 key|             |1 key|             |2 key|            records side by side: `strided`
//! lane    |0 key|1 key|2 key|                                        one after the other: `contiguous`
//! lane    |0 key|   ...  |1 key|     ...    |2 key|                  anywhere: `scattered`
//! ```

use crate::error::ColumnError;

/// A piece of memory for each request, all of one length, for reading.
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
    /// `lanes` pieces of `bytes` bytes each, in a row from the start of the memory, which may be longer.
    ///
    /// # Errors
    /// [`ColumnError::Memory`] if the memory is too short.
    #[inline]
    pub fn contiguous(memory: &'a [u8], bytes: usize, lanes: usize) -> Result<Column<'a>, ColumnError> {
        Column::strided(memory, bytes, bytes, lanes)
    }

    /// `lanes` pieces of `bytes` bytes each; each begins `stride` bytes after the start of the one before.
    ///
    /// # Errors
    /// [`ColumnError::Stride`] if pieces would overlap, [`ColumnError::Memory`] if the last piece would end beyond the
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

    /// Pieces at any places.
    ///
    /// # Errors
    /// [`ColumnError::Unequal`] if a piece has another length than the first.
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

    /// The number of pieces.
    #[inline]
    pub fn lanes(&self) -> usize {
        self.lanes
    }

    /// The piece of request number `lane`; panics beyond the last piece.
    #[inline]
    pub(crate) fn lane(&self, lane: usize) -> &'a [u8] {
        match self.places {
            Places::Strided { memory, stride } => &memory[lane * stride..][..self.bytes],
            Places::Scattered(pieces) => pieces[lane],
        }
    }

    /// `N` bytes of a request's piece from `at` on; panics if the piece has fewer.
    #[inline]
    pub(crate) fn part<const N: usize>(&self, lane: usize, at: usize) -> &'a [u8; N] {
        let from = match self.places {
            Places::Strided { memory, stride } => &memory[lane * stride + at..],
            Places::Scattered(pieces) => &pieces[lane][at..],
        };
        &from.as_chunks().0[0]
    }

    /// Copies eight bytes at `at` from the pieces of consecutive requests; panics if the pieces have fewer.
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

/// A piece of memory for each request, all of one length, for reading and writing.
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

    /// As [`Column::strided`]. Memory between the pieces is neither read nor changed.
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

    /// The number of pieces.
    #[inline]
    pub fn lanes(&self) -> usize {
        self.lanes
    }

    /// The piece of request number `lane`; panics beyond the last piece.
    #[inline]
    pub(crate) fn lane(&mut self, lane: usize) -> &mut [u8] {
        &mut self.memory[lane * self.stride..][..self.bytes]
    }

    /// Copies eight bytes at `at` from the pieces of consecutive requests; panics if the pieces have fewer.
    #[inline]
    pub(crate) fn gather(&self, first: usize, at: usize, to: &mut [[u8; 8]]) {
        gather(self.memory, first * self.stride + at, self.stride, to);
    }

    /// The reverse of [`ColumnMut::gather`]: writes eight bytes at `at` to the pieces of consecutive requests.
    #[inline]
    pub(crate) fn scatter(&mut self, first: usize, at: usize, from: &[[u8; 8]]) {
        let to = &mut self.memory[first * self.stride + at..];
        for (from, to) in from.iter().zip(to.chunks_mut(self.stride)) {
            to.as_chunks_mut().0[0] = *from;
        }
    }

    /// The pieces of consecutive requests in place, if each has eight bytes and none are between them.
    #[inline]
    pub(crate) fn side_by_side(&mut self, first: usize, lanes: usize) -> Option<&mut [[u8; 8]]> {
        if (self.bytes, self.stride) != (8, 8) {
            return None;
        }
        self.memory.as_chunks_mut().0.get_mut(first..first + lanes)
    }

    /// All pieces, in order.
    pub(crate) fn pieces(&mut self) -> impl Iterator<Item = &mut [u8]> {
        let bytes = self.bytes;
        // The last record may be shorter than the stride; with a stride of zero, pieces are empty.
        let records = self.memory.chunks_mut(self.stride.max(1));
        records.map(move |record| &mut record[..bytes]).take(self.lanes)
    }
}

/// Copies eight bytes of each record. The last record may be shorter than the stride.
#[inline]
fn gather(memory: &[u8], from: usize, stride: usize, to: &mut [[u8; 8]]) {
    let Some((last, others)) = to.split_last_mut() else { return };
    let (body, end) = memory[from..].split_at(others.len() * stride);
    // All chunks have one length, so it is checked only once.
    for (to, from) in others.iter_mut().zip(body.chunks_exact(stride)) {
        *to = from.as_chunks().0[0];
    }
    *last = end.as_chunks().0[0];
}

/// Checks that `lanes` pieces fit the memory without overlap.
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

/// The caller's bytes as blocks of the algorithm, one for each request.
pub(crate) fn blocks<const N: usize>(bytes: &mut [u8], lanes: usize) -> Result<&mut [[u8; N]], ColumnError> {
    let needed = lanes.saturating_mul(N);
    if bytes.len() != needed {
        return Err(ColumnError::Output { bytes: bytes.len(), needed });
    }
    Ok(bytes.as_chunks_mut().0)
}

/// Checks that columns have the same number of requests.
pub(crate) fn same_lanes(lanes: usize, expected: usize) -> Result<(), ColumnError> {
    if lanes == expected { Ok(()) } else { Err(ColumnError::Lanes { lanes, expected }) }
}
