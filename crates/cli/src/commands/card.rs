//! `cryptand card`: adding, changing and removing cards while the others serve.

use crate::args::{Card as Order, CardOptions};
use crate::failure::Failure;
use crate::output::{print, print_json, table};
use crate::prompt;
use crate::session;
use crate::words::{personality, state};
use facility::Facility;
use std::path::Path;
use wire::control::{CardRow, Personality, PollMode};
use wire::tenant::{CardChange, Change};

/// Runs the subcommands of `cryptand card`.
pub fn run(asked: Option<&Path>, order: &Order) -> Result<(), Failure> {
    let facility = session::connect(asked)?;
    let change_of =
        |card: &u32, change| facility.change(change).map_err(Failure::change(format!("card {card}")));
    match order {
        Order::List(output) => return list(&facility, output.json),
        Order::Add { options } => return add(&facility, options),
        Order::Set { card, options } => {
            let change = change(options);
            if change == CardChange::default() {
                let help = "`cryptand card set --help` lists what can be";
                return Err(Failure::Usage(format!("card {card}: nothing to change; {help}")));
            }
            change_of(card, Change::CardSet { card: *card, change })?;
            eprintln!("card {card}: changed");
        }
        Order::Remove { card, yes } => {
            confirm_last(&facility, *card, *yes)?;
            change_of(card, Change::CardRemove { card: *card })?;
            eprintln!("card {card}: removed");
        }
        Order::Quiesce { card } => {
            change_of(card, Change::CardQuiesce { card: *card })?;
            eprintln!("card {card}: quiesced, until `cryptand card resume {card}`");
        }
        Order::Resume { card } => {
            change_of(card, Change::CardResume { card: *card })?;
            eprintln!("card {card}: serves again");
        }
    }
    Ok(())
}

/// Asks for a confirmation if the card is the last one of its kind: then no card serves that kind's verbs.
fn confirm_last(facility: &Facility, card: u32, yes: bool) -> Result<(), Failure> {
    let cards = facility.status()?.cards;
    let Some(removed) = cards.iter().find(|row| row.index == card) else { return Ok(()) };
    if cards.iter().any(|row| row.index != card && row.personality == removed.personality) {
        return Ok(());
    }
    let loss = match removed.personality {
        Personality::Coprocessor => "no key record can be used",
        Personality::Accelerator => "no clear RSA key is computed with on cards",
    };
    let kind = personality(removed.personality);
    prompt::confirm(&format!("Card {card} is the last {kind}: without it {loss}. Remove it?"), yes)
}

fn list(facility: &Facility, json: bool) -> Result<(), Failure> {
    let cards = facility.status()?.cards;
    if json {
        return print_json(&cards);
    }
    let header = ["card", "personality", "state", "poll", "processors", "level", "queues", "dedicated to"];
    print(&table(&header, cards.iter().map(row)))
}

fn row(card: &CardRow) -> Vec<String> {
    let poll = match card.poll {
        PollMode::Spin => "spin".to_owned(),
        PollMode::Adaptive => "adaptive".to_owned(),
        PollMode::Sleep => "sleep".to_owned(),
        PollMode::Every { interval_us } => format!("every:{interval_us}us"),
    };
    let numbers = |list: &Vec<u32>| list.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
    let share = |(tenant, percent): &(String, u8)| match percent {
        100 => tenant.clone(),
        percent => format!("{tenant} {percent} %"),
    };
    let dedicated: Vec<_> = card.dedicated.iter().map(share).collect();
    vec![
        card.index.to_string(),
        personality(card.personality).to_owned(),
        state(card.state).to_owned(),
        poll,
        card.processors.as_ref().map_or("all".to_owned(), numbers),
        card.level.clone(),
        card.queues.to_string(),
        if dedicated.is_empty() { "nobody".to_owned() } else { dedicated.join(", ") },
    ]
}

fn add(facility: &Facility, options: &CardOptions) -> Result<(), Failure> {
    let before = facility.status()?.cards;
    facility.change(Change::CardAdd(change(options))).map_err(Failure::change("a new card"))?;
    let after = facility.status()?.cards;
    let is_new = |card: &&CardRow| before.iter().all(|other| other.index != card.index);
    for card in after.iter().filter(is_new) {
        eprintln!("card {}: added, {}", card.index, personality(card.personality));
    }
    Ok(())
}

fn change(options: &CardOptions) -> CardChange {
    CardChange {
        personality: options.personality.map(Into::into),
        poll: options.poll,
        processors: options.processors.clone().map(|list| list.0),
        level: options.level.map(Into::into),
    }
}
