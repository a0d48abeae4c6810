//! Up to three verbs after one another, chosen and changed at random, by a tenant who knows the value of an AES
//! transport key, has both of its sides for every use, and may use every verb as the owner of the home may: no key of
//! variable length leaves that may not, and none comes back for more than it was.
//!
//! The same search finds a key that may leave, so that it is known to look in the right places.

use cca::Processor;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use std::collections::BTreeSet;
use token::VariableToken;
use token::des::Origin;
use token::variable::{Attributes, Carrier, PayloadVersion, VariableType};
use verb_requests::support::{Request, aes_key, processor, text};
use verb_requests::uses::ways::{AES_TRANSPORT, entered2, export2, generate2, import2, part2, skeleton_of};
use verb_requests::wrapped::{made, plain, unwrapped};
use wire::verb::key_generate2::{
    GENERATED_KEY_IDENTIFIER_1, GENERATED_KEY_IDENTIFIER_2, GENERATED_KEY_IDENTIFIER_2_LENGTH,
    KEK_KEY_IDENTIFIER_1, KEK_KEY_IDENTIFIER_1_LENGTH, KEK_KEY_IDENTIFIER_2, KEK_KEY_IDENTIFIER_2_LENGTH,
    KEY_TYPE_2,
};
use wire::verb::{Verb, key_part_import2, key_token_change2, symmetric_key_export, symmetric_key_import2};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Goal {
    /// A key under the transport key that the tenant knows.
    Exported,
    /// A token of a key that says that it may be used, or leave, in more ways.
    Widened,
}

/// What there is before the first verb.
struct World {
    processor: Processor,
    tokens: Vec<Vec<u8>>,
    /// Values that must not leave, with what their tokens say.
    kept: Vec<(Vec<u8>, Attributes)>,
}

impl World {
    /// With keys of which each was made with one of these management keywords.
    fn new(forbidding: &[&str]) -> Self {
        let mut processor = processor();
        let exporter = entered2(&mut processor, VariableType::Exporter, &[], &AES_TRANSPORT);
        let importer = entered2(&mut processor, VariableType::Importer, &[], &AES_TRANSPORT);
        let mut tokens = vec![exporter, importer];
        let mut kept = Vec::new();
        for keyword in forbidding {
            for key_type in [VariableType::Cipher, VariableType::Exporter] {
                let skeleton = skeleton_of(key_type, &[keyword]);
                let made = generate2("AES", 256, "TOKEN", &skeleton).ok(&mut processor);
                tokens.push(made.bytes(GENERATED_KEY_IDENTIFIER_1));
            }
        }
        // A key of which one person entered a part, and the second has not.
        let skeleton = skeleton_of(VariableType::Cipher, &["ENCRYPT", "NOEX-SYM"]);
        let part = part2("AES", &["FIRST", "MIN2PART"], &text(32), &skeleton).ok(&mut processor);
        let part = part.bytes(key_part_import2::KEY_IDENTIFIER);
        for token in tokens[2..].iter().chain([&part]) {
            let attributes = VariableToken::parse(token).unwrap().attributes().clone();
            kept.push((unwrapped(&aes_key(false), token).unwrap(), attributes));
        }
        tokens.push(part);
        // What the tenant makes by himself: skeletons, and tokens of keys that he knows.
        for origin in [Origin::Internal, Origin::External] {
            for key_type in [VariableType::Cipher, VariableType::Exporter, VariableType::Importer] {
                let attributes = Attributes::new(key_type, [], None).unwrap();
                let own = VariableToken::skeleton(origin, PayloadVersion::Variable, attributes.clone());
                tokens.push(own.unwrap().to_bytes().to_vec());
                tokens.push(made(&AES_TRANSPORT, &attributes, PayloadVersion::Variable, &[7; 32]));
            }
        }
        Self { processor, tokens, kept }
    }

