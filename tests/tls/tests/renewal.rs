//! `packaging/acme/renew`: certificates of keys on cards that come by certbot and dehydrated, and the server that shows
//! them then.

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use tls_tests::{Place, Server, said, talk};

const LABEL: &str = "WEB.RENEWED";
const NAMES: &str = "www.renewed.test renewed.test";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A place with a key whose certificate it signed itself.
fn place() -> Place {
    Place::new(&[(LABEL, "p256-sign", NAMES)])
}

/// Runs it with these arguments, and a command that has the server reload.
fn renew(place: &Place, server: &Server<'_>, arguments: &str) -> Output {
    let mut command = Command::new(root().join("packaging/acme/renew"));
    command
        .args(arguments.split_whitespace())
        .current_dir(place.path(""))
        .env("CRYPTAND", system_tests::program("cryptand"))
        .env("CRYPTAND_HOME", place.home())
        .env("RELOAD", format!("kill -HUP {}", server.pid()))
        // What the clients know for an authority's own certificate, and where they leave what they leave.
        .env("REQUESTS_CA_BUNDLE", place.path("pebble.pem"))
        .env("CURL_CA_BUNDLE", place.path("pebble.pem"))
        .env("TMPDIR", place.path(""))
        .stdin(Stdio::null());
    command.output().expect("a script can be executed")
}

fn installed(place: &Place) -> String {
    place.cryptand(&["cert", "show", LABEL, "--pem"])
}

/// Whether a client that trusts these roots is served with a certificate for each name.
fn is_served(server: &Server<'_>, roots: &Path) -> bool {
    NAMES.split(' ').all(|name| {
        let mut command = Command::new("openssl");
        command.args(["s_client", "-verify_return_error", "-verify_hostname", name, "-servername", name]);
        command.args(["-connect", &format!("127.0.0.1:{}", server.port())]).arg("-CAfile").arg(roots);
        talk(&mut command, b"GET / HTTP/1.1\r\nHost: any\r\n\r\n", "served\n").1.contains("\nserved\n")
    })
}

/// One after the other: a new certificate comes, the server shows it, and the key is the same.
fn is_renewed(place: &Place, server: &Server<'_>, roots: &Path, arguments: &str) {
    let before = installed(place);
    let output = renew(place, server, &format!("--days 99999 {LABEL} {NAMES} -- {arguments}"));
    assert!(output.status.success(), "{arguments}: {output:?}");
    server.has_reloaded();
    assert_ne!(installed(place), before, "{arguments}");
    assert!(is_served(server, roots), "{arguments}");
    place.cryptand(&[
        "cert",
        "check",
        LABEL,
        "--name",
        "renewed.test",
        "--roots",
        &roots.display().to_string(),
    ]);
    // It is for longer than 30 days: nothing is to be done, and nothing is said.
    let again = renew(place, server, &format!("{LABEL} {NAMES} -- {arguments}"));
    assert!(again.status.success() && again.stdout.is_empty() && again.stderr.is_empty(), "{again:?}");
}

/// Exit code 1, a reason, and everything as before.
fn is_left(place: &Place, server: &Server<'_>, arguments: &str) {
    let before = installed(place);
    let output = renew(place, server, arguments);
    assert_eq!(output.status.code(), Some(1), "{arguments}: {output:?}");
    assert!(!output.stderr.is_empty(), "{arguments}");
    assert_eq!(installed(place), before, "{arguments}");
    let left = fs::read_dir(place.path("")).unwrap().map(|entry| entry.unwrap().file_name());
    let left: Vec<_> = left.filter(|name| name.to_string_lossy().starts_with("renew.")).collect();
    assert!(left.is_empty(), "{arguments}: {left:?}");
}

/// Clients that are called as the real ones are, and sign by themselves.
const CERTBOT: &str = r#"#!/bin/sh
set -eu
while [ $# -gt 0 ]; do
    case $1 in --csr) csr=$2 ;; --fullchain-path) chain=$2 ;; --key) csr=$2 ;; --fail) echo "no certificate" >&2; exit 1 ;; esac
    shift
