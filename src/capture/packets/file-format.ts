import type { Time } from "../events.js"

export interface Packet {
  time: Time
  /** The link type of `bytes`: a number of https://www.tcpdump.org/linktypes.html. */
  linkType: number
  /** Good during the call only. */
  bytes: Uint8Array
  /** Their offset in the file. */
  offset: number
  /** Bytes on the wire: more than `bytes` when a snap length cut them. */
  length: number
}

/** The records that a file of some format consists of, one behind the other. */
export interface FileFormat {
  /** The name of a record in errors. */
  readonly record: string
  /**
   * Bytes of the record at `at`, of which `available` are there; when these are too few to know,
   * how many it takes. Throws an UnreadableRecord when there cannot be such a record.
   */
  size(view: DataView, at: number, available: number): number
  /**
   * The packet in a whole record, if it holds one. `offset` is where the record is in the file.
   * Throws as `size` does.
   */
  read(view: DataView, at: number, size: number, offset: number): Packet | undefined
}

/** A record of the file, and with it all that follows, cannot be read. Reported, never thrown at callers. */
export class UnreadableRecord extends Error {}

/** As in libpcap: what claims to be longer is damaged. */
const RECORD_MAX_BYTES = 16 * 1024 * 1024

export function checkSize(what: string, size: number, minBytes: number): void {
  if (size < minBytes || size > RECORD_MAX_BYTES)
    throw new UnreadableRecord(
      `${what} claims ${size} bytes; ${minBytes} to ${RECORD_MAX_BYTES} are allowed`,
    )
}
