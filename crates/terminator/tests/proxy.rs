//! The PROXY protocol: what backends are told, and what proxies say.

use crate::support::{Client, Folder, VERSIONS, close, ecdsa, output, path_text};
use openssl::ssl::{Ssl, SslContext, SslMethod, SslStream, SslVersion};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::thread;
use terminator::proxy::{Origin, Progress, read};

fn folder() -> Folder {
    let folder = Folder::new();
    folder.certify("one", &ecdsa(), &["one.test"]);
    folder
}

fn settings(more: &str) -> String {
    format!(
        "
[[certificate]]
chain = \"one.pem\"
key = \"one.key\"
[[listener]]
address = \"127.0.0.1:0\"
{more}
"
    )
}

/// A connection on which this was said before TLS, in pieces of so many bytes.
fn connect(address: SocketAddr, header: &[u8], split: usize) -> Result<SslStream<TcpStream>, String> {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_nodelay(true).unwrap();
    for piece in header.chunks(split) {
        stream.write_all(piece).unwrap();
    }
    let context = SslContext::builder(SslMethod::tls_client()).unwrap().build();
    let mut ssl = Ssl::new(&context).unwrap();
    ssl.set_hostname("one.test").unwrap();
    ssl.connect(stream).map_err(|error| error.to_string())
}

fn version_2(client: [u8; 4], port: u16) -> Vec<u8> {
    let mut header = b"\r\n\r\n\0\r\nQUIT\n\x21\x11\x00\x13".to_vec();
    header.extend_from_slice(&client);
    header.extend_from_slice(&[203, 0, 113, 5]);
    header.extend_from_slice(&port.to_be_bytes());
    header.extend_from_slice(&[0x01, 0xbb]);
    // A field that says nothing.
    header.extend_from_slice(&[0x04, 0, 4, 1, 2, 3, 4]);
    header
}

/// What a backend is told, and what comes behind it.
fn told(listener: &TcpListener, data: usize) -> (Vec<u8>, Origin, Vec<u8>) {
    let mut stream = listener.accept().unwrap().0;
    let (mut got, mut buffer) = (Vec::new(), [0; 1000]);
    loop {
        if let Progress::Done { origin, bytes } = read(&got).unwrap()
            && got.len() == bytes + data
        {
            let rest = got.split_off(bytes);
            return (got, origin, rest);
        }
        let count = stream.read(&mut buffer).unwrap();
        assert!(count > 0);
        got.extend_from_slice(&buffer[..count]);
    }
}

#[test]
fn backends_are_told_address_name_protocol_version_and_suite() {
    let folder = folder();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let backend = format!("backends = [\"{}\"]", listener.local_addr().unwrap());
    let server = folder.serve(&settings(&format!("send_proxy = \"v2\"\nalpn = [\"h2\"]\n{backend}")));
    for (version, word) in VERSIONS.into_iter().zip(["TLSv1.2", "TLSv1.3"]) {
        let client = Client { protocols: b"\x02h2", ..Client::new(version) };
        let mut stream = client.connect(server.address(), "one.test").unwrap();
        stream.write_all(b"hello").unwrap();
        let (header, origin, rest) = told(&listener, 5);
        let client = stream.get_ref().local_addr().unwrap();
        assert_eq!(origin, Origin::Client { client, server: server.address() });
        assert_eq!(rest, b"hello");
        let cipher = stream.ssl().current_cipher().unwrap().name().to_owned();
        let fields = [
            &b"\x01\0\x02h2\x02\0\x08one.test\x20\0"[..],
            &[(5 + 3 + 7 + 3 + cipher.len()) as u8],
            b"\x01\0\0\0\x01\x21\0\x07",
            word.as_bytes(),
            &[0x23, 0, cipher.len() as u8],
            cipher.as_bytes(),
        ]
        .concat();
        assert_eq!(&header[16 + 12..], fields);
        close(stream);
    }
    // A client that says neither name nor protocol, and sends nothing: the backend is told all the same.
    folder.settings(
        &settings(&format!("send_proxy = \"v2\"\n{backend}"))
            .replace("[[listener]]", "default = true\n[[listener]]"),
    );
    server.reload();
    let stream = Client::new(SslVersion::TLS1_3).connect(server.address(), "").unwrap();
    let (header, ..) = told(&listener, 0);
    assert_eq!(header[16 + 12], 0x20);
    close(stream);
    // What is said to backends is not the client's.
    assert!(server.stop().iter().all(|entry| entry["bytes_in"].as_u64().unwrap() <= 5));
}

