import type { Chunk } from "../codec/chunk.js"
import { TRAINED_MAX } from "../codec/dictionary-groups.js"
import { hasForms } from "../codec/formed-part.js"
import type { Packing } from "../codec/packing.js"
import { encodeMeasured } from "../transport/encode-measured.js"
import type { Encoding, MessageEncoder } from "../transport/transport.js"
import type { Batch } from "./batch.js"
import type { Message } from "./message.js"
import { fittedTo, NO_FRAMES } from "./peer-encoder.js"
import type { Pipe } from "./pipe.js"

interface Group {
  readonly encoder: MessageEncoder
  readonly packing: Packing
  readonly members: Pipe[]
}

/**
 * Encodes a batch, and `message` after it, once for all pipes that write the same bytes. Calls `write`
 * with each chunk, if any, and its pipes. Returns the errors that were thrown.
 */
export function encodeForAll(
  pipes: Pipe[],
  batch: Batch | undefined,
  message: Message | undefined,
  write: (chunk: Chunk | undefined, members: readonly Pipe[], errors: unknown[]) => void,
): unknown[] {
  const errors: unknown[] = []
  const frames = batch?.seal() ?? NO_FRAMES
  const isPlain = frames.length === 0 && message === undefined && (batch?.messages ?? 0) > 0
  const groups = isPlain ? [groupOfAll(pipes)] : groupsOf(pipes)
  // Compressing and plain peers share one effort, although each message is encoded once for each kind.
  const efforts = new Map<MessageEncoder, number | undefined>()
  for (const { encoder, packing, members } of groups) {
    let encoding: Encoding | undefined
    if (!efforts.has(encoder)) {
      encoding = members[0]?.out.encoder.encoding
      efforts.set(encoder, encoding?.nextEffort(membersWith(encoder, groups), encoder))
    }
    const options = { plain: batch, packing, effort: efforts.get(encoder) }
    let chunk: Chunk | undefined
    for (let last = message; ; last = undefined) {
      try {
        const sent = last && fittedTo(encoder, packing, last)
        // What is sent as it came says nothing about the effort.
        const measures = sent && hasForms(sent) ? undefined : encoding
        if (frames.length > 0 || sent !== undefined || batch?.messages)
          chunk = encodeMeasured(encoder, measures, frames, sent, options)
      } catch (error) {
        errors.push(error)
        // The earlier messages were already accepted, so they must not be lost with this one.
        if (last !== undefined) continue
      }
      break
    }
    write(chunk, members, errors)
  }
  if (!isPlain && errors.length === 0) sample(pipes, frames, message)
  return errors
}

/**
 * Chooses the efforts of the next messages, and returns the size below which all pipes send parts
 * plain.
 */
export function plainBelowFor(pipes: readonly Pipe[]): number {
  let below = Number.POSITIVE_INFINITY
  let last: MessageEncoder | undefined
  let effort: number | undefined
  for (const { out, connection } of pipes) {
    const { current, packing, encoding } = out.encoder
    if (current !== last) effort = encoding?.nextEffort(pipes)
    last = current
    below = Math.min(below, current.plainBelow(connection && packing, effort))
  }
  return below
}

/** Returns one group, for messages that are the same for all encoders and packings. */
function groupOfAll(members: Pipe[]): Group {
  const { common, packing } = (members[0] as Pipe).out.encoder
  return { encoder: common, packing, members }
}

/**
 * Groups pipes by encoder (one for each endpoint, and one for each dictionary that it has trained)
 * and by the packing that their peers read. If too many have trained dictionaries, the smallest
 * groups are sent the messages without one.
 */
function groupsOf(pipes: Pipe[]): Group[] {
  const groups = groupBy(({ out }) => out.encoder.current, pipes)
  const trained = groups.filter(
    ({ encoder, members }) => encoder !== members[0]?.out.encoder.common,
  )
  if (trained.length <= TRAINED_MAX) return groups
  trained.sort((a, b) => b.members.length - a.members.length)
  const used = new Set(trained.slice(0, TRAINED_MAX).map(({ encoder }) => encoder))
  return groupBy(({ out: { encoder } }) => {
    return used.has(encoder.current) ? encoder.current : encoder.common
  }, pipes)
}

function groupBy(encoderOf: (pipe: Pipe) => MessageEncoder, pipes: Pipe[]): Group[] {
  const byPacking = {
    parts: new Map<MessageEncoder, Group>(),
    arenas: new Map<MessageEncoder, Group>(),
    // Last, because frames are not compressed and so choose no effort.
    frames: new Map<MessageEncoder, Group>(),
  }
  for (const pipe of pipes) {
    const encoder = encoderOf(pipe)
    const { packing } = pipe.out.encoder
    const group = byPacking[packing].get(encoder)
    if (group) group.members.push(pipe)
    else byPacking[packing].set(encoder, { encoder, packing, members: [pipe] })
  }
  return Object.values(byPacking).flatMap((groups) => [...groups.values()])
}

/** Returns the pipes that an encoder encodes for, in any packing. */
function membersWith(encoder: MessageEncoder, groups: readonly Group[]): Pipe[] {
  return groups.flatMap((group) => (group.encoder === encoder ? group.members : []))
}

/** Trains dictionaries on messages, for the connections of each endpoint. */
function sample(pipes: Pipe[], frames: Uint8Array, last: Message | undefined): void {
  const message = last && hasForms(last) ? undefined : (last as Buffer[] | undefined)
  const byEndpoint = new Map<MessageEncoder, Encoding[]>()
  for (const { out } of pipes) {
    const { common, encoding } = out.encoder
    if (!encoding?.trains) continue
    const encodings = byEndpoint.get(common)
    if (encodings) encodings.push(encoding)
    else byEndpoint.set(common, [encoding])
  }
  for (const encodings of byEndpoint.values()) encodings[0]?.sampled(encodings, frames, message)
}
