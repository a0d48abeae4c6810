//! What each fuzz target does with its input. `fuzz/fuzz_targets/` calls these under libFuzzer, the
//! test `replay` over the kept corpora.
//!
//! A target panics where a promise is broken; refusing the input is always right.
#![forbid(unsafe_code)]

mod accounts;
mod agents;
mod alphabets;
mod batches;
mod calls;
mod certificates;
mod chips;
mod clients;
mod credential;
pub mod dictionaries;
mod drive;
mod esp;
mod esp_files;
mod failures;
mod figures;
mod inflate;
mod key_blocks;
mod keys;
mod keywords;
mod messages;
mod netlink;
mod offload;
pub mod passes;
mod pins;
mod plane;
mod queues;
mod roles;
mod samples;
mod sealed;
mod session_keys;
mod timed;
mod tls_files;
mod tokens;
mod traffic;
mod transactions;
mod verbs;

pub use self::esp::{esp_packet, inner_packet, pieces, selectors};
pub use self::plane::{outer_datagram, vnet_header};
pub use accounts::accounts;
pub use agents::agent_requests;
pub use alphabets::ff1_alphabet;
pub use batches::{engine_aead, engine_cfb, engine_ciphers, engine_macs, engine_rsa};
pub use calls::daemon_call;
pub use certificates::openpgp_certificate;
pub use chips::emv_data;
pub use clients::daemon_clients;
pub use credential::credential;
pub use drive::tls_drive;
pub use esp_files::{esp_journal, esp_requests};
pub use failures::pin_failures;
pub use figures::{published_csv, report_json};
pub use inflate::inflate;
pub use key_blocks::tr31_block;
pub use messages::{
    openpgp_armor, openpgp_cleartext, openpgp_gnupg_aead, openpgp_packets, openpgp_seipd1, openpgp_seipd2,
};
pub use netlink::xfrm_netlink;
pub use offload::offload_calls;
pub use pins::{pin_verb, pin_verb_answer};
pub use queues::{card_queue, client_queue};
pub use roles::roles;
pub use samples::samples;
pub use sealed::sealed;
pub use session_keys::openpgp_session_keys;
pub use timed::timed_settings;
pub use tls_files::{proxy_header, tls_certificate, tls_client, tls_clients, tls_settings};
pub use tokens::key_token;
pub use traffic::traffic_drive;
pub use transactions::{dukpt_serial, serial_field};
pub use verbs::{verb, verb_answer};

use wire::control::{
    self, CardGreeting, CardNotice, CardOrder, ClientReply, ClientRequest, Delivery, KeeperNotice,
    KeeperOrder, LaunchOrder, LaunchReply, Received,
};
use wire::frame::{Arguments, ReplyHeader, RequestHeader};
use wire::verb::{Entry, TABLE};

/// A target: its name, which is that of its corpus, and what it does.
pub type Target = (&'static str, fn(&[u8]));

/// Every target.
pub const TARGETS: &[Target] = &[
    ("frame_request", frame_request),
    ("frame_reply", frame_reply),
    ("control_message", control_message),
    ("daemon_call", daemon_call),
    ("daemon_clients", daemon_clients),
    ("settings", settings),
    ("roles", roles),
    ("label", label),
    ("key_token", key_token),
    ("verb", verb),
    ("card_queue", card_queue),
    ("client_queue", client_queue),
    ("sealed", sealed),
    ("published_csv", published_csv),
    ("report_json", report_json),
    ("engine_ciphers", engine_ciphers),
    ("engine_macs", engine_macs),
    ("engine_rsa", engine_rsa),
    ("engine_aead", engine_aead),
    ("engine_cfb", engine_cfb),
    ("samples", samples),
    ("accounts", accounts),
    ("credential", credential),
    ("timed_settings", timed_settings),
    ("tls_settings", tls_settings),
    ("tls_certificate", tls_certificate),
    ("tls_client", tls_client),
    ("proxy_header", proxy_header),
    ("tls_clients", tls_clients),
    ("tls_drive", tls_drive),
    ("offload_calls", offload_calls),
    ("inflate", inflate),
    ("openpgp_certificate", openpgp_certificate),
    ("openpgp_packets", openpgp_packets),
    ("openpgp_session_keys", openpgp_session_keys),
    ("openpgp_armor", openpgp_armor),
    ("openpgp_cleartext", openpgp_cleartext),
    ("openpgp_seipd1", openpgp_seipd1),
    ("openpgp_seipd2", openpgp_seipd2),
    ("openpgp_gnupg_aead", openpgp_gnupg_aead),
    ("agent_requests", agent_requests),
    ("tr31_block", tr31_block),
    ("ff1_alphabet", ff1_alphabet),
    ("pin_failures", pin_failures),
    ("pin_verb", pin_verb),
    ("dukpt_serial", dukpt_serial),
    ("serial_field", serial_field),
    ("emv_data", emv_data),
    ("esp_packet", esp_packet),
    ("inner_packet", inner_packet),
    ("pieces", pieces),
    ("selectors", selectors),
    ("vnet_header", vnet_header),
    ("outer_datagram", outer_datagram),
    ("traffic_drive", traffic_drive),
    ("xfrm_netlink", xfrm_netlink),
    ("esp_journal", esp_journal),
    ("esp_requests", esp_requests),
];

/// The verb with this slot of the verb table; where there is none, one that there is. An input means the same
/// verb whatever rows are added.
pub fn chosen(slot: u8) -> &'static Entry {
    let slot = usize::from(slot);
    Entry::of_slot(slot).unwrap_or(&TABLE[slot % TABLE.len()])
}

