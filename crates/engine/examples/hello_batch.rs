//! Many MACs in one call, each under a key of its own: `hello_batch [COUNT]`.

use engine::{Engine, MacAlgorithm, MacItem, Options};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let count: usize = std::env::args().nth(1).map_or(Ok(64), |count| count.parse())?;
    let engine = Engine::new(Options::default())?;
    let mut keys = Vec::new();
    for _ in 0..count {
        let mut bytes = [0; 16];
        engine.random(&mut bytes);
        keys.push(engine.mac_key(MacAlgorithm::X919, &bytes)?);
    }
    let mut items: Vec<_> = keys.iter().map(|key| MacItem::new(key, b"pay 10 to Bob")).collect();
    engine.mac_batch(&mut items);
    for (number, item) in items.iter().enumerate() {
        // One that fails does not disturb the others.
        item.result?;
        println!("{number:4}  {:02X?}", &item.mac[..8]);
    }
    println!("{count} MACs at level {}", engine.level().name());
    Ok(())
}
