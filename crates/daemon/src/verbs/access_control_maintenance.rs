//! Access_Control_Maintenance (CSUAACM): the role in force for the caller, and no other.
//!
//! LSTROLES gives its name, of eight characters. GET-ROLE gives its record, big-endian:
//!
//! | bytes | |
//! |---|---|
//! | 2 | X'0101' |
//! | 20 | comment: the name that settings have for the role |
//! | 2, 2, 2, 1 | authentication level; first and last time of day; days of the week: nobody has to log on, at any time |
//! | 2, 2 | segments; reserved |
//!
//! then each segment: first point (2), last point (2), bytes (2), reserved (2), and a bit for each point, the first one
//! highest. Points have CCA's numbers; those that only this system has are left out. Of some points a set bit forbids
//! (docs/reference/roles.md).

use super::{Answer, Facts, role_id};
use wire::frame::Arguments;
use wire::point::{POINTS, PointSet};
use wire::verb::AccessControlAction as Action;
use wire::verb::access_control_maintenance::{self as maintenance, Request};
use wire::{Codes, code};

const VERSION: u16 = 0x0101;
const COMMENT_BYTES: usize = 20;
/// First minute of a day, as its hour and minute in one byte each; [`LAST_MINUTE`] has the same form.
const FIRST_MINUTE: u16 = 0x0000;
const LAST_MINUTE: u16 = 0x173B;
const ALL_DAYS: u8 = 0xFE;
/// Length of a segment's head in bytes. A gap between points that is shorter than a head is filled, rather than begin
/// another segment.
const SEGMENT_HEAD_BYTES: u16 = 8;

/// Answers LSTROLES or GET-ROLE.
///
/// # Errors
/// Codes for keywords that are not served (8/33, 8/34, 8/35); 8/21 if no role is named, 8/772 if the role is not the
/// caller's.
pub fn answer(arguments: &Arguments<'_>, facts: &Facts<'_>) -> Result<Answer, Codes> {
    let request: Request<'_> = super::request(arguments)?;
    let own = role_id(&facts.role.name);
    let data = match request.action {
        Action::Roles => own.to_vec(),
        Action::Role => {
            let name = request.name.ok_or(code::INVALID_PARAMETER)?;
            if *name != own {
                return Err(code::NO_ROLE);
            }
            record(&facts.role.name, &facts.role.points)
        }
        // The table refuses every other keyword.
        _ => return Err(code::KEYWORD),
    };
    let room = (maintenance::OUTPUT_DATA_LENGTH, request.output_data.capacity());
    Ok(Answer::of(&maintenance::Answer { output_data: Some(&data) }, Some(room)))
}

fn record(name: &str, points: &PointSet) -> Vec<u8> {
    let segments = segments();
    let mut record = VERSION.to_be_bytes().to_vec();
    record.extend(name.bytes().chain(std::iter::repeat(b' ')).take(COMMENT_BYTES));
    for number in [0, FIRST_MINUTE, LAST_MINUTE] {
        record.extend(number.to_be_bytes());
    }
    record.push(ALL_DAYS);
    record.extend((segments.len() as u16).to_be_bytes());
    record.extend([0; 2]);
    for (first, last) in segments {
        for number in [8 * first, 8 * last + 7, last - first + 1, 0] {
            record.extend(number.to_be_bytes());
        }
        record.extend((first..=last).map(|byte| bits(byte, points)));
    }
    record
}

/// The bits of the eight points from number `8 * byte` on, the first one highest.
fn bits(byte: u16, points: &PointSet) -> u8 {
    let its = POINTS.iter().filter(|entry| entry.number / 8 == byte && points.is_set(entry.point));
    its.fold(0, |bits, entry| bits | 0x80 >> (entry.number % 8))
}