/// The payload of a request, as a card reads it: the first byte chooses the verb by its slot.
pub fn frame_request(data: &[u8]) {
    let Some((choice, payload)) = data.split_first() else { return };
    let verb = chosen(*choice).verb;
    if let Ok(arguments) = Arguments::read_request(verb, payload) {
        let mut again = Vec::new();
        arguments.write_request(&mut again).expect("what was read can be written");
        assert_eq!(again, payload, "reading and writing agree");
    }
    if let Some(header) = data.first_chunk::<64>() {
        let _ = RequestHeader::from_bytes(header);
    }
}

/// The payload of a reply, as a client reads it.
pub fn frame_reply(data: &[u8]) {
    let Some((choice, payload)) = data.split_first() else { return };
    let verb = chosen(*choice).verb;
    if let Ok(arguments) = Arguments::read_reply(verb, payload) {
        let mut again = Vec::new();
        arguments.write_reply(&mut again).expect("what was read can be written");
        assert_eq!(again, payload, "reading and writing agree");
    }
    if let Some(header) = data.first_chunk::<64>() {
        let _ = ReplyHeader::from_bytes(header);
    }
}

/// Control messages, in every direction.
pub fn control_message(data: &[u8]) {
    if let Ok(message) = control::decode::<ClientRequest>(data) {
        let again = control::encode(&message).expect("a read message can be written");
        assert_eq!(control::decode::<ClientRequest>(&again).expect("and read"), message);
    }
    let _ = control::decode::<ClientReply>(data);
    let _ = control::decode::<CardOrder>(data);
    let _ = control::decode::<CardNotice>(data);
    let _ = control::decode::<KeeperOrder>(data);
    let _ = control::decode::<KeeperNotice>(data);
    let _ = control::decode::<Received>(data);
    let _ = control::decode::<CardGreeting>(data);
    let _ = control::decode::<LaunchOrder>(data);
    let _ = control::decode::<LaunchReply>(data);
    // Master keys have no equality: what is read is written as it was.
    if let Ok(delivery) = control::decode::<Delivery>(data) {
        let again = control::encode(&delivery).expect("a read message can be written");
        let read = control::decode::<Delivery>(&again).expect("and read");
        assert_eq!(control::encode(&read).expect("and written"), again);
    }
}

/// The settings file.
pub fn settings(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    if let Ok(settings) = home::Settings::from_text(text) {
        let again = settings.to_text().expect("valid settings can be written");
        assert_eq!(home::Settings::from_text(&again).expect("and read"), settings);
        change_of_settings(text, &settings);
    }
}

/// A change at run time: what is written says what was wanted, and nothing is written for no change.
fn change_of_settings(text: &str, settings: &home::Settings) {
    let file = home::SettingsFile::from_text(text).expect("what was read is read again");
    assert_eq!(file.settings(), settings);
    let same = file.changed(settings).expect("no change can be written");
    assert_eq!(home::Settings::from_text(&same).expect("and read"), *settings);
    let mut wanted = settings.clone();
    if let Some(first) = wanted.tenants.first_mut() {
        first.limits.per_second_max ^= 7;
        wanted.tenants.truncate(2);
    }
    wanted.put_card(home::CardSettings { quiesced: true, ..settings.card_settings(0) });
    if let Ok(text) = file.changed(&wanted) {
        assert_eq!(home::Settings::from_text(&text).expect("what was written is read"), wanted);
    }
}

/// A key label.
pub fn label(data: &[u8]) {
    if let Ok(label) = wire::Label::from_field(data) {
        assert_eq!(wire::Label::from_field(&label.to_field()), Ok(label));
    }
}
