//! GETSADINFO, GETSPDINFO, NEWSPDINFO, SETDEFAULT, GETDEFAULT: counts, and the default for traffic without a policy.

use crate::asked::Request;
use crate::outbox::{Outbox, Writer};
use crate::refusal::Refusal;
use crate::view::{Attributes, View};
use crate::wire::{ATTRIBUTE_HEADER_BYTES, HEADER_BYTES, attribute, errno, message};
use crate::xfrm::Xfrm;
use ipsec::{PolicyDirection, SAS_MAX};

/// The kernel's default thresholds: only policies between single addresses are hashed.
const THRESHOLDS: [(u16, [u8; 2]); 2] =
    [(attribute::SPD_THRESHOLD_V4, [32, 32]), (attribute::SPD_THRESHOLD_V6, [128, 128])];
/// The number of hash buckets that is reported, since one has to be: policies between other addresses are hashed here,
/// too.
const BUCKETS: u32 = 1024;
/// XFRM_USERPOLICY_BLOCK; [`ACCEPT`] is XFRM_USERPOLICY_ACCEPT.
const BLOCK: u8 = 1;
const ACCEPT: u8 = 2;

impl Xfrm {
    pub(crate) fn get_sad_info(&mut self, request: &Request<'_>, out: &mut Outbox) -> Result<(), Refusal> {
        Attributes::read(request.message, 4)?;
        let mut writer = Writer::new();
        writer.begin(message::NEWSADINFO, request.reply, &request.structure().array::<4>(0));
        writer.attribute_u32(attribute::SAD_COUNT, self.states.len() as u32);
        writer.attribute(attribute::SAD_BUCKETS, &[&BUCKETS.to_ne_bytes(), &(SAS_MAX as u32).to_ne_bytes()]);
        writer.end();
        out.push(request.client, writer.finish());
        Ok(())
    }

    pub(crate) fn get_spd_info(&mut self, request: &Request<'_>, out: &mut Outbox) -> Result<(), Refusal> {
        Attributes::read(request.message, 4)?;
        let mut writer = Writer::new();
        writer.begin(message::NEWSPDINFO, request.reply, &request.structure().array::<4>(0));
        // In, out, forward; and the same of sockets, whose policies stay with the kernel.
        let directions = [PolicyDirection::In, PolicyDirection::Out, PolicyDirection::Forward];
        let counts = directions.map(|direction| (self.policies.count(direction) as u32).to_ne_bytes());
        writer.attribute(attribute::SPD_INFO, &[counts.as_flattened(), &[0; 12]]);
        let most = (ipsec::POLICIES_MAX as u32).to_ne_bytes();
        writer.attribute(attribute::SPD_BUCKETS, &[&BUCKETS.to_ne_bytes(), &most]);
        for (kind, bits) in THRESHOLDS {
            writer.attribute(kind, &[&bits]);
        }
        writer.end();
        out.push(request.client, writer.finish());
        Ok(())
    }

    /// SETDEFAULT: only the default that lets traffic without a policy pass is served.
    pub(crate) fn set_default(&self, request: &Request<'_>) -> Result<(), Refusal> {
        Attributes::read(request.message, 3)?;
        let view = request.structure();
        match (0..3).any(|at| view.u8(at) == BLOCK) {
            true => {
                let text = "Blocking what has no policy is not served: add a policy that blocks";
                Err(Refusal::new(errno::EOPNOTSUPP, text))
            }
            false => Ok(()),
        }
    }

    pub(crate) fn get_default(&self, request: &Request<'_>, out: &mut Outbox) -> Result<(), Refusal> {
        Attributes::read(request.message, 3)?;
        let mut writer = Writer::new();
        writer.begin(message::GETDEFAULT, request.reply, &[ACCEPT; 3]);
        writer.end();
        out.push(request.client, writer.finish());
        Ok(())
    }
}

/// NEWSPDINFO: thresholds of the kernel's hashing, which is not how policies are found here; they are checked and not
/// kept.
pub(crate) fn set_spd_info(request: &Request<'_>) -> Result<(), Refusal> {
    let begin = HEADER_BYTES + 4;
    if request.message.len() < begin {
        return Err(Refusal::invalid("Invalid header length"));
    }
    // The types of these attributes are not those of other messages.
    let mut rest = &request.message[begin..];
    while rest.len() >= ATTRIBUTE_HEADER_BYTES {
        let (length, kind) = (usize::from(View(rest).u16(0)), View(rest).u16(2));
        if length < ATTRIBUTE_HEADER_BYTES || length > rest.len() {
            break;
        }
        let value = View(&rest[ATTRIBUTE_HEADER_BYTES..length]);
        let most = match kind {
            attribute::SPD_THRESHOLD_V4 => 32,
            attribute::SPD_THRESHOLD_V6 => 128,
            _ => u8::MAX,
        };
        if value.u8(0).max(value.u8(1)) > most {
            return Err(Refusal::invalid(match kind {
                attribute::SPD_THRESHOLD_V4 => "Invalid hash threshold (must be <= 32 for IPv4)",
                _ => "Invalid hash threshold (must be <= 128 for IPv6)",
            }));
        }
        rest = rest.get(length.next_multiple_of(4)..).unwrap_or(&[]);
    }
    Ok(())
}
