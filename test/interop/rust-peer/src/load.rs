//! Sends and receives messages at full speed, for bench/.

use std::time::Instant;

use bytes::Bytes;
use omq_tokio::Message;
use omq_tokio::blocking::Socket;
use serde_json::{Value, json};

use crate::Result;

/// Sends `count` messages: those of a file, repeated.
pub fn pump(socket: &Socket, file: &str, count: u64) -> Result<Value> {
    let messages = read_messages(&std::fs::read(file)?.into());
    for message in messages.iter().cycle().take(usize::try_from(count)?) {
        socket.send(Message::single(message.clone()))?;
    }
    Ok(json!({}))
}

/// Receives `count` messages. Returns the time from the first to the last.
pub fn drain(socket: &Socket, count: u64) -> Result<Value> {
    let mut bytes = length(&socket.recv()?);
    let start = Instant::now();
    for _ in 1..count {
        bytes += length(&socket.recv()?);
    }
    Ok(json!({ "bytes": bytes, "seconds": start.elapsed().as_secs_f64() }))
}

fn length(message: &Message) -> usize {
    message.part_bytes(0).map_or(0, |part| part.len())
}

/// Returns the messages of a file, each of which is preceded by its length (u32 LE).
fn read_messages(file: &Bytes) -> Vec<Bytes> {
    let mut messages = Vec::new();
    let mut at = 0;
    while let Some(length) = file.get(at..at + 4) {
        let end = at + 4 + u32::from_le_bytes(length.try_into().expect("4 bytes")) as usize;
        messages.push(file.slice(at + 4..end));
        at = end;
    }
    messages
}