    /// What a verb gives out, of what is chosen by these numbers.
    fn step(&mut self, step: Step, learned: &[Vec<u8>]) -> Vec<Vec<u8>> {
        let [verb, one, two, three, words, change, at] = step;
        let known: Vec<&Vec<u8>> = self.tokens.iter().chain(learned).collect();
        let pick = |number: u8| known[usize::from(number) % known.len()].clone();
        let (mut first, second, third) = (pick(one), pick(two), pick(three));
        match change {
            // One bit, or all that stands before or behind what is hashed, of another token.
            0..16 => {
                let byte = usize::from(at) % first.len();
                first[byte] ^= 1 << (change % 8);
            }
            16..32 => {
                let cut = if at.is_multiple_of(2) { 30 } else { 56 }.min(first.len()).min(third.len());
                first = [&first[..cut], &third[cut..]].concat();
            }
            _ => {}
        }
        let (exporter, importer) = (self.tokens[0].clone(), self.tokens[1].clone());
        let processor = &mut self.processor;
        let mut outputs = Vec::new();
        let mut run = |request: Request, positions: &[usize]| {
            let reply = request.run(processor);
            outputs.extend(positions.iter().map(|at| reply.bytes(*at)));
        };
        match verb % 6 {
            0 => {
                let kek = if words < 64 { second } else { exporter };
                run(export2("AES", &first, &kek), &[symmetric_key_export::RSA_ENCIPHERED_KEY]);
            }
            1 => {
                let kek = if words < 64 { second } else { importer };
                run(import2("AES", &first, &kek), &[symmetric_key_import2::TARGET_KEY_IDENTIFIER]);
            }
            2 => {
                let forms = ["OP", "OPOP", "OPEX", "OPIM", "IMEX", "EXEX", "IMIM", "EX", "IM"];
                let form = forms[usize::from(words) % forms.len()];
                let kek = |place: &str| if place == "IM" { &importer } else { &exporter };
                let mut request = generate2("AES", 256, "TOKEN", &first).rules(&["AES", form]);
                request = request.counted(KEK_KEY_IDENTIFIER_1_LENGTH, KEK_KEY_IDENTIFIER_1, kek(&form[..2]));
                if let Some(place) = form.get(2..4) {
                    request = request
                        .bytes(KEY_TYPE_2, "TOKEN   ")
                        .counted(KEK_KEY_IDENTIFIER_2_LENGTH, KEK_KEY_IDENTIFIER_2, kek(place))
                        .integer(GENERATED_KEY_IDENTIFIER_2_LENGTH, 2500)
                        .bytes(GENERATED_KEY_IDENTIFIER_2, second);
                }
                run(request, &[GENERATED_KEY_IDENTIFIER_1, GENERATED_KEY_IDENTIFIER_2]);
            }
            3 => {
                let steps: [&[&str]; 4] = [&["FIRST", "MIN1PART"], &["FIRST"], &["ADD-PART"], &["COMPLETE"]];
                let words = steps[usize::from(words) % steps.len()];
                let part: &[u8] = if words == ["COMPLETE"] { &[] } else { &[0; 32] };
                run(part2("AES", words, part, &first), &[key_part_import2::KEY_IDENTIFIER]);
            }
            4 => {
                let request = Request::new(Verb::KeyTokenChange2).rules(&["RTCMK", "AES"]).counted(
                    key_token_change2::KEY_IDENTIFIER_LENGTH,
                    key_token_change2::KEY_IDENTIFIER,
                    first,
                );
                run(request, &[key_token_change2::KEY_IDENTIFIER]);
            }
            _ => outputs.push(first),
        }
        outputs.retain(|output| !output.is_empty());
        outputs
    }

    /// What these steps lead to.
    fn reached(&mut self, steps: &[Step]) -> BTreeSet<Goal> {
        let mut learned = Vec::new();
        for step in steps {
            let found = self.step(*step, &learned);
            learned.extend(found);
        }
        learned.iter().filter_map(|token| self.goal(token)).collect()
    }

    /// What a token that the tenant has got shows.
    fn goal(&self, bytes: &[u8]) -> Option<Goal> {
        let token = VariableToken::parse(bytes).ok()?;
        let kept = |value: &[u8]| self.kept.iter().find(|(kept, _)| kept == value);
        match token.origin() {
            Origin::External => {
                let value = plain(&AES_TRANSPORT, bytes, 30)?;
                kept(&value).map(|_| Goal::Exported)
            }
            Origin::Internal => {
                let value = unwrapped(&aes_key(false), bytes)?;
                let (_, own) = kept(&value)?;
                let (now, then) = (token.attributes(), own);
                let widens = |now: u16, then: u16| now & !then != 0;
                let usage = now.key_type() != then.key_type()
                    || now.usage().iter().zip(then.usage()).any(|(now, then)| widens(*now, *then));
                let leaves =
                    Carrier::ALL.iter().any(|under| now.may_leave(*under) && !made_to_leave(then, *under));
                (usage || leaves).then_some(Goal::Widened)
            }
        }
    }
}

/// Whether a key of these attributes may leave once it is complete.
fn made_to_leave(attributes: &Attributes, under: Carrier) -> bool {
    use token::variable::{Completeness, Pedigree};
    attributes.clone().made(Pedigree::ClearParts, Completeness::Complete).may_leave(under)
}

/// One verb: what is chosen, by the numbers of its choices.
type Step = [u8; 7];

#[test]
fn the_search_finds_a_key_that_may_leave() {
    let mut world = World::new(&["XPRT-SYM"]);
    let mut runner = TestRunner::deterministic();
    let strategy = proptest::collection::vec(any::<Step>(), 1..=3);
    for _ in 0..20_000 {
        let steps = strategy.new_tree(&mut runner).unwrap().current();
        if world.reached(&steps).contains(&Goal::Exported) {
            return;
        }
    }
    panic!("no key left");
}

#[test]
fn no_sequence_of_verbs_takes_out_a_key_of_variable_length_that_may_not_leave() {
    let mut world = World::new(&["NOEX-SYM", "NOEX-AES"]);
    let mut runner = TestRunner::deterministic();
    let strategy = proptest::collection::vec(any::<Step>(), 1..=3);
    for _ in 0..20_000 {
        let steps = strategy.new_tree(&mut runner).unwrap().current();
        let reached = world.reached(&steps);
        assert!(reached.is_empty(), "{steps:?} leads to {reached:?}");
    }
}
