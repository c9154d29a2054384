import { ARENAS_REVISION, type Settings } from "./options.js"

/** Messages on the wire: tcp://'s bare frames, parts with sentinels, or those and arenas. */
export type Packing = "frames" | "parts" | "arenas"

/**
 * Returns how a peer is sent messages.
 *
 * @param acceptsPlain whether peers that announced no revision are plain ones, which read frames.
 * @param peerRevision the format revision that the peer announced; undefined if none.
 */
export function packingFor(
  { arenas }: Settings,
  acceptsPlain: boolean,
  peerRevision: number | undefined,
): Packing {
  if (acceptsPlain && peerRevision === undefined) return "frames"
  const uses = arenas === "auto" ? (peerRevision ?? 1) >= ARENAS_REVISION : arenas
  return uses ? "arenas" : "parts"
}