/// First and last byte of each segment; together they have all points with CCA's numbers.
fn segments() -> Vec<(u16, u16)> {
    let mut bytes: Vec<u16> =
        POINTS.iter().filter(|entry| !entry.is_ours()).map(|entry| entry.number / 8).collect();
    bytes.sort_unstable();
    let mut segments: Vec<(u16, u16)> = Vec::new();
    for byte in bytes {
        match segments.last_mut() {
            Some((_, last)) if byte - *last <= SEGMENT_HEAD_BYTES => *last = byte,
            _ => segments.push((byte, byte)),
        }
    }
    segments
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rights::Role;
    use wire::point::Point;
    use wire::role::BuiltIn;
    use wire::verb::{Filled, TypedAsk, Verb};

    fn ask(
        role: &Role,
        action: Action,
        name: Option<&[u8; 8]>,
        room: i64,
    ) -> Result<(Codes, i64, Vec<u8>), Codes> {
        let (usable, registers, serial) = (&[0][..], &[][..], *b"01234567");
        let facts = Facts { domain: 0, domains: 1, usable, registers, adapters: 1, serial, role };
        let (ask, mut filled) =
            (maintenance::Ask { name, ..maintenance::Ask::new(action) }, Filled::default());
        let mut arguments = ask.arguments(&mut filled);
        let answer = answer(arguments.set_integer(maintenance::OUTPUT_DATA_LENGTH, room), &facts)?;
        let read = Arguments::read_reply(Verb::AccessControlMaintenance, &answer.payload).unwrap();
        let length = read.integer(maintenance::OUTPUT_DATA_LENGTH);
        Ok((answer.codes, length, read.bytes(maintenance::OUTPUT_DATA).to_vec()))
    }

    fn built_in(name: &str) -> Role {
        Role { name: name.to_owned(), points: BuiltIn::from_name(name).unwrap().points }
    }

    fn number(record: &[u8], at: usize) -> usize {
        usize::from(u16::from_be_bytes([record[at], record[at + 1]]))
    }

    /// Whether a record permits a point, by the search that openCryptoki makes.
    fn is_set(record: &[u8], point: usize) -> bool {
        let mut at = 33;
        for _ in 0..number(record, 29) {
            let (first, last, bytes) = (number(record, at), number(record, at + 2), number(record, at + 4));
            assert!(first % 8 == 0 && last % 8 == 7 && last + 1 - first == 8 * bytes);
            if (first..=last).contains(&point) {
                return record[at + 8 + (point - first) / 8] & (0x80 >> (point % 8)) != 0;
            }
            at += 8 + bytes;
        }
        assert_eq!(at, record.len());
        false
    }

    #[test]
    fn a_role_is_the_one_in_force() {
        for name in ["owner", "guest", "trusted", "nobody"] {
            let role = built_in(name);
            let (codes, _, listed) = ask(&role, Action::Roles, None, 8).unwrap();
            assert_eq!((codes, &listed[..4], listed.len()), (code::OK, &b"DFLT"[..], 8));
            let own: [u8; 8] = listed.try_into().unwrap();
            let (codes, length, record) = ask(&role, Action::Role, Some(&own), 2500).unwrap();
            assert_eq!((codes, length), (code::OK, record.len() as i64));
            assert_eq!((&record[..2], record[2..22].trim_ascii_end()), (&[1, 1][..], name.as_bytes()));
            assert_eq!(record[22..29], [0, 0, 0, 0, 0x17, 0x3B, 0xFE]);
            for entry in POINTS.iter().filter(|entry| !entry.is_ours()) {
                let set = is_set(&record, entry.number.into());
                assert_eq!(set, role.points.is_set(entry.point), "{name} {}", entry.name);
            }
            assert!(!is_set(&record, 0xF000) && !is_set(&record, 0));
        }
        let one = built_in("guest");
        let mut other = one.clone();
        other.points.deny(Point::MacVerify);
        let record = |role: &Role| ask(role, Action::Role, Some(b"DFLTGUES"), 2500).unwrap().2;
        assert_ne!(record(&one), record(&other));
    }

    #[test]
    fn no_other_role_is_told_of() {
        let guest = built_in("guest");
        for name in [b"DFLTOWNE", b"owner   ", b"guest   ", b"        ", b"dfltgues", b"DFLTGUE "] {
            assert_eq!(ask(&guest, Action::Role, Some(name), 2500), Err(code::NO_ROLE));
        }
        assert_eq!(ask(&guest, Action::Role, None, 2500).unwrap_err(), code::INVALID_PARAMETER);
    }

    #[test]
    fn a_record_that_does_not_fit_says_how_long_it_is() {
        let guest = built_in("guest");
        let (.., record) = ask(&guest, Action::Role, Some(b"DFLTGUES"), 2500).unwrap();
        for room in [record.len() as i64 - 1, 0, -1] {
            let (codes, length, data) = ask(&guest, Action::Role, Some(b"DFLTGUES"), room).unwrap();
            assert_eq!((codes, length, data.len()), (code::BUFFER_TOO_SMALL, record.len() as i64, 0));
        }
        let served = Action::ALL.iter().filter(|(_, action)| {
            ask(&guest, *action, Some(b"DFLTGUES"), 2500)
                .map_err(|codes| assert_eq!(codes, code::KEYWORD))
                .is_ok()
        });
        assert_eq!(served.count(), 2);
    }
}