done
openssl x509 -req -in "$csr" -CA ca.pem -CAkey ca.key -set_serial "0x$(openssl rand -hex 8)" -days 90 \
    -copy_extensions copy 2>/dev/null >"$chain"
cat ca.pem >>"$chain"
"#;
const DEHYDRATED: &str = r##"#!/bin/sh
set -eu
while [ $# -gt 0 ]; do
    case $1 in --signcsr) csr=$2 ;; --other) other=1 ;; esac
    shift
done
echo "# INFO: of its own" >&2
if [ -n "${other-}" ]; then
    openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout other.key -subj / \
        -addext "subjectAltName = DNS:www.renewed.test, DNS:renewed.test" 2>/dev/null >other.csr
    csr=other.csr
fi
echo "# CERT #"
openssl x509 -req -in "$csr" -CA ca.pem -CAkey ca.key -set_serial "0x$(openssl rand -hex 8)" -days 90 -copy_extensions copy 2>/dev/null
cat ca.pem
echo
"##;

#[test]
fn a_new_chain_is_shown_and_what_does_not_fit_is_left() {
    let place = place();
    let server = place.serve("modern");
    let openssl = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=authority -keyout ca.key -out ca.pem";
    said(Command::new("openssl").args(openssl.split(' ')).current_dir(place.path("")));
    needs::write_script(&place.path("certbot"), CERTBOT);
    needs::write_script(&place.path("dehydrated"), DEHYDRATED);
    let roots = place.path("ca.pem");
    is_renewed(&place, &server, &roots, "./certbot --webroot");
    is_renewed(&place, &server, &roots, "./dehydrated");
    for arguments in [
        // The client fails; its certificate is of another key; it is not for a name that was asked for.
        format!("--days 99999 {LABEL} {NAMES} -- ./certbot --fail"),
        format!("--days 99999 {LABEL} {NAMES} -- ./dehydrated --other"),
        format!("{LABEL} {NAMES} more.renewed.test -- ./dehydrated --other"),
        format!("--days 99999 WEB.NOBODY {NAMES} -- ./certbot"),
        format!("--days 99999 {LABEL} {NAMES} -- ./missing/certbot"),
    ] {
        is_left(&place, &server, &arguments);
    }
    for arguments in [
        "",
        LABEL,
        "WEB.RENEWED -- certbot",
        "WEB.RENEWED renewed.test",
        "WEB.RENEWED renewed.test --",
        "WEB.RENEWED renewed.test -- other",
        "WEB.RENEWED $(reboot) -- certbot",
        "--days x WEB.RENEWED renewed.test -- certbot",
        "--days",
    ] {
        let output = renew(&place, &server, arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments}: {output:?}");
    }
    // Another name is reason enough.
    let before = installed(&place);
    let output = renew(&place, &server, &format!("{LABEL} {NAMES} more.renewed.test -- ./certbot"));
    assert!(output.status.success(), "{output:?}");
    server.has_reloaded();
    assert_ne!(installed(&place), before);
    server.stop();
}

/// Programs that end with the test.
struct Running(Vec<Child>);

