/** Slabs that checkers see. */
import {
  LargeSlabs as RealLargeSlabs,
  Slabs as RealSlabs,
  type Slab,
} from "../../../../src/codec/slabs.js"

export * from "../../../../src/codec/slabs.js"

function shown(slab: Slab): Slab {
  __simulation.slabs.add(slab)
  return slab
}

export class Slabs extends RealSlabs {
  override make(bytes: number): Slab {
    return shown(super.make(bytes))
  }
}

export class LargeSlabs extends RealLargeSlabs {
  override make(bytes: number): Slab {
    return shown(super.make(bytes))
  }
}
