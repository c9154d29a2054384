import type { CaptureMessage, Side, Time } from "../events.js"

/** A message of an exchange. */
export interface ExchangedMessage {
  /** The time at which its last byte was captured. */
  time: Time
  /** The number of the packet that completed it, as in {@link CaptureEvent}. */
  packet: number | undefined
  /** Bytes of its parts' plaintext. */
  plainBytes: number
  /** Bytes of its parts on the wire. */
  wireBytes: number
}

/** A question and its answer. */
export interface Exchange {
  /** The number of the connection. */
  connection: number
  /** The side that asked. */
  from: Side
  /** The question. */
  question: ExchangedMessage
  /** Its answer. */
  answer: ExchangedMessage
  /**
   * The time from one to the other; undefined if it is not known, or the recording has the answer
   * before the question.
   */
  nanoseconds: number | undefined
}

/** A message that was read, and whether it matches the filter. */
export interface Heard extends ExchangedMessage {
  matches: boolean
}

export function heardIn(
  { time, plainBytes, wireBytes }: CaptureMessage,
  packet: number | undefined,
  matches: boolean,
): Heard {
  return { time, packet, plainBytes, wireBytes, matches }
}

export function exchangeOf(
  connection: number,
  from: Side,
  { matches: _, ...question }: Heard,
  { matches: __, ...answer }: Heard,
): Exchange {
  const nanoseconds =
    question.time === undefined || answer.time === undefined
      ? undefined
      : Number(answer.time - question.time)
  return {
    ...{ connection, from, question, answer },
    nanoseconds: nanoseconds !== undefined && nanoseconds >= 0 ? nanoseconds : undefined,
  }
}
