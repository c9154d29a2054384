/** Pipes that checkers see. */
import { Pipe as RealPipe } from "../../../../src/patterns/pipe.js"

export class Pipe extends RealPipe {
  constructor(...args: ConstructorParameters<typeof RealPipe>) {
    super(...args)
    __simulation.pipes.push(this)
  }
}
