//! The names of SAs and of reserved SPIs as the journal keeps them, without keys.

use crate::fields::Clock;
use crate::outbox::{Reply, Writer};
use crate::state::{XfrmState, sa_id_of};
use crate::wire::{attribute, message, sa_info};
use ipsec::{Direction, Time};
use std::net::IpAddr;

/// Writes the record of an SA, or of a reserved SPI. An ACQUIRE without an SPI has no record: it is asked for again.
pub(crate) fn write_state(writer: &mut Writer, state: &XfrmState) {
    if state.given.spi == 0 {
        return;
    }
    // Its counts are not kept.
    let clock = Clock { now: Time::default(), wall: state.added };
    let info = state.info(clock);
    match state.direction() {
        Some(direction) => write_name(writer, message::NEWSA, &info, direction),
        None => write_name(writer, message::ALLOCSPI, &info, Direction::In),
    }
}

/// Writes the record that an SA, or the reservation of its SPI, is gone.
pub(crate) fn write_gone(writer: &mut Writer, destination: IpAddr, spi: u32) {
    writer.begin(message::DELSA, Reply::EVENT, &sa_id_of(destination, spi));
    writer.end();
}

/// Writes the name of an SA, without keys.
pub(crate) fn write_name(writer: &mut Writer, kind: u16, info: &[u8; sa_info::BYTES], direction: Direction) {
    writer.begin(kind, Reply::EVENT, info);
    writer.attribute(attribute::SA_DIR, &[&[if direction == Direction::In { 1 } else { 2 }]]);
    writer.end();
}
