import type * as zmq from "zeromq"

interface Surroundings {
  any: string
  free: string
  bind(socket: zmq.Socket, endpoint: string): Promise<void>
  connect(socket: zmq.Socket, endpoint: string): void
  use<S extends { close(): void }>(socket: S): S
  fake(): void
}

type Scenario = (package: typeof zmq, surroundings: Surroundings) => Promise<void>

export const scenarios: Record<string, Scenario>
export const ownScenarios: Record<string, Scenario>
