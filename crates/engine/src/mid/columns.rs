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
    pub fn contiguous(memory: &'a [u8], bytes: usize, lanes: usize) -> Result<Column<'a>, ColumnError> {
        Column::strided(memory, bytes, bytes, lanes)
    }

    /// `lanes` pieces of `bytes` each, of which each begins `stride` bytes behind the one before.
    ///
    /// # Errors
    /// [`ColumnError::Stride`] where pieces would overlap, [`ColumnError::Memory`] where the last ends behind the memory.
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

    /// Every piece, in order.
    pub(crate) fn pieces(&mut self) -> impl Iterator<Item = &mut [u8]> {
        let bytes = self.bytes;
        // The last may end with the memory; of a stride of zero, pieces are empty.
        let records = self.memory.chunks_mut(self.stride.max(1));
        records.map(move |record| &mut record[..bytes]).take(self.lanes)
    }
}

/// Whether so many pieces fit.
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
