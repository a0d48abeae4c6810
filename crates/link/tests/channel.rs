//! Control sockets: limits, descriptors, and who is at the other end.

use link::{Channel, ChannelError, Listener};
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags};
use std::io::{IoSlice, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use wire::bounds::{CONTROL_BYTES_MAX, CONTROL_DESCRIPTORS_MAX};
use wire::control::{ClientReply, ClientRequest, MessageError};

const AT_ONCE: Duration = Duration::ZERO;

#[test]
fn messages_arrive_whole_and_in_order_with_their_descriptors() {
    let (client, daemon) = Channel::pair().unwrap();
    let (reader, writer) = rustix::pipe::pipe().unwrap();
    client.send(&ClientRequest::Hello { version: 1, credential: None, completions: false }, &[]).unwrap();
    client.send(&ClientRequest::Cards, &[writer.as_fd(); CONTROL_DESCRIPTORS_MAX]).unwrap();
    drop(writer);

    let (first, descriptors) = daemon.recv::<ClientRequest>().unwrap();
    assert_eq!(
        (first, descriptors.len()),
        (ClientRequest::Hello { version: 1, credential: None, completions: false }, 0)
    );
    let (second, descriptors) = daemon.recv::<ClientRequest>().unwrap();
    assert_eq!((second, descriptors.len()), (ClientRequest::Cards, CONTROL_DESCRIPTORS_MAX));
    for fd in &descriptors {
        assert!(rustix::io::fcntl_getfd(fd).unwrap().contains(rustix::io::FdFlags::CLOEXEC));
    }
    let mut writer = std::fs::File::from(descriptors.into_iter().next_back().unwrap());
    writer.write_all(b"through").unwrap();
    drop(writer);
    let mut text = String::new();
    std::fs::File::from(reader).read_to_string(&mut text).unwrap();
    assert_eq!(text, "through");
}

/// A signal ends a poll(2) that does not wait, too.
#[test]
fn a_signal_is_no_news_and_a_message_and_the_end_are() {
    extern "C" fn nothing(_: libc::c_int) {}
    // SAFETY: the handler does nothing, which is safe at any moment.
    unsafe { libc::signal(libc::SIGUSR1, nothing as *const () as libc::sighandler_t) };
    let (client, daemon) = Channel::pair().unwrap();
    // SAFETY: it cannot fail.
    let (own, is_over) = (unsafe { libc::pthread_self() }, AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                // SAFETY: the thread waits for this one at the end of the scope.
                unsafe { libc::pthread_kill(own, libc::SIGUSR1) };
            }
        });
        let heard = (0..100_000).filter(|_| client.has_news()).count();
        is_over.store(true, Ordering::Relaxed);
        assert_eq!(heard, 0);
    });
    daemon.send(&ClientReply::Done, &[]).unwrap();
    assert!(client.has_news());
    client.recv::<ClientReply>().unwrap();
    assert!(!client.has_news());
    drop(daemon);
    assert!(client.has_news());
}

#[test]
fn the_longest_message_passes_and_a_longer_one_is_refused_on_both_sides() {
    let (client, daemon) = Channel::pair().unwrap();
    // One byte says which variant, two the codes, three how long the payload is.
    let called = |bytes| ClientReply::Called { codes: wire::code::OK, payload: vec![7; bytes] };
    let longest = called(CONTROL_BYTES_MAX - 6);
    client.send(&longest, &[]).unwrap();
    assert_eq!(daemon.recv::<ClientReply>().unwrap().0, longest);
    let longer = called(CONTROL_BYTES_MAX - 5);
    let refused = client.send(&longer, &[]).unwrap_err();
    assert!(matches!(refused, ChannelError::Message(MessageError::TooLong(_))));

    let (fd, _) = rustix::pipe::pipe().unwrap();
    send_raw(&client, &vec![0; CONTROL_BYTES_MAX + 1], &[fd.as_fd()]);
    let refused = daemon.recv::<ClientReply>().unwrap_err();
    assert!(matches!(refused, ChannelError::Message(MessageError::TooLong(_))), "{refused}");
    client.send(&ClientReply::Done, &[]).unwrap();
    assert_eq!(daemon.recv::<ClientReply>().unwrap().0, ClientReply::Done);
}

#[test]
fn too_many_descriptors_are_refused_on_both_sides_and_closed() {
    let (client, daemon) = Channel::pair().unwrap();
    let (reader, writer) = rustix::pipe::pipe().unwrap();
    let many = [writer.as_fd(); CONTROL_DESCRIPTORS_MAX + 2];
    let message = ClientRequest::Cards;
    assert!(matches!(client.send(&message, &many), Err(ChannelError::Descriptors)));
    send_raw(&client, &wire::control::encode(&message).unwrap(), &many);
    assert!(matches!(daemon.recv::<ClientRequest>(), Err(ChannelError::Descriptors)));
    drop(writer);
    assert_eq!(rustix::io::read(&reader, &mut [0; 1]).unwrap(), 0);
}

#[test]
fn what_does_not_decode_is_refused_and_its_descriptors_closed() {
    let (client, daemon) = Channel::pair().unwrap();
    let (reader, writer) = rustix::pipe::pipe().unwrap();
    send_raw(&client, &[0xFF; 40], &[writer.as_fd()]);
    drop(writer);
    let refused = daemon.recv::<ClientRequest>().unwrap_err();
    assert!(matches!(refused, ChannelError::Message(MessageError::Malformed)), "{refused}");
    assert_eq!(rustix::io::read(&reader, &mut [0; 1]).unwrap(), 0);
}

