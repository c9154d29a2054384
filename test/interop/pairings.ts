/** Pairs of our sockets and the peers', and the exchange of a stream between them. */
import * as zmq from "zeromq-lz4"

import type { AnySocket } from "../support/sockets.js"
import type { Receive, Send, Stream, Summary } from "./stream.js"
import * as streams from "./stream.js"

export const hex = (text: string): string => Buffer.from(text).toString("hex")

export interface Pairing {
  ours: string
  theirs: { type: string; options?: { identity: string } }
  /** The peer's action with the stream. */
  does: "send" | "receive" | "ask" | "echo" | "echoFrames"
  /** Parts that their ROUTER adds before a message, as hex. */
  envelope?: string[]
  stream?: Partial<Stream>
  open(): { socket: AnySocket; exchange(stream: Stream): Promise<Summary> }
}

type Exchange = (stream: Stream, send: Send, receive: Receive) => Promise<Summary>

/** A socket with messages that consist of parts only. */
export function speaking(
  socket: AnySocket & Partial<zmq.Writable<zmq.MessageLike[]> & zmq.Readable>,
  exchange: Exchange,
) {
  const send: Send = (parts) =>
    (socket as zmq.Writable<zmq.MessageLike[]>).send([...parts] as Buffer[])
  const receive: Receive = () => (socket as zmq.Readable).receive()
  return { socket, exchange: (stream: Stream) => exchange(stream, send, receive) }
}

/** Our side of a stream whose messages have an `envelope`. */
const echoingBehind =
  (envelope: number): Exchange =>
  (stream, send, receive) =>
    streams.echoAll(stream, send, receive, envelope)
const sending: Exchange = (stream, send) => streams.sendAll(stream, send)
export const receiving: Exchange = (stream, _, receive) => streams.receiveAll(stream, receive)

/** All socket types that exchange unchanged messages with one peer. */
export const pairings: readonly Pairing[] = [
  {
    ours: "PUSH",
    theirs: { type: "PULL" },
    does: "receive",
    open: () => speaking(new zmq.Push(), sending),
  },
  {
    ours: "PULL",
    theirs: { type: "PUSH" },
    does: "send",
    open: () => speaking(new zmq.Pull(), receiving),
  },
  {
    ours: "REQ",
    theirs: { type: "REP" },
    does: "echo",
    // Their REP takes any empty part for the end of the envelope, over tcp:// too.
    stream: { least: 1 },
    open: () => speaking(new zmq.Request(), streams.askAll),
  },
  {
    ours: "REP",
    theirs: { type: "REQ" },
    does: "ask",
    open: () => speaking(new zmq.Reply(), streams.echoAll),
  },
  {
    ours: "REQ",
    theirs: { type: "ROUTER" },
    does: "echo",
    envelope: [hex("ours"), ""],
    open: () => speaking(new zmq.Request({ routingId: "ours" }), streams.askAll),
  },
  {
    ours: "ROUTER",
    theirs: { type: "REQ", options: { identity: "theirs" } },
    does: "ask",
    open: () => speaking(new zmq.Router(), echoingBehind(2)),
  },
  {
    ours: "DEALER",
    theirs: { type: "ROUTER" },
    does: "echo",
    envelope: [hex("ours")],
    open: () => speaking(new zmq.Dealer({ routingId: "ours" }), streams.duplexAll),
  },
  {
    ours: "ROUTER",
    theirs: { type: "DEALER", options: { identity: "theirs" } },
    does: "ask",
    open: () => speaking(new zmq.Router(), echoingBehind(1)),
  },
  {
    ours: "DEALER",
    theirs: { type: "DEALER" },
    does: "echo",
    open: () => speaking(new zmq.Dealer(), streams.duplexAll),
  },
  {
    ours: "PAIR",
    theirs: { type: "PAIR" },
    does: "echo",
    open: () => speaking(new zmq.Pair(), streams.duplexAll),
  },
]
