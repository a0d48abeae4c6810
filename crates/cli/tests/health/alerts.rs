//! The alert rules and the dashboards: judged by promtool, and by a Prometheus that scrapes a home whose parts are
//! ended, sealed and starved. `scripts/need test` fetches both programs from Debian's package.

use super::bench::{Bench, Exporter, PASSPHRASE, PATIENCE, get, load_keys};
use rustix::process::Signal;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Instant;

const PACKAGING: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../packaging");
/// Tests of the alert rules, for promtool.
const TESTS: [&str; 4] = ["cryptand.test.yml", "backup.test.yml", "ipsec.test.yml", "tls.test.yml"];

/// A program of Prometheus's package.
fn program(name: &str) -> Option<PathBuf> {
    let fetched = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/prometheus/usr/bin").join(name);
    let paths = std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()).collect::<Vec<_>>();
    let found =
        std::iter::once(fetched).chain(paths.iter().map(|path| path.join(name))).find(|path| path.exists());
    needs::did_without(needs::Need::Prometheus, found.is_none());
    found
}

fn rules() -> String {
    fs::read_to_string(format!("{PACKAGING}/prometheus/cryptand.rules.yml")).unwrap()
}

/// Every expression of the dashboards, with what Grafana puts into it.
fn expressions() -> Vec<String> {
    let dashboards = ["cryptand.json", "cryptand-ipsec.json"].map(|name| -> Value {
        serde_json::from_slice(&fs::read(format!("{PACKAGING}/grafana/{name}")).unwrap()).unwrap()
    });
    let panels = dashboards.iter().flat_map(|dashboard| dashboard["panels"].as_array().unwrap());
    let targets = panels.flat_map(|panel| panel["targets"].as_array().unwrap());
    let expressions = targets.map(|target| target["expr"].as_str().unwrap());
    expressions.map(|text| text.replace("$instance", ".*").replace("$__rate_interval", "3s")).collect()
}

/// Names of metrics in a text.
fn names(text: &str) -> BTreeSet<String> {
    let words = text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
    words.filter(|word| word.starts_with("cryptand_")).map(str::to_owned).collect()
}

#[test]
fn promtool_finds_every_alert_as_it_should_be() {
    let Some(promtool) = program("promtool") else { return };
    let folder = format!("{PACKAGING}/prometheus");
    for arguments in [vec!["check", "rules", "cryptand.rules.yml"], [&["test", "rules"], &TESTS[..]].concat()]
    {
        let output = Command::new(&promtool).args(arguments).current_dir(&folder).output().unwrap();
        assert!(
            output.status.success(),
            "{}{}",
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        );
    }
    // No alert is left out of the tests.
    let tests = TESTS.map(|name| fs::read_to_string(format!("{folder}/{name}")).unwrap()).concat();
    for line in rules().lines().filter_map(|line| line.trim().strip_prefix("- alert: ")) {
        assert!(tests.matches(&format!("alertname: {line}\n")).count() >= 1, "{line} never fires");
        assert!(tests.contains(&format!("alertname: {line}, exp_alerts: []")), "{line} is never silent");
    }
}

/// A Prometheus that scrapes one exporter; ended when the test ends.
struct Prometheus {
    process: Child,
    address: String,
    _folder: tempfile::TempDir,
}

impl Prometheus {
    /// With the rules, but for how long something must last.
    fn new(program: &Path, exporter: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let text: String = rules()
            .lines()
            .filter(|line| !line.trim().starts_with("for: "))
            .fold(String::new(), |text, line| {
                text + &line.replace("[5m]", "[3s]").replace("[10m]", "[3s]") + "\n"
            });
        fs::write(folder.path().join("rules.yml"), text).unwrap();
        let configuration = format!(
            "global: {{scrape_interval: 250ms, scrape_timeout: 250ms, evaluation_interval: 250ms}}\nrule_files: [rules.yml]\n\
             scrape_configs:\n  - job_name: cryptand\n    static_configs: [{{targets: [\"{exporter}\"]}}]\n"
        );
        fs::write(folder.path().join("prometheus.yml"), configuration).unwrap();
        let address = free_address();
        let process = Command::new(program)
            .arg(format!("--config.file={}", folder.path().join("prometheus.yml").display()))
            .arg(format!("--storage.tsdb.path={}", folder.path().join("data").display()))
            .arg(format!("--web.listen-address={address}"))
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let prometheus = Self { process, address, _folder: folder };
        let end = Instant::now() + PATIENCE;
        while std::net::TcpStream::connect(&prometheus.address).is_err()
            || !get(&prometheus.address, "/-/ready").contains(" 200 ")
        {
            assert!(Instant::now() < end, "Prometheus does not begin");
            std::thread::yield_now();
        }
        prometheus
    }

    fn answer(&self, path: &str) -> Value {
        let answer = get(&self.address, path);
        let (_, body) = answer.split_once("\r\n\r\n").unwrap();
        let answer: Value = serde_json::from_str(body).unwrap_or_else(|_| panic!("{path}: {answer}"));
        assert_eq!(answer["status"], "success", "{path}: {answer}");
        answer["data"].clone()
    }

    /// Names of the alerts that fire.
    fn firing(&self) -> BTreeSet<String> {
        let alerts = self.answer("/api/v1/alerts")["alerts"].clone();
        let alerts = alerts.as_array().unwrap().iter().filter(|alert| alert["state"] == "firing");
        alerts.map(|alert| alert["labels"]["alertname"].as_str().unwrap().to_owned()).collect()
    }