#[test]
fn nothing_there_a_full_socket_and_a_closed_end_are_told_apart() {
    let (client, daemon) = Channel::pair().unwrap();
    assert!(matches!(daemon.try_recv::<ClientRequest>(), Err(ChannelError::WouldBlock)));
    assert!(matches!(daemon.recv_timeout::<ClientRequest>(AT_ONCE), Err(ChannelError::TimedOut)));
    let mut sent = 0;
    let full = loop {
        match client.try_send(&ClientRequest::Cards, &[]) {
            Ok(()) => sent += 1,
            Err(error) => break error,
        }
    };
    assert!(matches!(full, ChannelError::WouldBlock), "{full}");
    drop(client);
    for _ in 0..sent {
        daemon.recv::<ClientRequest>().unwrap();
    }
    assert!(matches!(daemon.recv::<ClientRequest>(), Err(ChannelError::Closed)));
    assert!(matches!(daemon.send(&ClientReply::Done, &[]), Err(ChannelError::Closed)));
}

#[test]
fn what_was_said_before_the_end_is_read_though_the_peer_had_not_read_all() {
    let (client, daemon) = Channel::pair().unwrap();
    client.send(&ClientRequest::Status, &[]).unwrap();
    client.send(&ClientRequest::Cards, &[]).unwrap();
    assert_eq!(daemon.recv::<ClientRequest>().unwrap().0, ClientRequest::Status);
    daemon.send(&ClientReply::Done, &[]).unwrap();
    drop(daemon);
    assert_eq!(client.recv::<ClientReply>().unwrap().0, ClientReply::Done);
    assert!(matches!(client.recv::<ClientReply>(), Err(ChannelError::Closed)));
}

#[test]
fn a_listener_knows_who_connects() {
    let folder = tempfile::tempdir().unwrap();
    let deep = folder.path().join("f".repeat(150));
    std::fs::create_dir(&deep).unwrap();
    let path = deep.join("daemon");
    assert!(Channel::connect(&path).is_err());
    let listener = Listener::bind(&path).unwrap();
    listener.set_nonblocking(true).unwrap();
    assert!(listener.try_accept().unwrap().is_none());
    let client = Channel::connect(&path).unwrap();
    let daemon = listener.try_accept().unwrap().unwrap();
    for end in [&client, &daemon] {
        let peer = end.peer().unwrap();
        assert_eq!(peer.pid, std::process::id());
        assert_eq!(peer.uid, rustix::process::geteuid().as_raw());
        assert_eq!(peer.gid, rustix::process::getegid().as_raw());
    }
    assert!(!daemon.peer_pidfd().unwrap().is_dead());
    client.send(&ClientRequest::Status, &[]).unwrap();
    assert_eq!(daemon.recv_timeout::<ClientRequest>(Duration::MAX).unwrap().0, ClientRequest::Status);

    // Handed over and taken up again, as by a new daemon.
    let listener = Listener::from_fd(listener.into_fd()).unwrap();
    let newer = Listener::bind_for_all(&path).unwrap();
    let _connected = Channel::connect(&path).unwrap();
    newer.accept().unwrap();
    assert!(listener.try_accept().unwrap().is_none());
    assert!(Listener::from_fd(client.into_fd()).is_err());
    let (pipe, _writer) = rustix::pipe::pipe().unwrap();
    assert!(Channel::from_fd(pipe).is_err());
}

#[test]
fn a_peer_that_ended_has_no_pidfd() {
    let (ours, theirs) = Channel::pair().unwrap();
    // A pair's peer is whoever made it; a connected peer that ended is a child that connected.
    assert_eq!(ours.peer().unwrap().pid, std::process::id());
    drop(theirs);
    let folder = tempfile::tempdir().unwrap();
    let listener = Listener::bind(&folder.path().join("daemon")).unwrap();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "channel::connecting_process", "--nocapture"])
        .env(CONNECT, folder.path().join("daemon"))
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let daemon = listener.accept().unwrap();
    assert_eq!(daemon.peer().unwrap().pid, child.id());
    assert!(child.wait().unwrap().success());
    match daemon.peer_pidfd() {
        Ok(pidfd) => assert!(pidfd.is_dead()),
        Err(error) => assert!(error.raw_os_error().is_some()),
    }
}

const CONNECT: &str = "CRYPTAND_LINK_TEST_CONNECT";

/// The child of the test above; as a test of its own it does nothing.
#[test]
fn connecting_process() {
    if let Some(path) = std::env::var_os(CONNECT) {
        drop(Channel::connect(path.as_ref()).unwrap());
    }
}

fn send_raw(channel: &Channel, bytes: &[u8], descriptors: &[BorrowedFd<'_>]) {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(CONTROL_DESCRIPTORS_MAX + 2))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    assert!(ancillary.push(SendAncillaryMessage::ScmRights(descriptors)));
    rustix::net::sendmsg(channel.as_fd(), &[IoSlice::new(bytes)], &mut ancillary, SendFlags::NOSIGNAL)
        .unwrap();
}
