/** A program with the processes that it starts. */
import type { ChildProcess } from "node:child_process"
import { onTestFinished } from "vitest"

import { Running } from "./running-script.js"

/** A running program, such as a shell, that was started as `detached`. All are killed after the test. */
export class Group extends Running {
  readonly cwd: string

  constructor(program: ChildProcess, cwd: string) {
    super(program)
    this.cwd = cwd
    onTestFinished(() => {
      if (this.running) this.signal("SIGKILL")
    })
  }

  /** Sends a signal to all of them, as a terminal does. */
  signal(signal: NodeJS.Signals): void {
    process.kill(-this.process.pid!, signal)
  }
}
