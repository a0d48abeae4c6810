//! SAs and policies for people and metrics: plain values, without keys.

use crate::state::Stage;
use crate::xfrm::Xfrm;
use ipsec::{
    Action, Direction, Endpoint, Limits, Mode, PolicyDirection, PolicyFigures, SaFigures, Selector, Standing,
    Suite, Time,
};
use std::net::IpAddr;

/// An SA, as listings show it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SaListing {
    /// Whether the SA opens or seals; `None` while it is being negotiated.
    pub direction: Option<Direction>,
    /// The SA's SPI; 0 if an ACQUIRE waits for an answer.
    pub spi: u32,
    /// The end that seals, as it was added.
    pub source: IpAddr,
    /// The end that opens, as it was added.
    pub destination: IpAddr,
    /// The request number by which policies know the SA.
    pub request: u32,
    /// When it was added, in seconds of the wall clock.
    pub added: u64,
    /// When its negotiation ends; `None` once it is in use.
    pub until: Option<Time>,
    /// The fields of an SA in use; `None` while it is being negotiated.
    pub used: Option<SaInUse>,
}

/// The fields that only an SA in use has.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SaInUse {
    /// The part of a packet that the SA protects.
    pub mode: Mode,
    /// The SA's algorithms.
    pub suite: Suite,
    /// Address and port of this end.
    pub local: Endpoint,
    /// Address and port of the other end, where it is now.
    pub peer: Endpoint,
    /// Whether its packets travel in UDP.
    pub in_udp: bool,
    /// Whether its sequence numbers have 64 bits.
    pub extended: bool,
    /// Size of its replay window, in numbers; 0 for none.
    pub window: u32,
    /// The packets that the SA is for; `None` for all that its policies allow.
    pub selector: Option<Selector>,
    /// The SA's lifetime, soft and hard.
    pub limits: Limits,
    /// Where the SA stands within its limits.
    pub standing: Standing,
    /// Counts and times of its use.
    pub figures: SaFigures,
}

/// A policy, as listings show it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PolicyListing {
    /// The policy's index, by which events name it.
    pub index: u32,
    /// The direction of the packets that it is asked about.
    pub direction: PolicyDirection,
    /// The traffic that the policy is for.
    pub selector: Selector,
    /// The policy's priority: the lowest wins.
    pub priority: u32,
    /// What the policy does with that traffic.
    pub action: Action,
    /// The policy's lifetime, of which only seconds since it was added take effect.
    pub limits: Limits,
    /// When the policy was added, in seconds of the wall clock.
    pub added: u64,
    /// When the policy's SAs were last used; `None` if they were not.
    pub last: Option<Time>,
    /// Counts of what it has decided. An update in its place goes on counting; a policy that was removed and added
    /// again begins anew.
    pub figures: PolicyFigures,
}

/// Traffic that an outbound policy protects.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Protected {
    /// The policy's index.
    pub index: u32,
    /// The traffic that the policy protects.
    pub selector: Selector,
    /// The policy's priority: the lowest wins.
    pub priority: u32,
    /// Both ends of its tunnel; `None` in transport mode.
    pub ends: Option<(IpAddr, IpAddr)>,
}

impl Xfrm {
    /// Outbound policies that protect: routes must lead their traffic to the data plane.
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
