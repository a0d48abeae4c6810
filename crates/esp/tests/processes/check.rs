//! `cryptand ipsec check`, of a machine that is made up around it.

use crate::mounts::{mount, with_own_mounts};
use crate::net::{Net, with_rights};
use crate::plane::{Plane, program};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use std::process::Command;

fn found(plane: &Plane<'_>) -> Value {
    serde_json::from_str(&plane.shows("check", true)).unwrap()
}

fn advice(found: &Value) -> String {
    found["advice"].as_array().unwrap().iter().map(|line| line.as_str().unwrap().to_owned() + "\n").collect()
}

#[test]
fn what_is_there_and_what_is_not() {
    with_rights(|| {
        with_own_mounts(|| {
            let net = Net::new();
            let plane = Plane::start(&net.near, &[]);
            net.near.run(|| {
                for (link, strict) in [("all", "0"), ("outer", "0")] {
                    fs::write(format!("/proc/sys/net/ipv4/conf/{link}/rp_filter"), strict).unwrap();
                }
            });
            mount(&["-t", "tmpfs", "none", "/etc"]);
            let modprobe = Path::new("/etc/modprobe.d");
            fs::create_dir(modprobe).unwrap();
            fs::write(
                modprobe.join("others.conf"),
                "blacklist pcspkr\ninstall esp4 /sbin/modprobe -i esp4\n",
            )
            .unwrap();
            fs::write(modprobe.join("old"), "blacklist esp4\n").unwrap();
            let fine = found(&plane);
            assert_eq!(
                (&fine["serves"], &fine["tun"], &fine["rights"]),
                (&json!(true), &json!(true), &json!(true))
            );
            assert_eq!((&fine["forbidden_by"], &fine["strict_filters"]), (&json!([]), &json!([])));
            assert_eq!(
                (&fine["egress_filter"], &fine["egress_filter_in_force"]),
                (&json!(true), &json!(false)),
                "{fine}"
            );
            plane.protect(true);
            assert_eq!(found(&plane)["egress_filter_in_force"], json!(true));
            assert!(fine["esp"].is_boolean(), "whoever has the rights finds it out: {fine}");
            let text = plane.shows("check", false);
            assert!(
                text.contains("egress filter     yes, in force\n")
                    && text.contains("a data plane      serves\n")
                    && text.contains("forbidden by      none\n"),
                "{text}"
            );
            assert!(plane.down().status.success());

            fs::write(
                modprobe.join("esp.conf"),
                "# ESP is off\ninstall esp4 /bin/false\ninstall esp6 /bin/false\n",
            )
            .unwrap();
            net.near.run(|| fs::write("/proc/sys/net/ipv4/conf/outer/rp_filter", "1").unwrap());
            mount(&["-t", "tmpfs", "none", "/dev/net"]);
            let lacking = found(&plane);
            assert_eq!((&lacking["serves"], &lacking["tun"]), (&json!(false), &json!(false)));
            assert_eq!(lacking["forbidden_by"], json!(["/etc/modprobe.d/esp.conf"]));
            assert_eq!(lacking["strict_filters"], json!(["outer"]));
            assert_eq!(
                lacking["esp"], fine["esp"],
                "what is on the disk says nothing of the kernel that runs"
            );
            let advised = advice(&lacking);
            if lacking["esp"] == true {
                assert!(advised.contains("the better choice"), "{advised}");
            } else {
                for part in [
                    "has no ESP",
                    "/etc/modprobe.d/esp.conf",
                    "/dev/net/tun is missing",
                    "rp_filter is strict on outer",
                ] {
                    assert!(advised.contains(part), "{part} is not in {advised}");
                }
            }
            let text = plane.shows("check", false);
            let shown: String = text
                .lines()
                .filter_map(|line| line.strip_prefix("* "))
                .map(|line| line.to_owned() + "\n")
                .collect();
            assert_eq!(shown, advised, "text and JSON advise the same");
        });
    });
}

/// What is refused for want of rights says nothing of the kernel.
#[test]
fn without_rights() {
    with_rights(|| {
        let net = Net::new();
        let asked = json!({ "check": { "plane": { "folder": "/nonexistent" }, "json": true } });
        let mut command = Command::new("setpriv");
        command
            .args(["--bounding-set", "-net_admin", "--"])
            .arg(program())
            .arg("ipsec")
            .arg(asked.to_string());
        let output = net.near.output(&mut command);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let found: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!((&found["rights"], &found["esp"]), (&json!(false), &Value::Null), "{found}");
        assert_eq!((&found["egress_filter"], &found["egress_filter_in_force"]), (&Value::Null, &Value::Null));
        let advised = advice(&found);
        assert!(advised.contains("was not found out") && advised.contains("CAP_NET_ADMIN"), "{advised}");
    });
}