impl Running {
    fn start(&mut self, place: &Place, command: &mut Command) {
        command.current_dir(place.path("")).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        self.0.push(command.spawn().expect("the program can be executed"));
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Ports that nobody listens at.
fn ports<const N: usize>() -> [u16; N] {
    let held = [(); N].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
    held.each_ref().map(|listener| listener.local_addr().unwrap().port())
}

fn is_there(program: impl AsRef<std::ffi::OsStr>) -> bool {
    let mut command = Command::new(program);
    command.arg("--version").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok()
}

#[test]
fn certbot_and_dehydrated_renew_at_pebble() {
    if std::env::var_os("CRYPTAND_TEST_ALL").is_none() {
        return;
    }
    let pebble = root().join("target/pebble");
    let has_all = is_there("certbot")
        && is_there("dehydrated")
        && ["pebble", "pebble-challtestsrv"].iter().all(|program| pebble.join(program).exists());
    if needs::did_without(needs::Need::Acme, !has_all) {
        return;
    }
    let place = place();
    let server = place.serve("modern");
    let openssl = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=localhost \
                   -addext subjectAltName=IP:127.0.0.1 -keyout pebble.key -out pebble.pem";
    said(Command::new("openssl").args(openssl.split(' ')).current_dir(place.path("")));
    let [acme, management, http, tls, dns] = ports();
    let settings = serde_json::json!({ "pebble": {
        "listenAddress": format!("127.0.0.1:{acme}"), "managementListenAddress": format!("127.0.0.1:{management}"),
        "certificate": "pebble.pem", "privateKey": "pebble.key", "httpPort": http, "tlsPort": tls,
        "domainBlocklist": ["refused.test"],
    }});
    fs::write(place.path("pebble.json"), settings.to_string()).unwrap();
    let challenges = place.path("www/.well-known/acme-challenge");
    fs::create_dir_all(&challenges).unwrap();
    let mut running = Running(Vec::new());
    let mut names = Command::new(pebble.join("pebble-challtestsrv"));
    names.args(["-dnsserver", &format!("127.0.0.1:{dns}"), "-defaultIPv4", "127.0.0.1", "-defaultIPv6", ""]);
    names.args(["-http01", "", "-https01", "", "-tlsalpn01", "", "-doh", "", "-management", ""]);
    running.start(&place, &mut names);
    let mut authority = Command::new(pebble.join("pebble"));
    authority.args(["-config", "pebble.json", "-dnsserver", &format!("127.0.0.1:{dns}")]);
    // Without its pauses, and without the nonces that it refuses by chance: dehydrated gives up then.
    authority.envs([("PEBBLE_VA_NOSLEEP", "1"), ("PEBBLE_WFE_NONCEREJECT", "0")]);
    running.start(&place, &mut authority);
    let mut web = Command::new("python3");
    web.args(["-m", "http.server", "--bind", "127.0.0.1", "--directory", "www", &http.to_string()]);
    running.start(&place, &mut web);
    let until = ["--silent", "--show-error", "--retry", "100", "--retry-connrefused", "--retry-delay", "1"];
    let curl = |address: &str| {
        let mut command = Command::new("curl");
        said(command.args(until).arg("--cacert").arg(place.path("pebble.pem")).arg(address))
    };
    let roots = place.path("roots.pem");
    fs::write(&roots, curl(&format!("https://127.0.0.1:{management}/roots/0"))).unwrap();
    curl(&format!("http://127.0.0.1:{http}/"));

    let directory = format!("https://127.0.0.1:{acme}/dir");
    let certbot = format!(
        "certbot --server {directory} --config-dir cb --work-dir cb --logs-dir cb --webroot --webroot-path www \
         --agree-tos --register-unsafely-without-email"
    );
    let (base, well_known) = (place.path("dh").display().to_string(), challenges.display());
    fs::create_dir(&base).unwrap();
    fs::write(
        place.path("dh.conf"),
        format!("CA=\"{directory}\"\nBASEDIR=\"{base}\"\nWELLKNOWN=\"{well_known}\"\n"),
    )
    .unwrap();
    let mut register = Command::new("dehydrated");
    register.args(["--config", "dh.conf", "--register", "--accept-terms"]).current_dir(place.path(""));
    said(register.env("CURL_CA_BUNDLE", place.path("pebble.pem")).env("TMPDIR", place.path("")));

    let dehydrated = "dehydrated --config dh.conf";
    is_renewed(&place, &server, &roots, &certbot);
    is_renewed(&place, &server, &roots, dehydrated);
    for client in [&certbot, dehydrated] {
        is_left(&place, &server, &format!("{LABEL} refused.test -- {client}"));
    }
    assert!(is_served(&server, &roots));
    server.stop();
}
