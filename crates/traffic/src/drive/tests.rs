//! Every workload between a server and a client in this process.

use crate::{
    Counters, DriveFailure, Header, Load, Plan, Report, Running, Server, ServerOptions, Workload, drive,
};
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream, UdpSocket};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

fn server(options: ServerOptions) -> Running {
    Server::bind(([127, 0, 0, 1], 0).into(), options).unwrap().start().unwrap()
}

fn typed(server: &Running, workload: Workload) -> Load {
    Load {
        workload,
        target: server.address().to_string(),
        seconds: 0.3,
        warm_up: 0.05,
        timeout: 5.0,
        ..Load::default()
    }
}

fn run(typed: &Load) -> Result<Report, DriveFailure> {
    drive(&Plan::new(typed).unwrap(), &AtomicBool::new(false), &mut |_| ())
}

/// Waits until the server has counted what is expected.
fn until(server: &Running, what: &str, expected: impl Fn(&Counters) -> bool) {
    let begin = Instant::now();
    while !expected(&server.counters()) {
        assert!(begin.elapsed() < Duration::from_secs(20), "{what}: {:?}", server.counters());
        std::thread::yield_now();
    }
}

fn counts_add_up(report: &Report, request: u64, response: u64) {
    assert!(report.transactions > 10, "{report:?}");
    assert!(report.errors.is_empty(), "{report:?}");
    let close = |bytes: u64, each: u64| {
        // Connections begin with a header, and the window cuts through requests.
        let slack = report.connections as u64 * (24 + each);
        assert!(bytes.abs_diff(report.transactions * each) <= slack, "{report:?}");
    };
    close(report.bytes_sent, request);
    close(report.bytes_received, response);
    let times = report.latency_us.unwrap();
    let ordered = [times.p50, times.p90, times.p99, times.p999, times.max];
    assert!(times.p50 > 0.0 && ordered.windows(2).all(|pair| pair[0] <= pair[1]), "{times:?}");
}

#[test]
fn requests_and_responses() {
    for threads in [1, 2] {
        let server = server(ServerOptions { threads, ..ServerOptions::default() });
        for (request, response) in [(1, 1), (200, 1000), (200, 32_768), (300_000, 300_001)] {
            let typed = Load {
                request: Some(request),
                response: Some(response),
                connections: 8,
                threads: threads as u32,
                pid: vec![format!("{}=both", std::process::id())],
                ..typed(&server, Workload::Rr)
            };
            let report = run(&typed).unwrap();
            counts_add_up(&report, request.into(), response.into());
            assert!(report.processor_us_per_transaction.unwrap() > 0.0);
        }
        assert_eq!(server.counters().wrong, 0);
    }
}

#[test]
fn a_connection_for_each_request() {
    let server = server(ServerOptions::default());
    let typed = Load { connections: 4, ..typed(&server, Workload::Crr) };
    let report = run(&typed).unwrap();
    counts_add_up(&report, 64, 8192);
    assert_eq!(report.bytes_sent, report.transactions * 64);
    let counters = server.counters();
    assert!(counters.responses >= report.transactions && counters.connections >= report.transactions);
}

#[test]
fn one_way_and_the_other() {
    let server = server(ServerOptions::default());
    for connections in [1, 3] {
        let up = run(&Load { connections, ..typed(&server, Workload::Stream) }).unwrap();
        assert!(up.bytes_sent > 10_000_000 && up.bytes_received == 0, "{up:?}");
        let down = run(&Load { connections, ..typed(&server, Workload::Download) }).unwrap();
        assert!(down.bytes_received > 10_000_000 && down.bytes_sent == 0, "{down:?}");
    }
    assert_eq!(server.counters().wrong, 0);
}

#[test]
fn datagrams_at_a_rate_and_as_fast_as_they_go() {
    let server = server(ServerOptions::default());
    let fast = run(&typed(&server, Workload::Udp)).unwrap();
    let counts = fast.datagrams.unwrap();
    assert!(counts.received > 1000 && counts.received <= counts.sent + 100_000, "{fast:?}");
    assert_eq!((counts.duplicates, counts.reordered), (0, 0));
    let typed = Load { rate: Some(2000.0), request: Some(1400), ..typed(&server, Workload::Udp) };
    let paced = run(&typed).unwrap();
    assert_eq!(paced.datagrams.unwrap().lost, 0.0, "{paced:?}");
    assert!((400..=800).contains(&paced.transactions), "{paced:?}");
    assert_eq!(server.counters().stray_datagrams, 0);
}

#[test]
fn ping_is_one_connection() {
    let server = server(ServerOptions::default());
    counts_add_up(&run(&typed(&server, Workload::Ping)).unwrap(), 200, 200);
}