#[test]
fn what_a_proxy_says_is_logged_and_told_to_backends_however_it_is_split() {
    let folder = folder();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let backend = format!("backends = [\"{}\"]", listener.local_addr().unwrap());
    let lines = format!("accept_proxy = [\"192.0.2.1\", \"127.0.0.0/8\"]\nsend_proxy = \"v2\"\n{backend}");
    let server = folder.serve(&settings(&lines));
    let binary = version_2([192, 0, 2, 77], 4711);
    let line = b"PROXY TCP4 192.0.2.77 203.0.113.5 4711 443\r\n".to_vec();
    for (header, split) in [(&binary, 100), (&binary, 1), (&line, 100), (&line, 1)] {
        let mut stream = connect(server.address(), header, split).unwrap();
        stream.write_all(b"x").unwrap();
        let (_, origin, rest) = told(&listener, 1);
        let (client, server) = ("192.0.2.77:4711".parse().unwrap(), "203.0.113.5:443".parse().unwrap());
        assert_eq!((origin, &rest[..]), (Origin::Client { client, server }, &b"x"[..]));
        close(stream);
    }
    // The proxy's own connection, and one of an unknown kind of address.
    for header in
        [&b"\r\n\r\n\0\r\nQUIT\n\x20\0\0\0"[..], b"\r\n\r\n\0\r\nQUIT\n\x21\0\0\0", b"PROXY UNKNOWN\r\n"]
    {
        let stream = connect(server.address(), header, 100).unwrap();
        let client = stream.get_ref().local_addr().unwrap();
        assert_eq!(told(&listener, 0).1, Origin::Client { client, server: server.address() });
        close(stream);
    }
    let log = server.stop();
    let of = |client: &str| {
        log.iter().filter(|entry| entry["client"].as_str().unwrap().starts_with(client)).count()
    };
    assert_eq!((of("192.0.2.77:4711"), of("127.0.0.1:")), (4, 3), "{log:?}");
}

#[test]
fn connections_without_a_header_and_of_others_are_refused_and_why_is_logged() {
    let folder = folder();
    let lines = "answer = \"served\\n\"\naccept_proxy = [\"127.0.0.1\"]\n";
    let others = "[[listener]]\naddress = \"127.0.0.2:0\"\nanswer = \"served\\n\"\naccept_proxy = [\"192.0.2.0/24\", \"unix\"]\n";
    let server = folder.serve(&format!("[limits]\nhandshake_seconds = 1\n{}{others}", settings(lines)));
    let [open, closed] = server.addresses()[..] else { panic!() };
    let good = version_2([192, 0, 2, 1], 1);
    let mut long = good.clone();
    (long[14], long[15]) = (0xff, 0xff);
    for (header, address) in [
        (&b""[..], open),
        (b"GET / HTTP/1.0\r\n\r\n", open),
        (b"PROXY TCP4 192.0.2.1\r\n", open),
        (&long, open),
        (&good, closed),
    ] {
        connect(address, header, 1000).unwrap_err();
    }
    // Half of it, and then nothing, or the end.
    let mut half = TcpStream::connect(open).unwrap();
    half.write_all(&good[..20]).unwrap();
    assert_eq!(half.read(&mut [0; 1]).unwrap(), 0);
    let mut half = TcpStream::connect(open).unwrap();
    half.write_all(&good[..20]).unwrap();
    half.shutdown(std::net::Shutdown::Write).unwrap();
    assert_eq!(half.read(&mut [0; 1]).unwrap(), 0);
    let log = server.stop();
    let mut ends: Vec<_> = log.iter().map(|entry| entry["end"].as_str().unwrap()).collect();
    ends.sort_unstable();
    let expected = [
        "handshake-timeout",
        "proxy: a header that is too long",
        "proxy: cut",
        "proxy: no addresses",
        "proxy: no header",
        "proxy: no header",
        "refused: accept_proxy",
    ];
    assert_eq!(ends, expected);
}

