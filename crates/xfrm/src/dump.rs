//! Listings: GETSA and GETPOLICY with NLM_F_DUMP, written piece by piece as their reader takes them.
//!
//! A listing goes from the newest entry to the oldest. Entries that are added while it goes on are not in it; entries
//! that are removed are left out.

use crate::asked::Request;
use crate::fields::{Clock, address, family};
use crate::outbox::{Reply, Writer};
use crate::policies::{LastUses, Policies};
use crate::refusal::Refusal;
use crate::state::XfrmState;
use crate::states::States;
use crate::view::{Attributes, View};
use crate::wire::{attribute, message, netlink, protocol};
use ipsec::Family;
use zeroize::Zeroizing;

/// Upper bound of a piece of a listing, in bytes: programs read as much at once.
pub const DUMP_BYTES: usize = 32_768;
/// Upper bound of an entry of a listing, in bytes.
const ENTRY_BYTES_MAX: usize = 4096;

/// A listing, and how far it has come.
pub(crate) struct Dump {
    what: What,
    reply: Reply,
    /// Number of the last entry that was written: lower ones follow.
    below: u64,
}

enum What {
    Sas { kind: u8, filter: Option<Filter> },
    Policies,
}

/// Prefixes of the addresses that a listing is for (`struct xfrm_address_filter`).
struct Filter {
    source: [u8; 16],
    destination: [u8; 16],
    family: Option<Family>,
    source_bits: u8,
    destination_bits: u8,
}

impl Filter {
    fn read(value: View<'_>) -> Filter {
        Filter {
            source: value.array(0),
            destination: value.array(16),
            family: family(value.u16(32)),
            source_bits: value.u8(34),
            destination_bits: value.u8(35),
        }
    }

    fn fits(&self, state: &XfrmState) -> bool {
        let given = &state.given;
        let Some(family) = self.family else { return true };
        let prefix = |field: &[u8; 16], bits: u8, of: std::net::IpAddr| {
            let bits = bits.min(family.address_bits());
            let wanted = ipsec::Prefix::new(address(View(field), 0, family), bits);
            let [wanted, of] = [wanted.address, of].map(|address| match address {
                std::net::IpAddr::V4(address) => u128::from(address.to_bits()) << 96,
                std::net::IpAddr::V6(address) => address.to_bits(),
            });
            bits == 0 || (wanted ^ of) >> (128 - u32::from(bits)) == 0
        };
        given.family() == family
            && prefix(&self.source, self.source_bits, given.source)
            && prefix(&self.destination, self.destination_bits, given.destination)
    }
}

impl Dump {
    pub(crate) fn begin(request: &Request<'_>) -> Result<Dump, Refusal> {
        let what = if request.header.kind == message::GETSA {
            // Attributes follow whatever structure stands first, or none: programs differ.
            let attributes = Attributes::read(request.message, 0)?;
            let filter = attributes.get(attribute::ADDRESS_FILTER).map(Filter::read);
            What::Sas { kind: attributes.get(attribute::PROTO).map_or(0, |value| value.u8(0)), filter }
        } else {
            What::Policies
        };
        Ok(Dump { what, reply: Reply { flags: netlink::MULTI, ..request.reply }, below: u64::MAX })
    }

    /// Writes the next piece, and returns whether it was the last. `last_uses` is called for policies alone.
    pub(crate) fn write(
        &mut self,
        states: &States,
        policies: &Policies,
        last_uses: impl FnOnce() -> LastUses,
        clock: Clock,
    ) -> (Zeroizing<Vec<u8>>, bool) {
        let mut writer = Writer::with_room(DUMP_BYTES);
        let is_full = |writer: &Writer| writer.len() + ENTRY_BYTES_MAX > DUMP_BYTES;
        let mut is_over = true;
        match &self.what {
            What::Sas { kind, filter } => {
                let is_wanted = [protocol::ANY, protocol::ESP, protocol::IPSEC_ANY].contains(kind);
                let below = self.below;
                let wanted = states.before(below).filter(|(_, state)| {
                    is_wanted && filter.as_ref().is_none_or(|filter| filter.fits(state))
                });
                for (id, state) in wanted {
                    if is_full(&writer) {
                        is_over = false;
                        break;
                    }
                    state.write(&mut writer, message::NEWSA, self.reply, clock);
                    self.below = id;
                }
            }
            What::Policies => {
                let uses = last_uses();
                for (rank, entry) in policies.before(self.below) {
                    if is_full(&writer) {
                        is_over = false;
                        break;
                    }
                    entry.write(&mut writer, message::NEWPOLICY, self.reply, &uses, clock);
                    self.below = rank;
                }
            }
        }
        if is_over {
            writer.done(self.reply);
        }
        (writer.finish(), is_over)
    }
}
