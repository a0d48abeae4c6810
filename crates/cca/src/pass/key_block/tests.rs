use super::*;
use engine::Options;
use verb_requests::published::PUBLISHED;

fn bytes(hex: &str) -> Vec<u8> {
    hex.as_bytes()
        .chunks(2)
        .map(|pair| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap())
        .collect()
}

fn opening((key, text, _): &(&str, &str, &str)) -> KeyBlock {
    let block = payments::key_block::Block::parse(text.as_bytes()).unwrap();
    KeyBlock {
        task: KeyBlockTask::Open,
        version: block.attributes().version,
        key: SecretBytes::from_slice(&bytes(key)),
        header: block.header().to_vec(),
        payload: block.payload().into(),
        mac: block.mac(),
    }
}

fn run(asked: &mut [KeyBlock]) -> Vec<Answer> {
    let engine = Engine::new(Options::default()).unwrap();
    let mut kernel =
        Kernel { engine: &engine, domains: &mut [], tokens: Default::default(), found: &mut None };
    let mut answers: Vec<Option<Answer>> = asked.iter().map(|_| None).collect();
    Work::run(&mut kernel, asked, &mut answers);
    answers.into_iter().map(Option::unwrap).collect()
}

#[test]
fn blocks_of_all_versions_open_beside_each_other_and_are_sealed_again() {
    let mut asked: Vec<KeyBlock> = PUBLISHED.iter().chain(PUBLISHED).map(opening).collect();
    let opened = run(&mut asked);
    for (opened, (_, text, key)) in opened.iter().zip(PUBLISHED.iter().chain(PUBLISHED)) {
        let opened = opened.as_ref().ok().unwrap();
        assert!(opened.is_right.holds(), "{text}");
        let key = bytes(key);
        assert_eq!(opened.payload[2..2 + key.len()], key, "{text}");
    }
    let mut asked: Vec<KeyBlock> = PUBLISHED
        .iter()
        .zip(opened)
        .map(|(block, opened)| KeyBlock {
            task: KeyBlockTask::Seal,
            payload: opened.ok().unwrap().payload,
            mac: vec![0; opening(block).mac.len()],
            ..opening(block)
        })
        .collect();
    for (sealed, block) in run(&mut asked).iter().zip(PUBLISHED) {
        let (sealed, given) = (sealed.as_ref().ok().unwrap(), opening(block));
        assert_eq!((&sealed.payload, &sealed.mac), (&given.payload, &given.mac), "{}", block.1);
    }
}

#[test]
fn a_changed_byte_of_any_part_is_told_and_the_others_open() {
    for block in PUBLISHED {
        let parts: [fn(&mut KeyBlock) -> &mut u8; 3] =
            [|one| &mut one.header[6], |one| &mut one.payload[7], |one| &mut one.mac[3]];
        for part in parts {
            let mut asked = vec![opening(block), opening(&PUBLISHED[1]), opening(block)];
            *part(&mut asked[0]) ^= 1;
            let right: Vec<bool> =
                run(&mut asked).into_iter().map(|answer| answer.ok().unwrap().is_right.holds()).collect();
            assert_eq!(right, [false, true, true], "{}", block.1);
        }
    }
}

#[test]
fn lengths_that_no_block_has_are_refused_by_themselves() {
    let mut asked =
        vec![opening(&PUBLISHED[1]), opening(&PUBLISHED[1]), opening(&PUBLISHED[1]), opening(&PUBLISHED[4])];
    asked[0].payload.truncate(23);
    asked[1].mac.pop();
    asked[3].key = SecretBytes::from_slice(&[1; 8]);
    let answers = run(&mut asked);
    assert_eq!(answers.iter().map(Result::is_ok).collect::<Vec<_>>(), [false, false, true, false]);
}
