/** Handshakes that are those of plain tcp:// in one process of the run. */

import { Mechanism as RealMechanism } from "../../../../src/zmtp/mechanism.js"
import { isNamed, readProperties, writeMetadata } from "../../../../src/zmtp/metadata.js"

export * from "../../../../src/zmtp/mechanism.js"

export abstract class Mechanism extends RealMechanism {
  protected override metadata(): Uint8Array {
    const metadata = super.metadata()
    if (!__simulation.isPlain) return metadata
    const properties = readProperties(metadata) ?? []
    return writeMetadata(
      properties.filter(
        (one) => !(isNamed(one[0], "X-Lz4-Revision") || isNamed(one[0], "X-Zstd-Revision")),
      ),
    )
  }

  protected override checkPeer(data: Uint8Array): Uint8Array | string {
    const peer = super.checkPeer(data)
    if (__simulation.isPlain) this.agreed = undefined
    return peer
  }
}
