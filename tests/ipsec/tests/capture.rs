//! What `cryptand ipsec capture` writes is opened by Wireshark's tshark: it shows the packets inside, and finds their
//! ICVs right.

use ipsec_tests::{Host, PATIENCE, Plane, Site, built, fetched};
use needs::Need;
use std::fs;
use std::path::Path;
use std::process::Command;

/// Seconds of a capture, within which many pings go.
const SECONDS: u32 = 3;

/// A tunnel: its suite as iproute2 has it, and how packets travel.
struct Tunnel {
    name: &'static str,
    suite: &'static str,
    way: &'static str,
}

/// What tshark 4.0 knows: neither ChaCha20-Poly1305 nor extended sequence numbers.
const TUNNELS: [Tunnel; 4] = [
    Tunnel {
        name: "gcm in UDP",
        suite: "aead 'rfc4106(gcm(aes))' 0x000102030405060708090a0b0c0d0e0f10111213 128",
        way: "encap espinudp 4500 4500 0.0.0.0",
    },
    Tunnel {
        name: "cbc with SHA-1 in UDP",
        suite: "auth-trunc 'hmac(sha1)' 0x000102030405060708090a0b0c0d0e0f10111213 96 enc 'cbc(aes)' 0x000102030405060708090a0b0c0d0e0f",
        way: "encap espinudp 4500 4500 0.0.0.0",
    },
    Tunnel {
        name: "cbc with SHA-256 in protocol 50",
        suite: "auth-trunc 'hmac(sha256)' 0x000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f 128 enc 'cbc(aes)' 0x000102030405060708090a0b0c0d0e0f",
        way: "",
    },
    Tunnel {
        name: "3DES with SHA-1 in protocol 50",
        suite: "auth-trunc 'hmac(sha1)' 0x000102030405060708090a0b0c0d0e0f10111213 96 enc 'cbc(des3_ede)' 0x000102030405060708090a0b0c0d0e0fa0a1a2a3a4a5a6a7",
        way: "",
    },
];

#[test]
fn tshark_opens_what_was_captured() {
    let Some(site) = Site::new() else { return };
    let Some(tshark) = tshark() else { return };
    let [a, b] = site.pair();
    let planes = [Plane::start(&a, &["--weak-suites"]), Plane::start(&b, &["--weak-suites"])];
    for (number, Tunnel { name, suite, way }) in TUNNELS.iter().enumerate() {
        for (plane, own, other) in [(&planes[0], 1, 2), (&planes[1], 2, 1)] {
            plane.run(&format!(
                "ip xfrm state flush; ip xfrm policy flush
                ip xfrm state add src 192.0.2.1 dst 192.0.2.2 proto esp spi 0x100{number} reqid 7 mode tunnel replay-window 64 {suite} {way}
                ip xfrm state add src 192.0.2.2 dst 192.0.2.1 proto esp spi 0x200{number} reqid 7 mode tunnel replay-window 64 {suite} {way}
                ip xfrm policy add src 10.{own}.0.0/16 dst 10.{other}.0.0/16 dir out tmpl src 192.0.2.{own} dst 192.0.2.{other} proto esp reqid 7 mode tunnel
                ip xfrm policy add src 10.{other}.0.0/16 dst 10.{own}.0.0/16 dir in tmpl src 192.0.2.{other} dst 192.0.2.{own} proto esp reqid 7 mode tunnel"
            ));
        }
        a.start("pings", &[], &["ping", "-n", "-q", "-i", "0.02", "-I", "10.1.0.1", "10.2.0.1"]);
        let folder = a.file(&format!("capture-{number}"));
        capture(&a, &folder);
        a.signal("pings", "INT");
        let shown = tshark.read(&folder);
        for flow in ["10.1.0.1\t10.2.0.1\t8", "10.2.0.1\t10.1.0.1\t0"] {
            let found = shown.lines().filter(|line| line.starts_with(flow)).count();
            assert!(found > 3, "{name}: {found} of {flow:?} in\n{shown}");
        }
        let is_wrong = |line: &&str| !line.ends_with("\t1");
        assert_eq!(shown.lines().find(is_wrong), None, "{name}: the ICV of a packet is not right");
    }
}

/// Captures into a folder, which is made.
fn capture(host: &Host, folder: &Path) {
    let json = format!(
        r#"{{"capture":{{"plane":{{"folder":"{}"}},"give_keys_away":true,"interface":"eth0","seconds":{SECONDS},"into":"{}"}}}}"#,
        ipsec_tests::FOLDER,
        folder.display()
    );
    let program = built("cryptand-esp");
    host.start("capture", &[], &[program.to_str().expect("a path is text"), "ipsec", &json]);
    assert_eq!(host.wait("capture", PATIENCE), Some(true), "{}", host.log("capture"));
}

/// tshark, as `scripts/need test` unpacks it.
struct Tshark(std::path::PathBuf);

/// None, which is noted, where it is not there or lacks libraries.
fn tshark() -> Option<Tshark> {
    let found = fetched("tshark").map(Tshark);
    let runs = found.as_ref().is_some_and(|found| {
        found.command().arg("--version").output().is_ok_and(|output| output.status.success())
    });
    if needs::did_without(Need::Tshark, !runs) { None } else { found }
}

impl Tshark {
    fn command(&self) -> Command {
        let mut command = Command::new(self.0.join("usr/bin/tshark"));
        // Where Debian's packages have their libraries.
        let libraries = format!("usr/lib/{}-linux-gnu", std::env::consts::ARCH);
        command.env("LD_LIBRARY_PATH", self.0.join(libraries));
        command
    }

    /// The pings within a capture that it opens with the keys that lie beside: source, destination and type of each,
    /// and whether the ICV is right.
    fn read(&self, folder: &Path) -> String {
        let preferences = folder.join("wireshark");
        fs::create_dir(&preferences).expect("a folder of preferences is made");
        fs::copy(folder.join("esp_sa"), preferences.join("esp_sa")).expect("the keys are copied");
        let mut command = self.command();
        command.env("XDG_CONFIG_HOME", folder).env("HOME", folder);
        command.arg("-r").arg(folder.join("packets.pcap"));
        for set in ["esp.enable_encryption_decode:TRUE", "esp.enable_authentication_check:TRUE"] {
            command.args(["-o", set]);
        }
        command.args(["-Y", "icmp", "-T", "fields", "-E", "occurrence=l"]);
        for field in ["ip.src", "ip.dst", "icmp.type", "esp.icv_good"] {
            command.args(["-e", field]);
        }
        let output = command.output().expect("tshark is started");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "tshark: {errors}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }
}
