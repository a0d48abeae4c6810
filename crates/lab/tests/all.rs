//! The programs of the bench, as they are started.

mod bench;
mod figures;
mod payments;
mod queues;
mod report;
mod speed;
mod tls;
