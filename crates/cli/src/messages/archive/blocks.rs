//! Blocks of a tar stream on their way between two threads.

use std::io::{self, Read, Write};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

/// Bytes of a block between the threads.
pub(super) const BLOCK_BYTES: usize = 256 << 10;
/// Blocks between the threads.
const BLOCKS_MAX: usize = 4;

/// A channel of blocks.
pub(super) fn channel() -> (BlockWriter, BlockReader) {
    let (sender, receiver) = sync_channel(BLOCKS_MAX);
    let writer = BlockWriter { sender, block: Vec::with_capacity(BLOCK_BYTES) };
    (writer, BlockReader { receiver, block: Vec::new(), at: 0, worker: None })
}

/// Writes into the channel, block by block.
pub(super) struct BlockWriter {
    sender: SyncSender<Vec<u8>>,
    block: Vec<u8>,
}

impl BlockWriter {
    fn send(&mut self) -> io::Result<()> {
        if self.block.is_empty() {
            return Ok(());
        }
        let block = std::mem::replace(&mut self.block, Vec::with_capacity(BLOCK_BYTES));
        self.sender.send(block).map_err(|_| io::Error::other("the archive was given up"))
    }
}

impl Write for BlockWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = bytes.len().min(BLOCK_BYTES - self.block.len());
        self.block.extend_from_slice(&bytes[..taken]);
        if self.block.len() == BLOCK_BYTES {
            self.send()?;
        }
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.send()
    }
}

impl Drop for BlockWriter {
    fn drop(&mut self) {
        let _ = self.send();
    }
}

/// Reads blocks out of the channel; at the channel's end, the worker's result tells whether the stream is complete.
pub(super) struct BlockReader {
    receiver: Receiver<Vec<u8>>,
    block: Vec<u8>,
    at: usize,
    worker: Option<JoinHandle<io::Result<()>>>,
}

impl BlockReader {
    /// The reader of a stream that this thread writes; the thread's result becomes the stream's.
    pub(super) fn of(self, worker: JoinHandle<io::Result<()>>) -> Self {
        Self { worker: Some(worker), ..self }
    }
}

impl Read for BlockReader {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        while self.at == self.block.len() {
            match self.receiver.recv() {
                Ok(block) => (self.block, self.at) = (block, 0),
                Err(_) => {
                    let outcome = self.worker.take().map_or(Ok(Ok(())), JoinHandle::join);
                    return outcome
                        .unwrap_or_else(|_| Err(io::Error::other("the archive was not made")))
                        .map(|()| 0);
                }
            }
        }
        let taken = out.len().min(self.block.len() - self.at);
        out[..taken].copy_from_slice(&self.block[self.at..self.at + taken]);
        self.at += taken;
        Ok(taken)
    }
}
