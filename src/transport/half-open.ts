/**
 * The connections of a listener whose peers have yet to show who they are, oldest first. If there are
 * too many, the oldest goes: a peer needs milliseconds for that, and a stranger may stay silent.
 */
export class HalfOpen<Connection> {
  readonly #connections = new Set<Connection>()
  readonly #close: (connection: Connection) => void

  constructor(close: (connection: Connection) => void) {
    this.#close = close
  }

  get size(): number {
    return this.#connections.size
  }

  begin(connection: Connection): void {
    this.#connections.add(connection)
  }

  /** The peer has shown who it is, or the connection has ended. */
  end(connection: Connection): void {
    this.#connections.delete(connection)
  }

  /** Returns false if there is none. */
  closeOldest(): boolean {
    for (const oldest of this.#connections) {
      this.#connections.delete(oldest)
      this.#close(oldest)
      return true
    }
    return false
  }
}
