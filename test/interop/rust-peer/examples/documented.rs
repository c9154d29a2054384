use omq_tokio::{Context, Message, Options, SocketType};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let context = Context::new();
    let push = context.socket(SocketType::Push, Options::default().linger_forever());
    push.connect("lz4+tcp://127.0.0.1:5555").await?;
    push.send(Message::single("hello")).await?;
    push.close().await?;
    Ok(())
}
