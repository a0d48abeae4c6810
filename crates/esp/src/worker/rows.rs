//! What observers are shown of SAs, policies and threads.

use std::fmt::Write as _;

use ipsec::{Action, Direction, Limit, Mode, PolicyDirection, Prefix, Sa, Selector};

use super::Worker;
use crate::observed::{Drops, PolicyRow, SaRow, Status, ThreadRow};

impl Worker {
    pub(super) fn status(&self) -> Status {
        let totals = self.shared.counters();
        let drops = drops(&totals.all).filter(|(_, packets)| *packets > 0);
        Status {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            pid: std::process::id(),
            seconds: self.began.elapsed().as_secs_f64(),
            restarts: self.start.restarts,
            device: self.start.device.clone(),
            level: engine::LibraryFeatures::read().level().name().to_owned(),
            lacks: self.lacks.clone(),
            memory_bytes: confine::arena::report().region_bytes,
            memory_used_bytes: confine::arena::report().used_bytes,
            weak_suites: self.start.weak_suites,
            sas: self.xfrm.sad().len(),
            policies: self.xfrm.list_policies().count(),
            clients: self.clients.len(),
            threads: totals.threads.iter().map(row).collect(),
            totals: row(&totals.all),
            drops: drops.map(|(reason, packets)| Drops { reason: reason.to_owned(), packets }).collect(),
        }
    }

    pub(super) fn sas(&self) -> Vec<SaRow> {
        let now = self.now();
        let mut rows: Vec<SaRow> = self.xfrm.sad().iter().map(|sa| sa_row(sa, now)).collect();
        rows.sort_by(|one, other| (&one.direction, one.spi).cmp(&(&other.direction, other.spi)));
        rows
    }

    pub(super) fn policies(&self) -> Vec<PolicyRow> {
        self.xfrm.list_policies().map(|policy| policy_row(&policy)).collect()
    }

    /// Text for Prometheus: threads, drops by reason, and each SA and policy.
    pub(super) fn metrics(&self) -> String {
        let status = self.status();
        let mut text = String::new();
        let mut family = |name: &str, kind: &str, help: &str, samples: Vec<(String, f64)>| {
            let _ =
                writeln!(text, "# HELP cryptand_ipsec_{name} {help}\n# TYPE cryptand_ipsec_{name} {kind}");
            for (labels, value) in samples {
                let _ = writeln!(text, "cryptand_ipsec_{name}{labels} {value}");
            }
        };
        let one = |value: f64| vec![(String::new(), value)];
        family("sas", "gauge", "SAs, those whose SPI is only reserved among them.", one(status.sas as f64));
        family("policies", "gauge", "Policies.", one(status.policies as f64));
        family(
            "restarts_total",
            "counter",
            "Workers that ended before this one.",
            one(status.restarts as f64),
        );
        let failures = self.keeping.failures();
        family(
            "refused_routes_total",
            "counter",
            "Changes of policies that were refused, since the kernel refused a route.",
            one(failures.routes as f64),
        );
        family(
            "journal_errors_total",
            "counter",
            "Writes of the journal that failed: changes of policies were refused, or names of SAs not kept.",
            one(failures.journal as f64),
        );
        let threads = |value: fn(&ThreadRow) -> u64| {
            let rows = status.threads.iter().enumerate();
            rows.map(|(index, row)| (format!("{{thread=\"{index}\"}}"), value(row) as f64)).collect()
        };
        family("sealed_packets_total", "counter", "Packets sealed.", threads(|row| row.sealed));
        family(
            "sealed_bytes_total",
            "counter",
            "Bytes of packets before they were sealed.",
            threads(|row| row.sealed_bytes),
        );
        family("opened_packets_total", "counter", "Packets opened.", threads(|row| row.opened));
        family(
            "opened_bytes_total",
            "counter",
            "Bytes of packets after they were opened.",
            threads(|row| row.opened_bytes),
        );
        family(
            "bypassed_packets_total",
            "counter",
            "Packets that passed in clear, since no policy is for them.",
            threads(|row| row.bypassed),
        );
        family("batches_total", "counter", "Batches that were sealed or opened.", threads(|row| row.batches));
        let totals = self.shared.counters();
        let drops =
            drops(&totals.all).map(|(reason, packets)| (format!("{{reason=\"{reason}\"}}"), packets as f64));
        family("dropped_packets_total", "counter", "Packets dropped, by reason.", drops.collect());
        let sas = self.sas();
        let of_sas = |value: fn(&SaRow) -> f64| {
            let label = |sa: &SaRow| {
                format!(
                    "{{spi=\"{:08x}\",direction=\"{}\",source=\"{}\",destination=\"{}\",suite=\"{}\"}}",
                    sa.spi, sa.direction, sa.source, sa.destination, sa.suite
                )
            };
            sas.iter().map(|sa| (label(sa), value(sa))).collect()
        };
        family("sa_packets_total", "counter", "Packets of an SA.", of_sas(|sa| sa.packets as f64));
        family(
            "sa_bytes_total",
            "counter",
            "Bytes of packets inside of an SA.",
            of_sas(|sa| sa.bytes as f64),
        );
        family(
            "sa_replayed_packets_total",
            "counter",
            "Packets that came again.",
            of_sas(|sa| sa.replayed as f64),
        );
        family(
            "sa_too_old_packets_total",
            "counter",
            "Packets that came too late for the window.",
            of_sas(|sa| sa.too_old as f64),
        );
        family(
            "sa_unauthenticated_packets_total",
            "counter",
            "Packets whose ICV was wrong.",
            of_sas(|sa| sa.unauthenticated as f64),
        );
        text
    }
}