#[test]
fn an_open_loop_keeps_its_rate() {
    let server = server(ServerOptions::default());
    for workload in [Workload::Rr, Workload::Crr] {
        let typed = Load { rate: Some(500.0), connections: 8, seconds: 0.5, ..typed(&server, workload) };
        let report = run(&typed).unwrap();
        assert!((200..=300).contains(&report.transactions), "{report:?}");
        let starts = report.starts.unwrap();
        assert!(starts.begun >= 200 && starts.never < 50, "{starts:?}");
    }
}

/// A server that answers no faster than once in 20 ms: with one connection 50 of 200 starts a second can be done, and
/// what waited counts.
#[test]
fn an_open_loop_counts_from_when_it_was_due() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let target = listener.local_addr().unwrap().to_string();
    let slow = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut bytes = [0; 1024];
        while stream.read(&mut bytes).is_ok_and(|count| count > 0) {
            std::thread::sleep(Duration::from_millis(20));
            if stream.write_all(&[0]).is_err() {
                break;
            }
        }
    });
    let typed = Load {
        target,
        rate: Some(200.0),
        request: Some(1),
        response: Some(1),
        seconds: 1.0,
        warm_up: 0.0,
        ..Load::default()
    };
    // Its answers are wrong, which ends the run; the times of the open loop are looked at in `client::looped`.
    assert!(matches!(run(&typed), Err(DriveFailure::Wrong(Workload::Rr))));
    slow.join().unwrap();
}

#[test]
fn who_is_not_there_is_said_at_once() {
    let target = {
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        free.local_addr().unwrap().to_string()
    };
    let begin = Instant::now();
    for workload in
        [Workload::Rr, Workload::Crr, Workload::Stream, Workload::Download, Workload::Udp, Workload::Ping]
    {
        let typed = Load { workload, target: target.clone(), seconds: 600.0, ..Load::default() };
        let why = run(&typed).unwrap_err().to_string();
        assert!(why.contains("refused"), "{workload}: {why}");
    }
    assert!(begin.elapsed() < Duration::from_secs(60));
}

#[test]
fn an_interruption_says_what_was_measured() {
    let server = server(ServerOptions::default());
    let plan = Plan::new(&Load { seconds: 600.0, ..typed(&server, Workload::Rr) }).unwrap();
    let interrupted = AtomicBool::new(false);
    let report = drive(&plan, &interrupted, &mut |progress| {
        if progress.is_measured && progress.passed > Duration::from_millis(200) {
            interrupted.store(true, std::sync::atomic::Ordering::Relaxed);
        }
    });
    let report = report.unwrap();
    assert!(report.seconds < 60.0 && report.warnings.iter().any(|warning| warning.contains("interrupted")));
}

/// Between client and server something changes one byte in a direction: the run fails, whatever the workload.
#[test]
fn a_changed_byte_fails_the_run() {
    let server = server(ServerOptions::default());
    for (workload, is_up) in [
        (Workload::Rr, true),
        (Workload::Rr, false),
        (Workload::Crr, false),
        (Workload::Stream, true),
        (Workload::Download, false),
    ] {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let (target, behind) = (listener.local_addr().unwrap().to_string(), server.address());
        let between = std::thread::spawn(move || {
            let (client, _) = listener.accept().unwrap();
            drop(listener);
            let server = TcpStream::connect(behind).unwrap();
            let back = (server.try_clone().unwrap(), client.try_clone().unwrap());
            let down = std::thread::spawn(move || changed(back.0, back.1, !is_up));
            changed(client, server, is_up);
            down.join().unwrap();
        });
        let typed = Load { target, timeout: 1.0, ..typed(&server, workload) };
        let wrong = server.counters().wrong;
        let ended = run(&typed);
        match (is_up, ended) {
            // Where the server sees it, it closes the connection.
            (true, Err(DriveFailure::Closed)) => {}
            (true, ended) if workload == Workload::Rr => {
                assert!(ended.is_err() || !ended.as_ref().unwrap().errors.is_empty(), "{ended:?}");
            }
            (false, Err(DriveFailure::Wrong(said))) => assert_eq!(said, workload),
            (_, ended) => panic!("{workload}: {ended:?}"),
        }
        if is_up {
            until(&server, "wrong contents", |counters| counters.wrong > wrong);
        }
        between.join().unwrap();
    }
}

