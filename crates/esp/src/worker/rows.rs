//! Rows of SAs, policies and threads for observers.

use super::Worker;
use crate::observed::{Drops, PolicyRow, SaRow, Status, ThreadRow};
use ipsec::{Action, Direction, Limit, Mode, PolicyDirection, Ports, Prefix, Sa, Selector};

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
            egress_filter: self.start.egress_filter,
            sas: self.xfrm.sad().len(),
            policies: self.policy_count(),
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

/// Dropped packets by reason: the reasons of ESP and policies, then those of the packet path.
pub(super) fn drops(figures: &plane::Figures) -> impl Iterator<Item = (&'static str, u64)> {
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
    let drops = policy.figures.drops().filter(|(_, packets)| *packets > 0);
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
        direction: policy_direction(policy.direction).to_owned(),
        selector: selector(&policy.selector),
        priority: policy.priority,
        action: action.to_owned(),
        template,
        packets: policy.figures.packets,
        bytes: policy.figures.bytes,
        drops: drops.map(|(reason, packets)| Drops { reason: reason.name().to_owned(), packets }).collect(),
    }
}

pub(super) fn policy_direction(direction: PolicyDirection) -> &'static str {
    match direction {
        PolicyDirection::In => "in",
        PolicyDirection::Out => "out",
        PolicyDirection::Forward => "fwd",
    }
}

fn selector(selector: &Selector) -> String {
    let fields = selector.fields();
    format!(
        "{} to {}{}",
        end(fields.source, fields.source_ports),
        end(fields.destination, fields.destination_ports),
        fields.protocol.map(|protocol| format!(", protocol {protocol}")).unwrap_or_default()
    )
}

/// One end of a selector as text: prefix, and ports if these are restricted.
pub(super) fn end(prefix: Prefix, ports: Ports) -> String {
    let ports = match ports.mask {
        0 => String::new(),
        u16::MAX => format!(" port {}", ports.port),
        mask => format!(" ports {:#x}/{mask:#x}", ports.port),
    };
    format!("{}/{}{ports}", prefix.address, prefix.bits)
}