#[test]
fn the_bound_of_an_address_is_that_of_the_one_that_the_proxy_says() {
    let folder = folder();
    let lines = "answer = \"served\\n\"\naccept_proxy = [\"127.0.0.1\"]\n";
    let server = folder.serve(&format!("[limits]\nconnections_per_address = 1\n{}", settings(lines)));
    let first = connect(server.address(), &version_2([192, 0, 2, 1], 1), 100).unwrap();
    let other = connect(server.address(), &version_2([192, 0, 2, 2], 1), 100).unwrap();
    connect(server.address(), &version_2([192, 0, 2, 1], 2), 100).unwrap_err();
    close(first);
    close(other);
    let log = server.stop();
    let full: Vec<_> = log.iter().filter(|entry| entry["end"] == "full: connections_per_address").collect();
    assert!(full.len() == 1 && full[0]["client"] == "192.0.2.1:2", "{log:?}");
}

#[test]
fn python_reads_the_header_as_the_standard_has_it() {
    let folder = folder();
    let script = "
import socket, struct, sys
listener = socket.socket(); listener.bind(('127.0.0.1', 0)); listener.listen()
print(listener.getsockname()[1], flush=True)
stream = listener.accept()[0].makefile('rb')
signature, command, family, length = struct.unpack('!12sBBH', stream.read(16))
assert signature == b'\\r\\n\\r\\n\\0\\r\\nQUIT\\n' and command == 0x21 and family == 0x11
rest = stream.read(length)
print(*['.'.join(map(str, rest[at:at + 4])) for at in (0, 4)], *struct.unpack('!HH', rest[8:12]))
def fields(rest):
    while rest:
        kind, length = struct.unpack('!BH', rest[:3])
        yield kind, rest[3:3 + length]
        rest = rest[3 + length:]
for kind, value in fields(rest[12:]):
    if kind == 0x20:
        flags, verify = struct.unpack('!BI', value[:5])
        print(kind, flags, verify, *[(kind, value.decode()) for kind, value in fields(value[5:])])
    else:
        print(kind, value.decode())
";
    let mut child = Command::new("python3").args(["-c", script]).stdout(Stdio::piped()).spawn().unwrap();
    let mut said = std::io::BufReader::new(child.stdout.take().unwrap());
    let mut port = String::new();
    std::io::BufRead::read_line(&mut said, &mut port).unwrap();
    let server =
        folder.serve(&settings(&format!("send_proxy = \"v2\"\nbackends = [\"127.0.0.1:{}\"]", port.trim())));
    let stream = Client::new(SslVersion::TLS1_3).connect(server.address(), "one.test").unwrap();
    let mut text = String::new();
    said.read_to_string(&mut text).unwrap();
    assert!(child.wait().unwrap().success());
    let (client, here) = (stream.get_ref().local_addr().unwrap(), server.address());
    let cipher = stream.ssl().current_cipher().unwrap().name();
    assert_eq!(
        text,
        format!(
            "127.0.0.1 127.0.0.1 {} {}\n2 one.test\n32 1 1 (33, 'TLSv1.3') (35, '{cipher}')\n",
            client.port(),
            here.port()
        )
    );
}

