//! The messages that both sides of an interop test send or expect. ../../stream.ts makes the
//! same messages in JavaScript. Change both together.

use std::cell::RefCell;
use std::collections::{HashMap, VecDeque};

use bytes::Bytes;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

const LONGEST: usize = 300_000;
/// Sizes around the thresholds and the maximum of short frames, and 0.
const EDGES: [usize; 15] = [0, 1, 3, 4, 12, 127, 128, 251, 252, 255, 256, 511, 512, 513, LONGEST];
const PART_COUNTS: [usize; 6] = [1, 1, 1, 2, 3, 5];
const KINDS: [&str; 4] = ["text", "json", "random", "zeros"];
const LARGE_EVERY: usize = 2500;
/// Bytes of a pool before it repeats, for the sake of Python.
const MADE_BYTES: usize = 100_000;
const POOL_BYTES: usize = 4 * MADE_BYTES;

const WORDS: &str = "the message that was sent before this one carried a topic and some bytes \
    which nobody had asked for so every reader on that socket had to wait until its queue drained \
    again while another peer kept writing small frames into what looked like an idle connection";

/// xorshift32, seeded with the FNV-1a hash of a name (bench/random.mjs).
struct Random(u32);

impl Random {
    fn new(name: &str) -> Self {
        let hash = name.bytes().fold(0x811c_9dc5, |hash: u32, byte| {
            (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
        });
        Self(hash.max(1))
    }

    fn next(&mut self) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 17;
        self.0 ^= self.0 << 5;
        self.0
    }

    fn below(&mut self, count: usize) -> usize {
        self.next() as usize % count
    }

    fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())]
    }
}

/// Generates lines, three quarters of which repeat earlier ones.
fn lines(random: &mut Random, make: impl Fn(&mut Random) -> String) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(MADE_BYTES + 1000);
    let mut recent = VecDeque::new();
    while bytes.len() < MADE_BYTES {
        if recent.len() == 64 && random.below(4) > 0 {
            let line: &String = &recent[random.below(64)];
            bytes.extend_from_slice(line.as_bytes());
        } else {
            let line = make(random);
            bytes.extend_from_slice(line.as_bytes());
            recent.push_front(line);
            recent.truncate(64);
        }
    }
    bytes
}

fn sentence(random: &mut Random, words: &[&str]) -> String {
    let count = 4 + random.below(12);
    let words: Vec<_> = (0..count).map(|_| random.pick(words)).collect();
    words.join(" ") + ".\n"
}

fn event(random: &mut Random, words: &[&str]) -> String {
    // Arguments are evaluated from left to right.
    format!(
        "{{\"id\":{},\"level\":\"{}\",\"path\":\"/v1/{}/{}\",\"ms\":{},\"tags\":[\"{}\",\"{}\"]}}\n",
        random.below(1_000_000),
        random.pick(&["debug", "info", "warn", "error"]),
        random.pick(words),
        random.below(100_000),
        random.below(3000),
        random.pick(words),
        random.pick(words),
    )
}

fn make_pool(kind: &str) -> Bytes {
    let random = &mut Random::new(kind);
    let words: Vec<_> = WORDS.split(' ').collect();
    let mut bytes = match kind {
        "text" => lines(random, |random| sentence(random, &words)),
        "json" => lines(random, |random| event(random, &words)),
        "random" => (0..MADE_BYTES).map(|_| (random.next() >> 24) as u8).collect(),
        _ => vec![0; MADE_BYTES],
    };
    bytes.truncate(MADE_BYTES);
    bytes.repeat(POOL_BYTES / MADE_BYTES).into()
}

/// Returns `size` bytes of a pool, which is repeated.
fn piece(kind: &'static str, start: usize, size: usize) -> Bytes {
    thread_local!(static POOLS: RefCell<HashMap<&'static str, Bytes>> = RefCell::default());
    POOLS.with_borrow_mut(|pools| {
        let pool = pools.entry(kind).or_insert_with(|| make_pool(kind));
        if start + size <= POOL_BYTES {
            return pool.slice(start..start + size);
        }
        let mut bytes = Vec::with_capacity(size);
        while bytes.len() < size {
            let at = (start + bytes.len()) % POOL_BYTES;
            let end = POOL_BYTES.min(at + size - bytes.len());
            bytes.extend_from_slice(&pool[at..end]);
        }
        bytes.into()
    })
}

/// Returns the messages of a stream, as lists of parts.
pub fn messages(stream: &Value) -> impl Iterator<Item = Vec<Bytes>> {
    let number = |name: &str| stream[name].as_u64().map(|number| number as usize);
    let mut random = Random::new(stream["name"].as_str().expect("a stream has a name"));
    let count = number("count").expect("a stream has a count");
    let least = number("least").unwrap_or(0);
    let most = number("most").unwrap_or(LONGEST);
    let single_part = stream["singlePart"] == true;
    let only = stream["only"].as_str().unwrap_or("");
    let list = |name: &str| stream[name].as_array().cloned().unwrap_or_default();
    let (topics, large, alike) = (list("topics"), list("large"), list("alike"));

    (0..count).filter_map(move |i| {
        let mut parts = Vec::new();
        if !large.is_empty() && i % LARGE_EVERY == LARGE_EVERY - 1 {
            let size = large[i / LARGE_EVERY % large.len()].as_u64()? as usize;
            let kind = random.pick(&KINDS);
            parts.push(piece(kind, random.below(100_001), size));
        } else if !alike.is_empty() {
            let sizes = alike.iter().filter_map(Value::as_u64);
            parts.extend(sizes.map(|size| piece("zeros", 0, size as usize)));
        } else {
            let part_count = if single_part { 1 } else { random.pick(&PART_COUNTS) };
            for _ in 0..part_count {
                let kind = random.pick(&KINDS);
                let size = if random.below(4) == 0 {
                    random.pick(&EDGES)
                } else {
                    random.below(LONGEST + 1) >> random.below(19)
                };
                let start = random.below(100_001);
                parts.push(piece(kind, start, least.max(size % (most + 1))));
            }
        }
        if !topics.is_empty() {
            let topic = topics[i % topics.len()].as_str()?;
            if !topic.starts_with(only) {
                return None;
            }
            parts.insert(0, Bytes::copy_from_slice(topic.as_bytes()));
        }
        Some(parts)
    })
}

/// The data that passed one side, for comparison with the other.
#[derive(Default)]
pub struct Summary {
    messages: usize,
    plain_bytes: usize,
    hash: Sha256,
}

impl Summary {
    pub fn add(&mut self, parts: &[Bytes]) {
        self.messages += 1;
        self.hash.update((parts.len() as u32).to_le_bytes());
        for part in parts {
            self.plain_bytes += part.len();
            self.hash.update((part.len() as u32).to_le_bytes());
            self.hash.update(part);
        }
    }

    pub fn result(self) -> Value {
        let sha256: String =
            self.hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        json!({ "messages": self.messages, "plainBytes": self.plain_bytes, "sha256": sha256 })
    }
}
