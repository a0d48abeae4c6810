//! Queues, doorbells and channels between threads, and with cards that die.

mod any;
mod channel;
mod common;
mod death;
mod doorbell;
mod hostile;
mod keys;
mod queue;
mod threads;
