//! The doorbell by itself: when it wakes, when not, and what cannot harm it.

use crate::common::Home;
use link::{Counter, Doorbell, StatusView, Woken};
use rustix::io::Errno;
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags};
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;
use wire::control::PollMode;

const SHORT: Option<Duration> = Some(Duration::from_millis(2));
const RUNG: Woken = Woken { work: false, rung: true, extra: 0 };
const WORK: Woken = Woken { work: true, rung: false, extra: 0 };
const NOTHING: Woken = Woken { work: false, rung: false, extra: 0 };

fn ring(socket: &OwnedFd) -> Result<usize, Errno> {
    rustix::net::send(socket, &[0], SendFlags::DONTWAIT)
}

#[test]
fn a_ring_wakes_once_however_often_it_came() {
    let home = Home::new();
    let page = home.page();
    let view = StatusView::join(home.status.as_fd()).unwrap();
    let client = Doorbell::connect(&home.doorbell_path()).unwrap();
    assert_eq!(home.doorbell.sleep(&page, &[], SHORT, || false).unwrap(), NOTHING);
    for _ in 0..3 {
        ring(&client).unwrap();
    }
    assert_eq!(home.doorbell.sleep(&page, &[], None, || false).unwrap(), RUNG);
    assert_eq!(home.doorbell.sleep(&page, &[], SHORT, || false).unwrap(), NOTHING);
    assert_eq!((view.count(Counter::Sleeps), view.count(Counter::Wakeups)), (3, 1));
    assert!(!view.is_asleep());
}

#[test]
fn it_looks_again_after_it_said_that_it_sleeps() {
    let home = Home::new();
    let page = home.page();
    let view = StatusView::join(home.status.as_fd()).unwrap();
    let woken = home.doorbell.sleep(&page, &[], None, || {
        assert!(view.is_asleep());
        true
    });
    assert_eq!(woken.unwrap(), WORK);
    assert!(!view.is_asleep());
    assert_eq!(view.count(Counter::Sleeps), 0);
}

#[test]
fn a_full_doorbell_has_been_rung_and_blocks_nobody() {
    let home = Home::new();
    let page = home.page();
    let noisy = Doorbell::connect(&home.doorbell_path()).unwrap();
    while ring(&noisy).is_ok() {}
    assert_eq!(ring(&noisy), Err(Errno::AGAIN));
    // A client that submits now gets through, and the card finds its request.
    let (client, card) = home.queue(4, 1);
    let _request = client.submit(client.claim().unwrap(), 1, b"").unwrap();
    let woken = home.doorbell.sleep(&page, &[], None, || card.pending() != 0).unwrap();
    assert_eq!(woken, WORK);
    // What is left in the doorbell wakes it a bounded number of times.
    let mut wakes = 0;
    while home.doorbell.sleep(&page, &[], SHORT, || false).unwrap() == RUNG {
        wakes += 1;
        assert!(wakes < 1000);
    }
    ring(&noisy).unwrap();
}

#[test]
fn a_client_rings_only_a_card_that_sleeps() {
    let home = Home::new();
    let page = home.page();
    let (client, card) = home.queue(4, 1);
    let _request = client.submit(client.claim().unwrap(), 1, b"").unwrap();
    assert_eq!(home.doorbell.sleep(&page, &[], SHORT, || false).unwrap(), NOTHING);
    let woken = home.doorbell.sleep(&page, &[], None, || {
        // Between the announcement and the sleep another request comes in.
        drop(client.submit(client.claim().unwrap(), 1, b"").unwrap());
        false
    });
    assert_eq!(woken.unwrap(), RUNG);
    assert_eq!(card.pending().count_ones(), 2);
}

#[test]
fn other_descriptors_wake_it_in_every_mode() {
    let home = Home::new();
    let page = home.page();
    let (quiet, _keep) = rustix::pipe::pipe().unwrap();
    let (ready, writer) = rustix::pipe::pipe().unwrap();
    rustix::io::write(&writer, b"x").unwrap();
    let extra = [quiet.as_fd(), ready.as_fd()];
    let every = PollMode::Every { interval_us: 1000 };
    for mode in [PollMode::Spin, PollMode::Adaptive, PollMode::Sleep, every] {
        let woken = home.doorbell.wait(&page, mode, true, &extra, None, || false).unwrap();
        assert_eq!(woken, Woken { extra: 2, ..NOTHING }, "{mode:?}");
        let woken = home.doorbell.wait(&page, mode, true, &extra[..1], SHORT, || false).unwrap();
        assert_eq!(woken, NOTHING, "{mode:?}");
        let mut looks = 0;
        let found = home.doorbell.wait(&page, mode, true, &extra[..1], None, || {
            looks += 1;
            looks == 2 || matches!(mode, PollMode::Sleep)
        });
        assert_eq!(found.unwrap(), WORK, "{mode:?}");
    }
    // A closed end wakes as well.
    drop(writer);
    let mut byte = [0; 1];
    rustix::io::read(&ready, &mut byte).unwrap();
    assert_eq!(home.doorbell.sleep(&page, &extra, None, || false).unwrap().extra, 2);
}

#[test]
fn descriptors_sent_to_a_doorbell_are_dropped() {
    let home = Home::new();
    let page = home.page();
    let client = Doorbell::connect(&home.doorbell_path()).unwrap();
    let (reader, writer) = rustix::pipe::pipe().unwrap();
    let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    let sent = [writer.as_fd()];
    assert!(ancillary.push(SendAncillaryMessage::ScmRights(&sent)));
    let bytes = [std::io::IoSlice::new(&[0])];
    rustix::net::sendmsg(&client, &bytes, &mut ancillary, SendFlags::DONTWAIT).unwrap();
    drop(writer);
    assert_eq!(home.doorbell.sleep(&page, &[], None, || false).unwrap(), RUNG);
    // The pipe reads as ended: no copy of its other end is left anywhere.
    assert_eq!(rustix::io::read(&reader, &mut [0; 1]).unwrap(), 0);
}

#[test]
fn paths_of_any_length_are_bound_and_only_sockets_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let deep = folder.path().join("d".repeat(200)).join("e".repeat(200));
    std::fs::create_dir_all(&deep).unwrap();
    let path = deep.join("doorbell");
    let _first = Doorbell::bind(&path).unwrap();
    let second = Doorbell::bind(&path).unwrap();
    let client = Doorbell::connect(&path).unwrap();
    ring(&client).unwrap();
    let mut byte = [0; 1];
    rustix::net::recv(second.as_fd(), &mut byte, rustix::net::RecvFlags::DONTWAIT).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(&path).unwrap().permissions());
    assert_eq!(mode & 0o777, 0o600);

    let file = folder.path().join("file");
    std::fs::write(&file, b"kept").unwrap();
    assert_eq!(Doorbell::bind(&file).unwrap_err().kind(), std::io::ErrorKind::AlreadyExists);
    assert_eq!(std::fs::read(&file).unwrap(), b"kept");
    assert!(Doorbell::connect(&folder.path().join("nothing")).is_err());
}

#[test]
fn what_is_not_a_datagram_socket_is_refused() {
    let (pipe, _writer) = rustix::pipe::pipe().unwrap();
    assert!(Doorbell::from_fd(pipe).is_err());
    let (stream, _other) = std::os::unix::net::UnixStream::pair().unwrap();
    assert!(Doorbell::from_fd(stream.into()).is_err());
}