/// HAProxy with this configuration; killed when it is dropped.
struct HaProxy(Child);

impl HaProxy {
    fn start(folder: &Folder, text: &str) -> Option<Self> {
        let program = ["/usr/sbin/haproxy", "/usr/local/sbin/haproxy", "/usr/bin/haproxy"]
            .into_iter()
            .find(|program| std::path::Path::new(program).exists());
        if needs::did_without(needs::Need::HaProxy, program.is_none()) {
            return None;
        }
        let file = folder.write("haproxy.cfg", text);
        // In the foreground: it is one process, which ends with the test.
        let child = Command::new(program?).args(["-db", "-q", "-f"]).arg(file).spawn().unwrap();
        Some(Self(child))
    }
}

impl Drop for HaProxy {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

const DEFAULTS: &str = "
global
  nbthread 1
defaults
  timeout connect 60s
  timeout client 60s
  timeout server 60s
";

#[test]
fn haproxy_as_the_backend_and_as_the_proxy_in_front_agrees() {
    let folder = folder();
    let (behind, before) = (folder.path("behind"), folder.path("before"));
    let backend = format!("backends = [\"unix:{}\"]", behind.display());
    let lines = format!("accept_proxy = [\"127.0.0.1\"]\nsend_proxy = \"v2\"\n{backend}");
    let server = folder.serve(&settings(&lines));
    let text = format!(
        "{DEFAULTS}
frontend behind
  mode http
  bind unix@{} accept-proxy
  http-request return status 200 content-type text/plain lf-string \"%[src] %[src_port] %[fc_pp_authority]\\n\"
frontend before
  mode tcp
  bind unix@{} accept-proxy
  default_backend terminator
backend terminator
  mode tcp
  server one {} send-proxy-v2
",
        behind.display(),
        before.display(),
        server.address()
    );
    let Some(haproxy) = HaProxy::start(&folder, &text) else { return };
    // A client of HAProxy in front, which is itself told whom the connection is of.
    let script = "
import socket, ssl, sys, time
path, trusted = sys.argv[1:]
stream = socket.socket(socket.AF_UNIX)
for _ in range(1200):
    try:
        stream.connect(path)
        break
    except OSError:
        time.sleep(0.1)
stream.sendall(b'PROXY TCP4 192.0.2.9 203.0.113.5 4242 443\\r\\n')
context = ssl.create_default_context(cafile=trusted)
with context.wrap_socket(stream, server_hostname='one.test') as stream:
    stream.sendall(b'GET / HTTP/1.0\\r\\n\\r\\n')
    text = b''
    while not text.endswith(b'one.test\\n'):
        got = stream.recv(4096)
        assert got, text
        text += got
print(text.decode().splitlines()[-1])
";
    let trusted = folder.path("one.pem");
    let arguments = ["-c", script, path_text(&before), path_text(&trusted)];
    let (is_done, said) = output(Command::new("python3").args(arguments), b"");
    assert!(is_done && said == "192.0.2.9 4242 one.test\n", "{said}");
    drop(haproxy);
    let log = server.stop();
    assert_eq!(log[0]["client"], "192.0.2.9:4242");
}

#[test]
fn a_backend_that_is_slow_to_take_gets_header_and_data_in_order() {
    let folder = folder();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let backend = format!("backends = [\"{}\"]", listener.local_addr().unwrap());
    let server = folder.serve(&settings(&format!("send_proxy = \"v2\"\n{backend}")));
    let address = server.address();
    let writer = thread::spawn(move || {
        let mut stream = Client::new(SslVersion::TLS1_3).connect(address, "one.test").unwrap();
        stream.write_all(&vec![7; 1 << 20]).unwrap();
        close(stream);
    });
    let (_, origin, rest) = told(&listener, 1 << 20);
    assert!(matches!(origin, Origin::Client { .. }) && rest.iter().all(|byte| *byte == 7));
    writer.join().unwrap();
    drop(server);
}
