//! Queues, doorbells and channels between threads.

mod any;
mod channel;
mod common;
mod doorbell;
mod hostile;
mod keys;
mod queue;
