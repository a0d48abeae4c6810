use engine::Options;

use super::*;

fn bytes(hex: &str) -> Vec<u8> {
    hex.as_bytes()
        .chunks(2)
        .map(|pair| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap())
        .collect()
}

/// TR-31, annex A.7, and ANSI X9.143, 8: protection key, block, key.
const BLOCKS: [(&str, &str, &str); 6] = [
    (
        "89E88CF7931444F334BD7547FC3F380C",
        "A0072P0TE00E0000F5161ED902807AF26F1D62263644BD24192FDB3193C730301CEE8701",
        "F039121BEC83D26B169BDCD5B22AAF8F",
    ),
    (
        "DD7515F2BFC17F85CE48F3CA25CB21F6",
        "B0080P0TE00E000094B420079CC80BA3461F86FE26EFC4A3B8E4FA4C5F5341176EED7B727B8A248E",
        "3F419E1CB7079442AA37474C2EFBF8B8",
    ),
    (
        "B8ED59E0A279A295E9F5ED7944FD06B9",
        "C0096B0TX12S0100KS1800604B120F9292800000BFB9B689CB567E66FC3FEE5AD5F52161FC6545B9D60989015D02155C",
        "EDB380DD340BC2620247D445F5B8D678",
    ),
    (
        "1D22BF32387C600AD97F9B97A51311AC",
        "B0104B0TX12S0100KS1800604B120F9292800000BB68BE8680A400D9191AD4ECE45B6E6C0D21C4738A52190E248719E24B433627",
        "E8BC63E5479455E26577F715D587FE68",
    ),
    (
        "88E1AB2A2E3DD38C1FA039A536500CC8A87AB9D62DC92C01058FA79F44657DE6",
        "D0112P0AE00E0000B82679114F470F540165EDFBF7E250FCEA43F810D215F8D207E2E417C07156A27E8E31DA05F7425509593D03A457DC34",
        "3F419E1CB7079442AA37474C2EFBF8B8",
    ),
    (
        "4141414141414141414141414141414141414141414141414141414141414141",
        "D0112B0TN00N000037DB9B046B7B0048785690759580ABC3B9842AB4BB7717B49E92528E575785D8123559376A2553B27BE94F054F4E971C",
        "1FA1F7CEC798D91545DA8AE0C7796BD9",
    ),
];

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
    let mut asked: Vec<KeyBlock> = BLOCKS.iter().chain(&BLOCKS).map(opening).collect();
    let opened = run(&mut asked);
    for (opened, (_, text, key)) in opened.iter().zip(BLOCKS.iter().chain(&BLOCKS)) {
        let opened = opened.as_ref().ok().unwrap();
        assert!(opened.is_right.holds(), "{text}");
        let key = bytes(key);
        assert_eq!(opened.payload[2..2 + key.len()], key, "{text}");
    }
    let mut asked: Vec<KeyBlock> = BLOCKS
        .iter()
        .zip(opened)
        .map(|(block, opened)| KeyBlock {
            task: KeyBlockTask::Seal,
            payload: opened.ok().unwrap().payload,
            mac: vec![0; opening(block).mac.len()],
            ..opening(block)
        })
        .collect();
    for (sealed, block) in run(&mut asked).iter().zip(&BLOCKS) {
        let (sealed, given) = (sealed.as_ref().ok().unwrap(), opening(block));
        assert_eq!((&sealed.payload, &sealed.mac), (&given.payload, &given.mac), "{}", block.1);
    }
}

#[test]
fn a_changed_byte_of_any_part_is_told_and_the_others_open() {
    for block in &BLOCKS {
        let parts: [fn(&mut KeyBlock) -> &mut u8; 3] =
            [|one| &mut one.header[6], |one| &mut one.payload[7], |one| &mut one.mac[3]];
        for part in parts {
            let mut asked = vec![opening(block), opening(&BLOCKS[1]), opening(block)];
            *part(&mut asked[0]) ^= 1;
            let right: Vec<bool> =
                run(&mut asked).into_iter().map(|answer| answer.ok().unwrap().is_right.holds()).collect();
            assert_eq!(right, [false, true, true], "{}", block.1);
        }
    }
}

#[test]
fn lengths_that_no_block_has_are_refused_by_themselves() {
    let mut asked = vec![opening(&BLOCKS[1]), opening(&BLOCKS[1]), opening(&BLOCKS[1]), opening(&BLOCKS[4])];
    asked[0].payload.truncate(23);
    asked[1].mac.pop();
    asked[3].key = SecretBytes::from_slice(&[1; 8]);
    let answers = run(&mut asked);
    assert_eq!(answers.iter().map(Result::is_ok).collect::<Vec<_>>(), [false, false, true, false]);
}
