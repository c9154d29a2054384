/** Receive queues that count the connections which begin while they are full. */
import { type InboundConnection, Inbound as RealInbound } from "../../../../src/patterns/inbound.js"

export class Inbound extends RealInbound {
  override attach(connection: InboundConnection): void {
    super.attach(connection)
    if (this.internals.isStopped) __simulation.held++
  }
}
