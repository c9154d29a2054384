import type { Time } from "../events.js"

export interface Packet {
  time: Time
  /** The link type of `bytes`: a number of https://www.tcpdump.org/linktypes.html. */
  linkType: number
  /** Valid during the call only. */
  bytes: Uint8Array
  /** Their offset in the file. */
  offset: number
  /** Bytes on the wire: more than `bytes` if they were cut to a snap length. */
  length: number
}

/** A file format that consists of records, one after the other. */
export interface FileFormat {
  /** The name of a record in errors. */
  readonly record: string
  /**
   * Returns the size of the record at `at`, of which `available` bytes have been read; if these are
   * too few to know it, a number that is needed, which may reach into the record after it. `isLast` says
   * that no more will come. Throws an UnreadableRecord if there cannot be such a record.
   */
  size(view: DataView, at: number, available: number, isLast: boolean): number
  /**
   * Returns the packet in a complete record, if it holds one. `offset` is the record's offset in
   * the file. Throws as `size` does.
   */
  read(view: DataView, at: number, size: number, offset: number): Packet | undefined
}

/**
 * A record that makes it and the rest of the file unreadable. It is reported, never thrown to callers.
 */
export class UnreadableRecord extends Error {}

/** As in libpcap: a record that claims to be longer is damaged. */
export const RECORD_MAX_BYTES: number = 16 * 1024 * 1024

export function checkSize(what: string, size: number, minBytes: number): void {
  if (size < minBytes || size > RECORD_MAX_BYTES)
    throw new UnreadableRecord(
      `${what} claims ${size} bytes; ${minBytes} to ${RECORD_MAX_BYTES} are allowed`,
    )
}
