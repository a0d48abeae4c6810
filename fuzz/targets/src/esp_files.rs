//! What the processes of the IPsec data plane read: the journal of a worker that is gone, and what is asked on their
//! sockets.

use crate::esp::engine;
use esp::commands::netlink::Keys;
use esp::observed::Question;
use esp::supervisor::Asked;
use esp::worker::{Journal, SLOT_BYTES};
use rustix::fs::{MemfdFlags, memfd_create};
use std::fs::File;
use std::os::unix::fs::FileExt;

/// Both slots of a journal: two bytes are the length of the first one. What is read of it is what is read after it was
/// written again.
pub fn esp_journal(data: &[u8]) {
    let Some((length, slots)) = data.split_first_chunk::<2>() else { return };
    let length = usize::from(u16::from_le_bytes(*length)).min(slots.len());
    let (first, second) = slots.split_at(length);
    let file: File = memfd_create(c"journal", MemfdFlags::CLOEXEC).expect("memory").into();
    file.write_all_at(first, 0).expect("memory");
    file.write_all_at(second, SLOT_BYTES).expect("memory");
    let open = || Journal::open(file.try_clone().expect("a descriptor"), engine());
    let Ok((mut journal, found)) = open() else {
        assert!(!data.is_empty(), "nothing that was written is nothing");
        return;
    };
    let read = || open().ok().map(|(_, found)| found);
    journal.append(b"one more").expect("there is room");
    assert_eq!(read(), Some([&found[..], b"one more"].concat()), "what was added is read behind the rest");
    journal.replace(&found).expect("what a slot held fits a slot");
    assert_eq!(read(), Some(found), "the newest is read");
}

/// The first byte says who is asked: the supervisor, the worker's observers, or the command that shows keys what it was
/// answered.
pub fn esp_requests(data: &[u8]) {
    let Some((choice, data)) = data.split_first() else { return };
    match choice % 3 {
        0 => {
            if let Ok(Asked::Bind(address)) = Asked::read(data) {
                let again = format!("bind {address}");
                assert_eq!(Asked::read(again.as_bytes()), Ok(Asked::Bind(address)));
            }
        }
        1 => {
            if let Some(question) = Question::read(data) {
                assert_eq!(question.line().as_bytes(), data);
            }
        }
        _ => {
            let mut keys = Keys::default();
            if keys.read(data).is_ok() {
                for row in keys.rows() {
                    assert!(row.ends_with("\"0x0\"\n") && row.matches("\",\"").count() == 9, "ten columns");
                }
            }
        }
    }
}