/// Passes bytes on, and changes the 5,000th of them.
fn changed(mut from: TcpStream, mut to: TcpStream, is_changed: bool) {
    let (mut bytes, mut passed) = ([0; 4096], 0);
    while let Ok(count @ 1..) = from.read(&mut bytes) {
        if is_changed && (passed..passed + count).contains(&5000) {
            bytes[5000 - passed] ^= 0x10;
        }
        passed += count;
        if to.write_all(&bytes[..count]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Both);
    let _ = from.shutdown(Shutdown::Both);
}

fn header(workload: Workload, request: u32, response: u32) -> Header {
    Header { workload, request, response, seed: 1 }
}

/// Reads until the server closes; gives how much came.
fn read_to_end(mut stream: TcpStream) -> usize {
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let (mut all, mut bytes) = (0, [0; 4096]);
    loop {
        match stream.read(&mut bytes) {
            Ok(0) => return all,
            Ok(count) => all += count,
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => return all,
            Err(error) => panic!("{error}"),
        }
    }
}

#[test]
fn no_header_is_closed() {
    let server = server(ServerOptions::default());
    let mut sizes = header(Workload::Rr, 1, 1).bytes();
    sizes[8..12].copy_from_slice(&u32::MAX.to_be_bytes());
    let zeros = [0; 24];
    for wrong in [&b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"[..], &sizes, &zeros] {
        let mut stream = TcpStream::connect(server.address()).unwrap();
        stream.write_all(wrong).unwrap();
        assert_eq!(read_to_end(stream), 0);
    }
    // Half of one, and the end.
    let mut stream = TcpStream::connect(server.address()).unwrap();
    stream.write_all(&sizes[..12]).unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    assert_eq!(read_to_end(stream), 0);
    until(&server, "malformed", |counters| counters.malformed == 4);
}

#[test]
fn what_does_not_move_is_closed() {
    let server = server(ServerOptions {
        header_max: Duration::from_millis(300),
        idle_max: Duration::from_millis(300),
        ..ServerOptions::default()
    });
    // Half a header, one that trickles, a request that does not come, a response that is not read.
    let mut half = TcpStream::connect(server.address()).unwrap();
    half.write_all(&header(Workload::Rr, 1, 1).bytes()[..7]).unwrap();
    let silent = TcpStream::connect(server.address()).unwrap();
    let mut asks_nothing = TcpStream::connect(server.address()).unwrap();
    asks_nothing.write_all(&header(Workload::Rr, 1000, 1).bytes()).unwrap();
    let mut reads_nothing = TcpStream::connect(server.address()).unwrap();
    reads_nothing.write_all(&header(Workload::Download, 0, 0).bytes()).unwrap();
    // Others are served meanwhile.
    counts_add_up(&run(&typed(&server, Workload::Rr)).unwrap(), 200, 1000);
    until(&server, "idle", |counters| counters.idle >= 4);
    assert_eq!((read_to_end(half), read_to_end(silent), read_to_end(asks_nothing)), (0, 0, 0));
    assert!(read_to_end(reads_nothing) > 0);
}

#[test]
fn connections_have_a_bound_and_each_address_its_share() {
    let options =
        ServerOptions { connections_max: 64, address_connections_max: 40, ..ServerOptions::default() };
    let server = server(options);
    let many: Vec<TcpStream> = (0..200).map(|_| TcpStream::connect(server.address()).unwrap()).collect();
    until(&server, "refused", |counters| counters.refused == 160 && counters.connections == 40);
    drop(many);
    // Their places are free again.
    let begin = Instant::now();
    while run(&typed(&server, Workload::Ping)).is_err() {
        assert!(begin.elapsed() < Duration::from_secs(20));
    }
}

#[test]
fn a_flood_of_connections_leaves_others_served() {
    let server = server(ServerOptions::default());
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(std::sync::atomic::Ordering::Relaxed) {
                let Ok(mut stream) = TcpStream::connect(server.address()) else { continue };
                let _ = stream.write_all(b"CrTr");
            }
        });
        let report = run(&typed(&server, Workload::Rr));
        is_over.store(true, std::sync::atomic::Ordering::Relaxed);
        counts_add_up(&report.unwrap(), 200, 1000);
    });
    assert!(server.counters().connections > 100);
}

#[test]
fn datagrams_of_nobody_are_counted_and_not_answered() {
    let server = server(ServerOptions::default());
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.connect(server.address()).unwrap();
    for length in [0, 1, 15, 16, 64, 1400] {
        socket.send(&vec![0; length]).unwrap();
    }
    until(&server, "stray", |counters| counters.stray_datagrams == 6);
    socket.set_nonblocking(true).unwrap();
    assert_eq!(socket.recv(&mut [0; 16]).unwrap_err().kind(), std::io::ErrorKind::WouldBlock);
}

/// Whoever knows the number of a run can only spoil that run: its datagrams count as wrong, and the run says so.
#[test]
fn a_run_has_its_number_alone() {
    let server = server(ServerOptions::default());
    let control = |seed| {
        let mut stream = TcpStream::connect(server.address()).unwrap();
        stream.write_all(&Header { seed, ..header(Workload::Udp, 64, 0) }.bytes()).unwrap();
        stream.write_all(&[0]).unwrap();
        let mut counts = [0xff; 40];
        stream.read_exact(&mut counts).map(|()| (stream, counts))
    };
    let (first, counts) = control(7).unwrap();
    assert_eq!(counts, [0; 40]);
    assert!(control(7).is_err(), "a number that is taken");
    drop(first);
    let begin = Instant::now();
    while control(7).is_err() {
        assert!(begin.elapsed() < Duration::from_secs(20));
    }
}
