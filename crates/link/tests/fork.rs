//! A process that attached and then forks: the child is told and disturbs nothing.

mod common;

use common::Home;
use link::LinkError;
use rustix::mm::{MapFlags, ProtFlags};
use rustix::process::{Pid, WaitOptions};
use stand_in::ANSWERED;
use std::os::fd::AsFd;
use wire::control::PollMode;

/// Runs `child` in a child of fork; true where it returned true.
fn in_child(child: impl FnOnce() -> bool) -> bool {
    // SAFETY: the child uses this thread's values only, allocates (glibc's allocator works after
    // fork), and ends without running anything else.
    match unsafe { libc::fork() } {
        0 => {
            let passed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(child)).unwrap_or(false);
            // SAFETY: ends the process.
            unsafe { libc::_exit(i32::from(!passed)) }
        }
        pid => {
            let pid = Pid::from_raw(pid).expect("fork failed");
            let (_, status) = rustix::process::waitpid(Some(pid), WaitOptions::empty()).unwrap().unwrap();
            status.exit_status() == Some(0)
        }
    }
}

#[test]
fn a_child_is_told_and_its_parent_goes_on() {
    let home = Home::new();
    let (client, mut card) = home.queue(4, 1);
    let slot = client.claim().unwrap();
    let request = client.submit(client.claim().unwrap(), 1, b"before").unwrap();
    let (mut slot, mut request) = (Some(slot), Some(request));
    let mut out = Vec::new();

    let told = in_child(|| {
        let request = request.take().unwrap();
        let mut out = Vec::new();
        client.submit(slot.take().unwrap(), 1, b"child").unwrap_err() == LinkError::Forked
            && client.try_reply(&request, &mut out) == Err(LinkError::Forked)
            && client.wait(&request, PollMode::Sleep, None, &mut out) == Err(LinkError::Forked)
            && client.claim().unwrap_err() == LinkError::Forked
            && client.claim_until(None).unwrap_err() == LinkError::Forked
            && client.check() == Err(LinkError::Forked)
    });
    assert!(told);

    let request = request.take().unwrap();
    card.take(request.slot(), &mut out).unwrap();
    assert_eq!(out, b"before");
    assert_eq!(card.pending(), 0);
    card.reply(request.slot(), &ANSWERED, b"after").unwrap();
    client.wait(&request, PollMode::Sleep, None, &mut out).unwrap();
    assert_eq!(out, b"after");
    drop(client.submit(slot.take().unwrap(), 1, b"more").unwrap());
}

#[test]
fn a_child_that_drops_the_queue_unmaps_nothing_of_its_own_and_rings_nobody() {
    const BYTES: usize = 1 << 20;
    let home = Home::new();
    let (client, card) = home.queue(4, 1);
    let mut client = Some(client);
    let intact = in_child(|| {
        // Fills the holes that the queue's memories left, whatever else fills.
        let maps = [(); 128].map(|()| {
            // SAFETY: new private memory.
            let base = unsafe {
                rustix::mm::mmap_anonymous(
                    std::ptr::null_mut(),
                    BYTES,
                    ProtFlags::READ | ProtFlags::WRITE,
                    MapFlags::PRIVATE,
                )
            };
            base.unwrap().cast::<u8>()
        });
        for base in maps {
            // SAFETY: within the mapping just made.
            unsafe { base.write(7) };
        }
        drop(client.take());
        // SAFETY: as above; the drop must not have unmapped it, or this faults.
        maps.iter().all(|base| unsafe { base.read() } == 7)
    });
    assert!(intact);
    assert_eq!(card.pending(), 0);
    let mut byte = [0; 1];
    let rung = rustix::net::recv(home.doorbell.as_fd(), &mut byte, rustix::net::RecvFlags::DONTWAIT);
    assert_eq!(rung.unwrap_err(), rustix::io::Errno::AGAIN);
}

#[test]
fn a_child_closes_the_descriptors_of_a_queue_that_threads_of_its_parent_hold() {
    let home = Home::new();
    let (client, _card) = home.queue(4, 1);
    let request = client.submit(client.claim().unwrap(), 1, b"of another thread").unwrap();
    let descriptors = || std::fs::read_dir("/proc/self/fd").unwrap().count();
    let closed = in_child(|| {
        let before = descriptors();
        client.clone().abandon();
        client.clone().abandon();
        before - descriptors() == 2
            && client.pidfd().is_none()
            && client.is_dead()
            && !client.ring()
            && client.check() == Err(LinkError::Forked)
    });
    assert!(closed);
    // Its parent abandons nothing.
    client.clone().abandon();
    assert!(client.pidfd().is_some_and(|card| !card.is_dead()) && !client.is_dead());
    drop(request);
}

#[test]
fn a_child_attaches_anew_and_its_own_child_is_told() {
    let home = Home::new();
    let (parents, _card) = home.queue(4, 1);
    let epoch = link::fork::epoch();
    let passed = in_child(|| {
        let mine = link::fork::epoch();
        let (client, mut card) = home.queue(4, 2);
        let request = client.submit(client.claim().unwrap(), 1, b"mine").unwrap();
        let mut out = Vec::new();
        card.take(request.slot(), &mut out).unwrap();
        card.reply(request.slot(), &ANSWERED, &out).unwrap();
        let answered = client.try_reply(&request, &mut out).unwrap().is_some();
        let grandchild = in_child(|| {
            let theirs = link::fork::epoch();
            client.check() == Err(LinkError::Forked)
                && parents.check() == Err(LinkError::Forked)
                && theirs != mine
                && theirs != epoch
        });
        mine != epoch && answered && grandchild && client.check().is_ok()
    });
    assert!(passed);
    parents.check().unwrap();
}

#[test]
fn the_status_page_stays_readable_in_a_child() {
    let home = Home::new();
    let (client, _card) = home.queue(4, 1);
    home.page().set_queue_length(5);
    assert!(in_child(|| client.status().queue_length() == 5));
}
