/** A file of a capture, of which bytes can be read again. */
export interface CaptureFile {
  readonly name: string
  /** Number of bytes; 0 until it is open. */
  readonly size: number
  /** Resolves once it can be read. */
  open(): Promise<void>
  /** Resolves with the bytes of ranges, joined; without those that are after the end. */
  read(ranges: readonly Range[]): Promise<Uint8Array>
}

export type Range = readonly [from: number, to: number]
