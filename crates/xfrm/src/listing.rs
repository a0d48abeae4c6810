//! SAs and policies for people and metrics: plain values, without keys.

use crate::state::Stage;
use crate::xfrm::Xfrm;
use ipsec::{
    Action, Direction, Endpoint, Limits, Mode, PolicyDirection, PolicyFigures, SaFigures, Selector, Standing,
    Suite, Time,
};
use std::net::IpAddr;

/// An SA.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SaListing {
    /// What it does; None while it is being negotiated.
    pub direction: Option<Direction>,
    /// Its SPI; 0 where an ACQUIRE waits for an answer.
    pub spi: u32,
    /// The end that seals, as it was added.
    pub source: IpAddr,
    /// The end that opens, as it was added.
    pub destination: IpAddr,
    /// By which policies know it.
    pub request: u32,
    /// When it was added, in seconds of the wall clock.
    pub added: u64,
    /// When its negotiation ends; None once it is in use.
    pub until: Option<Time>,
    /// What only one in use has.
    pub used: Option<SaInUse>,
}

/// What an SA has that is in use.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SaInUse {
    /// What is inside.
    pub mode: Mode,
    /// What protects it.
    pub suite: Suite,
    /// This end.
    pub local: Endpoint,
    /// The other end, where it is now.
    pub peer: Endpoint,
    /// Whether its packets travel in UDP.
    pub in_udp: bool,
    /// Whether its sequence numbers have 64 bits.
    pub extended: bool,
    /// Numbers that its replay window holds; 0 for none.
    pub window: u32,
    /// Packets that it is for; None for all that its policies allow.
    pub selector: Option<Selector>,
    /// How long it lives.
    pub limits: Limits,
    /// How far it has come.
    pub standing: Standing,
    /// What it has done.
    pub figures: SaFigures,
}

/// A policy.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PolicyListing {
    /// Its index, by which events name it.
    pub index: u32,
    /// Which packets it is asked about.
    pub direction: PolicyDirection,
    /// Which traffic it is for.
    pub selector: Selector,
    /// The lowest wins.
    pub priority: u32,
    /// What is done.
    pub action: Action,
    /// How long it lives: by seconds since it was added alone.
    pub limits: Limits,
    /// When it was added, in seconds of the wall clock.
    pub added: u64,
    /// When its SAs were last used.
    pub last: Option<Time>,
    /// What it has decided. An update in its place goes on counting; one that was removed and added again begins anew.
    pub figures: PolicyFigures,
}

/// Traffic that an outbound policy protects.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Protected {
    /// The policy's index.
    pub index: u32,
    /// Which traffic.
    pub selector: Selector,
    /// The lowest wins.
    pub priority: u32,
    /// Both ends of its tunnel; None in transport mode.
    pub ends: Option<(IpAddr, IpAddr)>,
}

impl Xfrm {
    /// Outbound policies that protect: what routes must lead to the data plane.
    pub fn protected(&self) -> impl Iterator<Item = Protected> {
        self.policies.iter().filter(|(_, entry)| entry.direction == PolicyDirection::Out).filter_map(
            |(_, entry)| {
                Some(Protected {
                    index: entry.index(),
                    selector: entry.policy.selector,
                    priority: entry.policy.priority,
                    ends: entry.template()?.ends,
                })
            },
        )
    }

    /// All SAs, the newest first.
    pub fn list_sas(&self, now: Time) -> impl Iterator<Item = SaListing> {
        self.states.iter().map(move |(_, state)| SaListing {
            direction: state.direction(),
            spi: state.given.spi,
            source: state.given.source,
            destination: state.given.destination,
            request: state.given.request,
            added: state.added,
            until: match state.stage {
                Stage::Larval(until) => Some(until),
                Stage::Full(_) => None,
            },
            used: state.sa().map(|sa| SaInUse {
                mode: sa.mode(),
                suite: sa.suite(),
                local: sa.local(),
                peer: sa.peer(),
                in_udp: sa.in_udp(),
                extended: sa.extended(),
                window: sa.window().map_or(0, ipsec::Window::size),
                selector: sa.selector().copied(),
                limits: sa.limits(),
                standing: sa.standing(now),
                figures: sa.figures(),
            }),
        })
    }

    /// All policies, the newest first.
    pub fn list_policies(&self) -> impl Iterator<Item = PolicyListing> {
        let uses = self.last_uses();
        self.policies.iter().map(move |(_, entry)| PolicyListing {
            index: entry.index(),
            direction: entry.direction,
            selector: entry.policy.selector,
            priority: entry.policy.priority,
            action: entry.policy.action,
            limits: entry.lifetime.limits(),
            added: entry.added_wall,
            last: entry.last_use(&uses),
            figures: self.spd.figures(entry.direction, &entry.policy.selector).unwrap_or_default(),
        })
    }
}
