//! A socket of omq-tokio, controlled by the commands of ../../python_peer.py:
//! `rust-peer SETUP`, with `options` of its own: `identity` and `autoTrain`.

mod load;
mod stream;

use std::error::Error;
use std::io::stdin;
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

use bytes::Bytes;
use omq_tokio::blocking::Socket;
use omq_tokio::{Context, Error as OmqError, Message, Options, SocketType};
use serde_json::{Value, json};
use stream::{Summary, messages};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

fn main() -> Result<()> {
    let setup: Value = std::env::args().nth(1).ok_or("usage: rust-peer SETUP")?.parse()?;
    let context = Context::new();
    let socket = set_up(&context, &setup)?;
    let endpoint = socket.last_bound_endpoint().map(|endpoint| endpoint.to_string());
    println!("{}", json!({ "endpoint": endpoint.unwrap_or_default() }));

    let (sender, commands) = channel();
    std::thread::spawn(move || read_commands(&sender));
    for line in commands {
        println!("{}", answer(&socket, &line.parse()?)?);
    }
    Ok(())
}

fn read_commands(commands: &Sender<String>) {
    for line in stdin().lines().map_while(std::result::Result::ok) {
        let _ = commands.send(line);
    }
    std::process::exit(0); // The parent is gone, so the socket need not finish.
}

fn set_up(context: &Context, setup: &Value) -> Result<Socket> {
    let mut options = Options::default();
    // Makes a publisher wait for slow subscribers instead of dropping messages.
    options.xpub_nodrop = true;
    options.compression_auto_train = setup["options"]["autoTrain"] == true;
    if let Some(identity) = setup["options"]["identity"].as_str() {
        options = options.identity(identity.to_owned());
    }
    if let Some(dictionary) = setup["dictionary"].as_str() {
        options = options.compression_dict(from_hex(dictionary)?);
    }
    let kind = SocketType::from_wire(text(setup, "type")?.as_bytes()).ok_or("unknown type")?;
    let socket = context.blocking_socket(kind, options);
    for topic in setup["subscribe"].as_array().into_iter().flatten() {
        socket.subscribe(topic.as_str().ok_or("not a topic")?.to_owned())?;
    }
    match setup["bind"].as_str() {
        Some(endpoint) => drop(socket.bind(endpoint)?),
        None => socket.connect(text(setup, "connect")?)?,
    }
    Ok(socket)
}

fn answer(socket: &Socket, command: &Value) -> Result<Value> {
    match text(command, "do")? {
        "send" => send(socket, &command["stream"]),
        "receive" => receive(socket, command),
        "ask" => ask(socket, &command["stream"]),
        "echo" => echo(socket, command),
        "pump" => load::pump(socket, text(command, "file")?, count(command)?),
        "drain" => load::drain(socket, count(command)?),
        "sendOne" => {
            let parts: Result<Vec<_>> = command["parts"]
                .as_array()
                .into_iter()
                .flatten()
                .map(|part| from_hex(part.as_str().unwrap_or("")))
                .collect();
            socket.send(Message::multipart(parts?))?;
            Ok(json!({}))
        }
        "receiveOne" => {
            let timeout = Duration::from_millis(command["timeoutMs"].as_u64().unwrap_or(0));
            match socket.recv_timeout(timeout) {
                Ok(message) => Ok(json!({ "parts": in_hex(&parts_of(&message)) })),
                Err(OmqError::Timeout) => Ok(json!({ "parts": null })),
                Err(error) => Err(error.into()),
            }
        }
        "subscribe" => {
            socket.subscribe(text(command, "topic")?.to_owned())?;
            Ok(json!({}))
        }
        "unsubscribe" => {
            socket.unsubscribe(text(command, "topic")?.to_owned())?;
            Ok(json!({}))
        }
        unknown => Err(format!("unknown command {unknown}").into()),
    }
}

/// Sends a stream.
fn send(socket: &Socket, stream: &Value) -> Result<Value> {
    let mut summary = Summary::default();
    for parts in messages(stream) {
        summary.add(&parts);
        socket.send(Message::multipart(parts))?;
    }
    Ok(summary.result())
}

/// Receives a stream. Skips the probes of a publisher that waited for our subscription.
fn receive(socket: &Socket, command: &Value) -> Result<Value> {
    let probe = [from_hex(command["probe"].as_str().unwrap_or(""))?];
    let mut summary = Summary::default();
    for expected in messages(&command["stream"]) {
        let mut parts = parts_of(&socket.recv()?);
        while !probe[0].is_empty() && parts == probe {
            parts = parts_of(&socket.recv()?);
        }
        compare(&parts, &expected)?;
        summary.add(&parts);
    }
    Ok(summary.result())
}

/// Sends a stream one message at a time, each after the previous reply.
fn ask(socket: &Socket, stream: &Value) -> Result<Value> {
    let mut summary = Summary::default();
    for expected in messages(stream) {
        socket.send(Message::multipart(expected.iter().cloned()))?;
        let parts = parts_of(&socket.recv()?);
        compare(&parts, &expected)?;
        summary.add(&parts);
    }
    Ok(summary.result())
}

/// Receives a stream and sends each message back, with the envelope that a ROUTER puts before it.
fn echo(socket: &Socket, command: &Value) -> Result<Value> {
    let envelope = command["envelope"].as_u64().unwrap_or(0) as usize;
    let mut seen = Vec::new();
    let mut summary = Summary::default();
    for expected in messages(&command["stream"]) {
        let message = socket.recv()?;
        let mut parts = parts_of(&message);
        seen = parts.drain(..envelope.min(parts.len())).collect();
        compare(&parts, &expected)?;
        summary.add(&parts);
        socket.send(message)?;
    }
    let mut result = summary.result();
    result["envelope"] = in_hex(&seen);
    Ok(result)
}

fn compare(parts: &[Bytes], expected: &[Bytes]) -> Result<()> {
    if parts.len() != expected.len() {
        return Err(format!("{} parts instead of {}", parts.len(), expected.len()).into());
    }
    match parts.iter().zip(expected).position(|(part, other)| part != other) {
        Some(i) => Err(format!(
            "part {i} differs: {} bytes, {} expected",
            parts[i].len(),
            expected[i].len()
        )
        .into()),
        None => Ok(()),
    }
}

fn parts_of(message: &Message) -> Vec<Bytes> {
    (0..message.len()).filter_map(|i| message.part_bytes(i)).collect()
}

fn count(command: &Value) -> Result<u64> {
    command["count"].as_u64().ok_or_else(|| "count is missing".into())
}

fn text<'a>(object: &'a Value, name: &str) -> Result<&'a str> {
    object[name].as_str().ok_or_else(|| format!("{name} is missing").into())
}

fn in_hex(parts: &[Bytes]) -> Value {
    parts.iter().map(|part| format!("{part:x}")).collect()
}

fn from_hex(digits: &str) -> Result<Bytes> {
    let byte = |at| Ok(u8::from_str_radix(&digits[at..at + 2], 16)?);
    (0..digits.len()).step_by(2).map(byte).collect()
}