    /// Waits until these fire, of those that a test is about, and no others.
    fn until(&self, expected: &[&str]) {
        let expected: BTreeSet<String> = expected.iter().map(|name| format!("Cryptand{name}")).collect();
        let end = Instant::now() + PATIENCE;
        loop {
            let firing = self.firing();
            if firing == expected {
                return;
            }
            assert!(Instant::now() < end, "{firing:?} and not {expected:?}");
            std::thread::yield_now();
        }
    }
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// An address that nobody listens at.
fn free_address() -> String {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string()
}

fn escaped(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

#[test]
fn a_real_prometheus_sees_each_alert_fire_and_clear() {
    let Some(program) = program("prometheus") else { return };
    let bench = Bench::new(&["init", "--no-master-keys", "--seal-memory", "64"]);
    let address = free_address();
    let exporter = Exporter::at(&bench, &address);
    let prometheus = Prometheus::new(&program, &address);
    prometheus.until(&["Down"]);
    bench.done(&["serve", "--background"], "");
    prometheus.until(&["Sealed", "BackupOld"]);
    let backup = bench.base.path().join("backup");
    bench.done(&["backup", backup.to_str().unwrap()], "");
    prometheus.until(&["Sealed"]);

    // What a key is asked for is answered with return code 12.
    let end = Instant::now() + PATIENCE;
    while !prometheus.firing().contains("CryptandRequestsFail") {
        let asked = bench.run(&["key", "generate", "A.B", "--type", "aes256"], "");
        assert!(String::from_utf8_lossy(&asked.stderr).contains("12/"), "{asked:?}");
        assert!(Instant::now() < end, "{:?}", prometheus.firing());
    }
    prometheus.until(&["Sealed"]);
    load_keys(&bench);
    bench.done(&["master-key", "set"], "");
    prometheus.until(&["KeysNotSealed"]);
    bench.done(&["master-key", "seal"], &PASSPHRASE.repeat(2));
    prometheus.until(&[]);

    // Guesses of one card, until it is refused.
    bench.done(&["key", "generate", "ZONE.IN", "--type", "tdes-ipinenc"], "");
    bench.done(&["key", "generate", "ISSUER.PVK", "--type", "tdes-pinver", "--usage", "VISA-PVV"], "");
    let of_block = ["--block", "0011223344556677", "--block-key", "ZONE.IN", "--pan", "4012345678909"];
    let guess = [&["pin", "verify"], &of_block[..], &["--pin-key", "ISSUER.PVK", "--pvv", "4021"]].concat();
    for _ in 0..10 {
        let said = bench.run(&guess, "");
        assert!(matches!(said.status.code(), Some(3 | 4)), "{said:?}");
    }
    prometheus.until(&["PinsRefused"]);
    bench.done(&["pin", "failures", "clear", "--all"], "");
    for label in ["ZONE.IN", "ISSUER.PVK"] {
        bench.done(&["key", "delete", label, "--yes"], "");
    }
    prometheus.until(&[]);

    bench.done(&["card", "quiesce", "0"], "");
    prometheus.until(&["CardsMissing"]);
    bench.done(&["card", "resume", "0"], "");
    prometheus.until(&[]);

    // A card that ends again and again, and a keeper that does.
    let end = Instant::now() + PATIENCE;
    while !prometheus.firing().contains("CryptandCardsEnd") {
        let pid = bench.status()["cards"][1]["pid"].clone();
        if pid.as_i64() != Some(0) {
            bench.end(&pid, Signal::KILL);
        }
        assert!(Instant::now() < end, "{:?}", prometheus.firing());
    }
    prometheus.until(&[]);
    bench.end(&bench.status()["keeper_pid"], Signal::KILL);
    prometheus.until(&["KeysMissing"]);
    bench.done(&["unseal"], PASSPHRASE);
    prometheus.until(&[]);

    // A record that two changes of master keys leave behind.
    bench.done(&["key", "generate", "A.B", "--type", "aes256"], "");
    for (first, last, lose) in [("4D", "81", &[][..]), ("5E", "82", &["--lose", "1"])] {
        for (part, digits) in [("first", first), ("last", last)] {
            let typed = digits.repeat(32) + "\n";
            bench.done(&["master-key", "load", "aes", part, "--from-stdin"], &typed);
        }
        bench.done(&[&["master-key", "set"], lose].concat(), "");
    }
    let sealing = [PASSPHRASE.repeat(2), PASSPHRASE.to_owned()].concat();
    bench.done(&["master-key", "seal"], &sealing);
    prometheus.until(&["RecordsWithoutKey"]);
    bench.done(&["key", "delete", "A.B", "--yes"], "");
    prometheus.until(&[]);

    // Whatever the rules and the dashboards speak of is there, and can be asked for.
    let page = get(&exporter.1, "/metrics");
    let served = names(&page);
    let spoken = [rules(), expressions().join("\n")].concat();
    // What other programs tell their own tests look for.
    let is_others =
        |name: &str| ["cryptand_tls_", "cryptand_ipsec_"].iter().any(|other| name.starts_with(other));
    for name in names(&spoken).into_iter().filter(|name| !is_others(name)) {
        assert!(served.contains(&name), "{name} is not served");
    }
    for expression in expressions() {
        prometheus.answer(&format!("/api/v1/query?query={}", escaped(&expression)));
    }

    drop(exporter);
    prometheus.until(&["NotScraped"]);
    let _exporter = Exporter::at(&bench, &address);
    prometheus.until(&[]);
}
