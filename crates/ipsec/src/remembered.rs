//! The flows that a thread saw last, with their policies: a table that packets of a peer can fill, but not extend.

use crate::hash::Mix;
use crate::inner::Flow;
use crate::policy::{Entry, PolicyDirection, Spd};
use std::hash::{Hash, Hasher};

/// Number of flows whose policy a thread remembers, a power of two.
pub const FLOWS_REMEMBERED: usize = 256;

/// The flows that a thread saw last, with their policies by one version of them.
#[derive(Debug)]
pub(crate) struct Remembered {
    version: u64,
    flows: Box<[Option<Known>]>,
}

/// A flow, and its policy; `None` if it has none.
#[derive(Clone, Copy, Debug)]
struct Known {
    flow: Flow,
    direction: PolicyDirection,
    entry: Option<Entry>,
}

/// Number of shapes up to which a look-up costs less than remembering.
const SHAPES_FEW: usize = 4;

impl Remembered {
    pub(crate) fn new() -> Remembered {
        Remembered { version: 0, flows: vec![None; FLOWS_REMEMBERED].into() }
    }

    /// The entry of the policy for a packet, as [`Spd::lookup`] finds it.
    #[inline]
    pub(crate) fn entry<'s>(
        &'s mut self,
        spd: &'s Spd,
        direction: PolicyDirection,
        flow: &Flow,
    ) -> Option<&'s Entry> {
        if spd.shapes(direction) <= SHAPES_FEW {
            spd.entry(direction, flow)
        } else {
            self.known(spd, direction, flow).entry.as_ref()
        }
    }

    fn known(&mut self, spd: &Spd, direction: PolicyDirection, flow: &Flow) -> &Known {
        if self.version != spd.version() {
            self.flows.fill(None);
            self.version = spd.version();
        }
        let mut hasher = Mix::default();
        flow.hash(&mut hasher);
        let slot = &mut self.flows[hasher.finish() as usize & (FLOWS_REMEMBERED - 1)];
        if slot.as_ref().is_some_and(|known| known.direction != direction || known.flow != *flow) {
            *slot = None;
        }
        slot.get_or_insert_with(|| Known {
            flow: *flow,
            direction,
            entry: spd.entry(direction, flow).copied(),
        })
    }
}
