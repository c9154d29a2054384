import { Push } from "zeromq-lz4"
import { messagesOf } from "./archive.js"

/** Sends the messages of an archive again. Nothing is compressed for that, and nothing decompressed. */
export async function replay(path, endpoint) {
  const push = new Push({ linger: 5000 })
  push.connect(endpoint, { level: 0 })
  try {
    for await (const parts of messagesOf(path, 1 << 20)) await push.send(parts)
  } finally {
    push.close()
  }
  await push.lz4.flush({ timeout: 5000 })
}
