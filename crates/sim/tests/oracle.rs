//! The oracle sees what is broken on purpose: for each fault of the code there is a seed, soon, that
//! finds it, and says so in words that name it.

use sim::{Plan, Sabotage, SimulationOutcome, run};

/// The first of some seeds that finds this fault.
fn found(how: Sabotage, kind: fn(&Plan) -> bool, shape: fn(&mut Plan)) -> SimulationOutcome {
    let plans = (1..6000).map(Plan::new).filter(kind).take(400);
    for mut plan in plans {
        shape(&mut plan);
        plan.sabotage = Some(how);
        let outcome = run(plan, false).unwrap();
        if !outcome.findings.is_empty() {
            return outcome;
        }
    }
    panic!("{how:?} was not found");
}

fn finds(how: Sabotage, kind: fn(&Plan) -> bool, words: &str) {
    finds_shaped(how, kind, |_| (), words);
}

fn finds_shaped(how: Sabotage, kind: fn(&Plan) -> bool, shape: fn(&mut Plan), words: &str) {
    let outcome = found(how, kind, shape);
    assert!(outcome.findings.iter().any(|finding| finding.contains(words)), "{how:?}: {outcome:?}");
}

fn calm(plan: &Plan) -> bool {
    plan.calm
}

fn deadly(plan: &Plan) -> bool {
    plan.kill_in[1] > 0
}

fn limited(plan: &Plan) -> bool {
    plan.limited && plan.reloads == 0
}

fn with_master_keys(plan: &Plan) -> bool {
    plan.master_keys > 0 && plan.coprocessors > 1 && !plan.calm
}

fn with_rights(plan: &Plan) -> bool {
    plan.rights > 0
}

fn with_rights_and_steady(plan: &Plan) -> bool {
    plan.rights > 2 && plan.is_steady()
}

fn with_another_host(plan: &Plan) -> bool {
    plan.outside > 1
}

fn with_audits(plan: &Plan) -> bool {
    plan.audits
}

fn loaded_and_steady(plan: &Plan) -> bool {
    // Cards that never sleep would take more steps than a run has.
    plan.loaded
        && plan.poll != wire::control::PollMode::Spin
        && !(plan.calm || plan.liars || plan.scarcity || plan.jumps)
}

fn only_hostile(plan: &Plan) -> bool {
    plan.is_only_hostile()
}

fn calm_with_threads(plan: &Plan) -> bool {
    plan.calm && plan.threads > 1 && plan.processors > 1
}

/// Cards that never sleep would take more steps than a run has before anybody has waited in vain.
fn with_sleep(plan: &Plan) -> bool {
    plan.poll != wire::control::PollMode::Spin
}

fn any(_: &Plan) -> bool {
    true
}

#[test]
fn a_lost_wake_up_is_seen() {
    finds(Sabotage::LosesWakes, calm, "though nothing went wrong");
}

#[test]
fn who_runs_in_circles_is_seen() {
    finds(Sabotage::Circles, calm, "steps, and nothing got on: ");
}

#[test]
fn a_lost_ring_is_seen() {
    finds(Sabotage::LosesRings, calm, "though nothing went wrong");
}

#[test]
fn a_request_that_was_taken_and_is_forgotten_is_seen() {
    finds(Sabotage::ForgetsTaken, deadly, "ran in a batch with others");
}

#[test]
fn a_request_that_runs_too_often_is_seen() {
    finds(Sabotage::RunsTwice, any, "ran 3 times");
}

#[test]
fn a_wrong_answer_is_seen() {
    finds(Sabotage::SwapsAnswers, any, "got a wrong answer");
}

#[test]
fn a_record_that_is_stored_twice_is_seen() {
    finds(Sabotage::StoresTwice, any, "of class once ran 2 times");
}

#[test]
fn a_limit_that_is_not_kept_is_seen() {
    finds(Sabotage::ForgetsLimits, limited, "whose limit is");
}

#[test]
fn a_right_that_no_card_knows_is_seen() {
    finds(Sabotage::ForgetsRights, with_rights, "and its tenant may not encipher");
}

#[test]
fn a_right_that_was_withdrawn_and_stays_is_seen() {
    let shape = |plan: &mut Plan| (plan.rights, plan.clients, plan.tasks) = (11, 2, 60);
    finds_shaped(Sabotage::KeepsRights, with_rights_and_steady, shape, "and its tenant may");
}

#[test]
fn a_key_that_another_host_changed_and_stays_is_seen() {
    finds(Sabotage::KeepsOldKey, with_another_host, "what another host's key was before");
}

#[test]
fn an_answer_that_comes_before_its_record_is_seen() {
    finds(Sabotage::ForgetsRecords, with_audits, "before its record was durable");
}

#[test]
fn a_tenant_that_ends_cards_for_ever_is_seen() {
    finds(Sabotage::ForgetsDeaths, only_hostile, "cards died of a tenant's requests alone");
}

#[test]
fn a_request_that_stays_in_an_account_is_seen() {
    finds(Sabotage::KeepsInFlight, any, "waited in vain for accounts");
}

#[test]
fn a_token_that_another_card_does_not_open_is_seen() {
    // Many keys and cards, and whose turn it is changes at every step: a card is met between two of them soon.
    let shape = |plan: &mut Plan| {
        (plan.master_keys, plan.coprocessors, plan.clients, plan.tasks) = (30, 4, 4, 40);
        (plan.kill_in, plan.steps_a_turn) = ([0; 4], 1);
    };
    finds_shaped(Sabotage::SpreadsAtOnce, with_master_keys, shape, "does not open the token of another");
}

#[test]
fn a_request_that_goes_to_a_card_without_its_key_is_seen() {
    // The keeper goes, and cards before and after it, while one holds the key for so long that everybody knows.
    let shape = |plan: &mut Plan| {
        (plan.coprocessors, plan.clients, plan.tasks, plan.faults) = (3, 3, 60, 9);
        (plan.kill_in, plan.stop_in) = ([0, 300, 300, 0], [0; 4]);
    };
    finds_shaped(Sabotage::IgnoresKeys, loaded_and_steady, shape, "found no master key");
}

#[test]
fn a_connection_that_is_not_given_back_is_seen() {
    finds(Sabotage::Stays, with_sleep, "waited in vain for");
}

#[test]
fn a_thread_that_keeps_its_place_is_seen() {
    finds(Sabotage::KeepsPlaces, calm_with_threads, "queues for threads one after the other");
}

#[test]
fn a_thread_that_is_not_woken_with_the_others_is_seen() {
    // Threads of one share, which sleep on one word.
    let shape = |plan: &mut Plan| {
        (plan.processors, plan.clients, plan.tasks, plan.threads) = (1, 1, 40, 4);
        plan.poll = wire::control::PollMode::Sleep;
    };
    finds_shaped(Sabotage::WakesOne, calm_with_threads, shape, "though nothing went wrong");
}

#[test]
fn a_client_that_hangs_is_seen() {
    finds(Sabotage::Hangs, any, "clients wait without end");
}

#[test]
fn a_panic_is_seen() {
    finds(Sabotage::Panics, any, "panicked: told to");
}

#[test]
fn a_write_after_death_is_seen() {
    finds(Sabotage::WritesDead, deadly, "wrote after its death");
}