fn row(figures: &plane::Figures) -> ThreadRow {
    ThreadRow {
        sealed: figures.esp.sealed,
        sealed_bytes: figures.esp.sealed_bytes,
        opened: figures.esp.opened,
        opened_bytes: figures.esp.opened_bytes,
        bypassed: figures.bypassed,
        dropped: drops(figures).map(|(_, packets)| packets).sum(),
        batches: figures.sealed_batches.iter().chain(&figures.opened_batches).sum(),
    }
}

/// Packets by the reason why they were dropped: those of ESP and policies, then those of the packet path.
fn drops(figures: &plane::Figures) -> impl Iterator<Item = (&'static str, u64)> {
    let of_esp = figures.esp.reasons().map(|(reason, packets)| (reason.name(), packets));
    of_esp.chain(figures.losses().map(|(loss, packets)| (loss.name(), packets)))
}

fn sa_row(sa: &Sa, now: ipsec::Time) -> SaRow {
    let figures = sa.figures();
    let (source, destination) = sa.ends();
    let peer = sa.peer();
    SaRow {
        spi: sa.spi(),
        direction: match sa.direction() {
            Direction::In => "in".to_owned(),
            Direction::Out => "out".to_owned(),
        },
        mode: mode(sa.mode()).to_owned(),
        suite: sa.suite().to_string(),
        source: source.to_string(),
        destination: destination.to_string(),
        peer: if sa.in_udp() {
            std::net::SocketAddr::new(peer.address, peer.port).to_string()
        } else {
            peer.address.to_string()
        },
        in_udp: sa.in_udp(),
        extended: sa.extended(),
        request: sa.request(),
        bytes: figures.bytes,
        packets: figures.packets,
        sequence: figures.sequence,
        window: sa.window().map_or(0, ipsec::Window::size),
        replayed: figures.replayed,
        too_old: figures.too_old,
        unauthenticated: figures.unauthenticated,
        age_seconds: now.since(figures.added).as_secs(),
        limits: limits(&sa.limits().hard),
    }
}

fn mode(mode: Mode) -> &'static str {
    match mode {
        Mode::Tunnel => "tunnel",
        Mode::Transport => "transport",
    }
}

fn limits(limit: &Limit) -> String {
    let parts = [
        limit.bytes.map(|bytes| format!("{bytes} bytes")),
        limit.packets.map(|packets| format!("{packets} packets")),
        limit.seconds.map(|seconds| format!("{seconds} s")),
        limit.seconds_used.map(|seconds| format!("{seconds} s of use")),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

fn policy_row(policy: &xfrm::PolicyListing) -> PolicyRow {
    let (action, template) = match policy.action {
        Action::Bypass => ("bypass", String::new()),
        Action::Discard => ("discard", String::new()),
        Action::Protect(template) => {
            let ends = template.ends.map(|(source, destination)| format!(" {source} to {destination}"));
            let text =
                format!("{}{}, request {}", mode(template.mode), ends.unwrap_or_default(), template.request);
            ("protect", text)
        }
    };
    PolicyRow {
        index: policy.index,
        direction: match policy.direction {
            PolicyDirection::In => "in",
            PolicyDirection::Out => "out",
            PolicyDirection::Forward => "fwd",
        }
        .to_owned(),
        selector: selector(&policy.selector),
        priority: policy.priority,
        action: action.to_owned(),
        template,
    }
}

fn selector(selector: &Selector) -> String {
    let fields = selector.fields();
    let prefix = |prefix: Prefix| format!("{}/{}", prefix.address, prefix.bits);
    let ports = |ports: ipsec::Ports| match ports.mask {
        0 => String::new(),
        u16::MAX => format!(" port {}", ports.port),
        mask => format!(" ports {:#x}/{mask:#x}", ports.port),
    };
    format!(
        "{}{} to {}{}{}",
        prefix(fields.source),
        ports(fields.source_ports),
        prefix(fields.destination),
        ports(fields.destination_ports),
        fields.protocol.map(|protocol| format!(", protocol {protocol}")).unwrap_or_default()
    )
}
