/**
 * Simulated time, and the event loops that share it. Nothing really waits: the next event sets the
 * time. Each event loop is a thread; events of the network belong to none.
 */
import type { Random } from "./random.js"

interface Event {
  at: number
  order: number
  run(): void
}

/** Events ordered by time, and in the order of their creation if that is the same. */
class EventHeap {
  readonly #events: Event[] = []

  get first(): Event | undefined {
    return this.#events[0]
  }

  push(event: Event): void {
    const events = this.#events
    let at = events.push(event) - 1
    while (at > 0) {
      const parent = (at - 1) >> 1
      if (isBefore(events[parent] as Event, event)) break
      events[at] = events[parent] as Event
      at = parent
    }
    events[at] = event
  }

  shift(): Event {
    const events = this.#events
    const first = events[0] as Event
    const last = events.pop() as Event
    if (events.length === 0) return first
    let at = 0
    for (;;) {
      let child = 2 * at + 1
      if (child >= events.length) break
      if (child + 1 < events.length && isBefore(events[child + 1] as Event, events[child] as Event))
        child++
      if (isBefore(last, events[child] as Event)) break
      events[at] = events[child] as Event
      at = child
    }
    events[at] = last
    return first
  }
}

function isBefore(a: Event, b: Event): boolean {
  return a.at < b.at || (a.at === b.at && a.order < b.order)
}

/** A timer of a simulated event loop, like Node's. */
export class Timer {
  readonly loop: EventLoop
  readonly callback: (...args: unknown[]) => void
  readonly args: unknown[]
  /** Milliseconds between calls; undefined for a single call. */
  readonly repeatMs: number | undefined
  isActive = true
  isReferenced = true

  constructor(
    loop: EventLoop,
    callback: (...args: unknown[]) => void,
    args: unknown[],
    repeatMs: number | undefined,
  ) {
    this.loop = loop
    this.callback = callback
    this.args = args
    this.repeatMs = repeatMs
  }

  ref(): this {
    this.isReferenced = true
    return this
  }

  unref(): this {
    this.isReferenced = false
    return this
  }

  hasRef(): boolean {
    return this.isReferenced
  }
}

/** An immediate. Like Node's, one that is not referenced does not make the event loop go on. */
export class Immediate {
  callback: (() => void) | undefined
  readonly #loop: EventLoop
  #isReferenced = true

  constructor(loop: EventLoop, callback: () => void) {
    this.#loop = loop
    this.callback = callback
  }

  ref(): this {
    if (this.#isReferenced) return this
    this.#isReferenced = true
    if (this.callback) this.#loop.countReferenced(1)
    return this
  }

  unref(): this {
    if (this.#isReferenced && this.callback) this.#loop.countReferenced(-1)
    this.#isReferenced = false
    return this
  }

  hasRef(): boolean {
    return this.#isReferenced
  }

  /** Returns the callback, which will not be called again. */
  take(): (() => void) | undefined {
    const { callback } = this
    this.callback = undefined
    if (callback && this.#isReferenced) this.#loop.countReferenced(-1)
    return callback
  }
}

/** A phase of Node's event loop. The main script counts as a timer: the event loop polls after it. */
type Phase = "timers" | "poll" | "check"

/** Milliseconds from which on a turn is long: the network has news before the event loop polls again. */
const LONG_MS = 1

/** Maximum delay of a timer on an idle event loop, in milliseconds. */
const TIMER_LATE_MS = 1

/**
 * A thread with an event loop: timers, immediates, ticks, and events of the network. It polls for events
 * when it has nothing else to do. As in Node, what became due during a long callback runs in this order:
 * the other events of the last poll and then the immediates, if the callback was of a poll; timers; and
 * only then, after another poll, what the network has had to tell meanwhile.
 */
export class EventLoop {
  readonly name: string
  readonly world: World
  /** Events of the system, and the next run of the immediates. */
  readonly #events = new EventHeap()
  readonly #due = new EventHeap()
  readonly timers: Set<Timer> = new Set()
  /** Whether a callback is running, or the thread waits for another one. */
  isBusy = false
  /** Whether it has ended. */
  isOver = false
  /** Milliseconds of turns that are over, and when those began that run, one inside another. */
  #busyMs = 0
  #busySince = 0
  #runningTurns = 0
  /** Number of times that it has polled. */
  polls = 0
  readonly #random: Random
  #ticks: (() => void)[] = []
  /** Whether its turn has come to the queue of promises. */
  isInMicrotasks = false
  #immediates: Immediate[] = []
  /** Number of immediates that are referenced. */
  #referenced = 0
  /** The event that runs the immediates, if there is one. */
  #checking: Event | undefined
  #phase: Phase = "timers"
  /** Events up to this time belong to the last poll. */
  polledAt = 0
  #turnBeganAt = 0
  #turnEndedAt = 0
  /** The time of the latest timer, by duration: timers of the same duration keep their order. */
  readonly #latest = new Map<number, number>()

  constructor(world: World, name: string, random: Random) {
    this.world = world
    this.name = name
    this.#random = random
  }

  // -- Calls of programs -----------------------------------------------------------

  readonly setTimeout = (
    callback: (...args: unknown[]) => void,
    ms = 1,
    ...args: unknown[]
  ): Timer => {
    const timer = new Timer(this, callback, args, undefined)
    this.timers.add(timer)
    this.#arm(timer, ms)
    return timer
  }

  readonly setInterval = (
    callback: (...args: unknown[]) => void,
    ms = 1,
    ...args: unknown[]
  ): Timer => {
    const timer = new Timer(this, callback, args, ms)
    this.timers.add(timer)
    this.#arm(timer, ms)
    return timer
  }

  readonly clearTimeout = (timer: Timer | undefined | null): void => {
    if (!timer) return
    timer.isActive = false
    timer.loop.timers.delete(timer)
  }

  readonly setImmediate = (
    callback: (...args: unknown[]) => void,
    ...args: unknown[]
  ): Immediate => {
    const immediate = new Immediate(this, () => callback(...args))
    this.#immediates.push(immediate)
    this.countReferenced(1)
    return immediate
  }

  readonly clearImmediate = (immediate: Immediate | undefined): void => {
    immediate?.take()
  }

  readonly nextTick = (callback: (...args: unknown[]) => void, ...args: unknown[]): void => {
    this.#ticks.push(args.length === 0 ? callback : () => callback(...args))
  }

  /** Whether there are immediates that keep a process alive. */
  get hasImmediates(): boolean {
    return this.#referenced > 0
  }

  /** Whether callbacks of nextTick have not run yet. */
  get hasTicks(): boolean {
    return this.#ticks.length > 0
  }

  // -- Events ----------------------------------------------------------------------

  /** Runs a callback on the event loop after a while, like an event of the system. */
  post(run: () => void, afterMs = 0): void {
    this.postAt(run, this.world.now + afterMs)
  }

  postAt(run: () => void, at: number): void {
    this.#events.push({ at, order: this.world.nextOrder(), run })
  }

  /** The event that runs next. */
  get first(): Event | undefined {
    const event = this.#events.first
    const timer = this.#due.first
    if (!event || !timer) return event ?? timer
    if (event.at <= this.polledAt) return event
    if (timer.at <= this.#turnEndedAt) return timer
    return isBefore(event, timer) ? event : timer
  }

  /** Takes the event that runs next, which is at its time. */
  shift(): () => void {
    const event = this.first as Event
    if (event === this.#due.first) {
      // The event loop has waited for the timer in a poll, which immediates follow.
      if (event.at > this.#turnEndedAt) {
        this.polls++
        if (this.#immediates.length > 0 && !this.#checking) return () => this.#check()
      }
      this.#phase = "timers"
      return this.#due.shift().run
    }
    if (event.at > this.polledAt) {
      this.polledAt = this.world.now
      this.polls++
      // Immediates follow all events of the poll, also those that came while the thread was busy.
      if (this.#checking && this.#checking.at < this.world.now) this.#checkAt(this.world.now)
    }
    this.#phase = event === this.#checking ? "check" : "poll"
    return this.#events.shift().run
  }

  /** A callback begins to run. */
  beginTurn(): void {
    this.isBusy = true
    if (this.#runningTurns++ === 0) this.#busySince = this.world.now
    this.#turnBeganAt = this.world.now
  }

  /** A callback has run, and all ticks and promises after it. */
  endTurn(): void {
    this.isBusy = false
    if (--this.#runningTurns === 0) this.#busyMs += this.world.now - this.#busySince
    this.#turnEndedAt = this.world.now
    if (this.#immediates.length === 0) return
    if (this.#phase === "poll") this.#checkSoon()
    else if (this.#referenced > 0) this.#checkLater()
  }

  /** Milliseconds in which it had something to do, in the eyes of the system. */
  get busyMs(): number {
    return this.#busyMs + (this.#runningTurns > 0 ? this.world.now - this.#busySince : 0)
  }

  /** Runs a script, after which the event loop polls. */
  beginScript(): void {
    this.#phase = "timers"
  }

  #arm(timer: Timer, ms: number): void {
    const length = Math.max(1, Math.min(Math.trunc(ms) || 1, 2 ** 31 - 1))
    const due = this.world.now + length
    const at = Math.max(
      this.#latest.get(length) ?? 0,
      due + this.#random.fraction() * TIMER_LATE_MS,
    )
    this.#latest.set(length, at)
    this.#due.push({ at, order: this.world.nextOrder(), run: () => this.#fire(timer) })
  }

  #fire(timer: Timer): void {
    if (!timer.isActive) return
    if (timer.repeatMs === undefined) {
      timer.isActive = false
      this.timers.delete(timer)
    } else this.#arm(timer, timer.repeatMs)
    timer.callback(...timer.args)
  }

  /** Counts referenced immediates. They run even if nothing else happens on the event loop. */
  countReferenced(by: number): void {
    this.#referenced += by
    // Promises of all threads share a queue, so that the thread may have no turn now.
    if (by > 0 && !this.isBusy) this.#checkLater()
  }

  /** Immediates follow the events of the same poll. */
  #checkSoon(): void {
    const isLong = this.world.now - this.#turnBeganAt >= LONG_MS
    if (isLong || (!this.#checking && this.#random.chance(0.2))) this.#checkAt(this.polledAt)
    else this.#checkLater()
  }

  /** Immediates wait until other events had a chance. */
  #checkLater(): void {
    if (this.#checking) return
    // Other work of the event loop may take long.
    const maxMs = this.#random.chance(0.3) ? 3 : 0.05
    this.#checkAt(this.world.now + this.#random.fraction() * maxMs)
  }

  #checkAt(at: number): void {
    const event = {
      at,
      order: this.world.nextOrder(),
      run: () => {
        if (this.#checking === event) this.#check()
      },
    }
    this.#checking = event
    this.#events.push(event)
  }

  #check(): void {
    this.#phase = "check"
    this.#checking = undefined
    const immediates = this.#immediates
    this.#immediates = []
    for (const immediate of immediates) {
      const callback = immediate.take()
      if (callback) this.world.guard(callback)
      this.settle()
    }
  }

  /** Runs callbacks of nextTick and of promises. */
  settle(): void {
    do {
      for (let i = 0; i < this.#ticks.length; i++) this.world.guard(this.#ticks[i] as () => void)
      this.#ticks = []
      this.isInMicrotasks = true
      this.world.runMicrotasks()
      this.isInMicrotasks = false
    } while (this.#ticks.length > 0)
  }

  /**
   * Lets time pass at the beginning of a callback, in which only other threads continue, with all that
   * they do. Nothing else of this thread waits for its turn then.
   */
  pause(ms: number): void {
    this.world.asOutermost(() => this.compute(ms))
  }

  /** Lets time pass during a callback, in which only other threads continue: their promises do not. */
  compute(ms: number): void {
    const wasBusy = this.isBusy
    this.isBusy = true
    this.world.runUntil(this.world.now + ms)
    this.isBusy = wasBusy
  }
}

/** Drains the queue of microtasks, which V8 refuses while one of them is running. */
const runMicrotasks = (process as unknown as { _tickCallback(): void })._tickCallback

/**
 * More events than happen in WINDOW_MS of simulated time unless something loops. There is no limit
 * for a whole run: a peer that is refused may dial for as long as the run lasts.
 */
const WINDOW_STEPS_MAX = 300_000
const WINDOW_MS = 100

/** The state of one run: time, threads, and a log of its events. */
export class World {
  now = 0
  readonly loops: EventLoop[] = []
  /** Events of the network, which belong to no thread. */
  readonly kernel: EventHeap = new EventHeap()
  /** Called between events, when no callback is running. */
  afterEvent: (() => void) | undefined
  /** Lines of the log, if they are wanted. */
  readonly lines: string[] | undefined
  /** A hash of the log. */
  hash = 0
  /** Number of events so far. */
  steps = 0
  failure: { rule: string; detail: string } | undefined
  /** Codes of errors that may be thrown without a handler. */
  readonly expected: Set<string> = new Set()
  #order = 0
  #depth = 0
  /** The depth at which the callback runs that has paused before it did anything else. */
  #pausedDepth = 0
  #window = { endsAt: 0, steps: 0 }
  /** The thread whose callback has ended, and whose promises are being settled. */
  #settling: EventLoop | undefined

  constructor(keepsLog: boolean) {
    this.lines = keepsLog ? [] : undefined
  }

  nextOrder(): number {
    return this.#order++
  }

  addLoop(name: string, random: Random): EventLoop {
    const loop = new EventLoop(this, name, random)
    this.loops.push(loop)
    return loop
  }

  /** Logs an event. `text` is only called if lines are kept. */
  log(kind: number, value: number, text: () => string): void {
    let hash = Math.imul(this.hash ^ kind, 0x01000193) ^ value
    hash = Math.imul(hash ^ Math.floor(this.now * 1000), 0x85ebca6b)
    this.hash = hash ^ (hash >>> 13)
    this.lines?.push(`${this.now.toFixed(3)} ${text()}`)
  }

  /** Records that a rule was broken. Only the first one counts. */
  fail(rule: string, detail: string): void {
    this.log(1, rule.length, () => `FAILED ${rule}: ${detail}`)
    this.failure ??= { rule, detail }
  }

  /** Schedules an event of the network at a time. */
  at(at: number, run: () => void): void {
    this.kernel.push({ at, order: this.nextOrder(), run })
  }

  /** Schedules an event of the network after a while. */
  later(afterMs: number, run: () => void): void {
    this.at(this.now + afterMs, run)
  }

  runMicrotasks(): void {
    if (this.#depth - this.#pausedDepth <= 1) runMicrotasks()
  }

  /** Returns the time and the thread of the next event; undefined if there is none. */
  #next(): [at: number, loop: EventLoop | undefined] | undefined {
    let at = this.kernel.first?.at
    let order = this.kernel.first?.order ?? 0
    let chosen: EventLoop | undefined
    for (const loop of this.loops) {
      if (loop.isBusy || loop.isOver) continue
      const { first } = loop
      if (!first) continue
      if (at === undefined || first.at < at || (first.at === at && first.order < order)) {
        at = first.at
        order = first.order
        chosen = loop
      }
    }
    return at === undefined ? undefined : [at, chosen]
  }

  /** Runs the next event. Returns false if there is none until then. */
  step(until: number): boolean {
    const next = this.#next()
    if (!next || next[0] > until) return false
    const [at, loop] = next
    this.now = Math.max(this.now, at)
    this.steps++
    this.#checkRate()
    if (!loop) this.kernel.shift().run()
    else this.#runOn(loop, loop.shift())
    if (this.#depth === 0) this.afterEvent?.()
    return true
  }

  #checkRate(): void {
    const { endsAt, steps } = this.#window
    if (this.now >= endsAt) this.#window = { endsAt: this.now + WINDOW_MS, steps: this.steps }
    else if (this.steps - steps > WINDOW_STEPS_MAX)
      this.fail("a run ends", `${this.steps - steps} events in ${WINDOW_MS} ms`)
  }

  /** Runs events of the other threads while a thread waits for them, until a time. */
  wait(waiting: EventLoop, until: number, isWaiting: () => boolean): void {
    const other = this.#settling
    // All threads share one queue of promises, so those of the waiting thread may run in the turn of
    // another, which could answer. It could not from inside a callback of its own.
    const isFree = other !== undefined && other !== waiting && other.isInMicrotasks
    if (isFree) other.isBusy = false
    this.#settling = undefined // what runs meanwhile runs in callbacks
    while (isWaiting() && this.step(until));
    this.#settling = other
    if (isFree) other.isBusy = true
  }

  #runOn(loop: EventLoop, run: () => void): void {
    this.#depth++
    loop.beginTurn()
    this.guard(run)
    const isOutermost = this.#depth - this.#pausedDepth === 1
    if (isOutermost) this.#settling = loop
    loop.settle()
    // Also settle promises of a thread that ran inside another one, which may have scheduled more.
    if (isOutermost) {
      let other = this.#unsettled
      for (; other; other = this.#unsettled) other.settle()
    }
    loop.endTurn()
    this.#depth--
    if (this.#depth === this.#pausedDepth) this.#settling = undefined
  }

  /** Whether a callback runs in the turn of another thread. */
  get isNested(): boolean {
    return this.#depth > 1
  }

  /** Runs a function at the beginning of a callback, in which promises of other threads settle. */
  asOutermost(run: () => void): void {
    if (this.#depth !== 1) {
      run()
      return
    }
    this.#pausedDepth = 1
    run()
    this.#pausedDepth = 0
  }

  get #unsettled(): EventLoop | undefined {
    return this.loops.find(({ hasTicks, isOver }) => hasTicks && !isOver)
  }

  /** Runs a callback like Node, which continues after an error that a program's handler has handled. */
  guard(callback: () => void): void {
    try {
      callback()
    } catch (error) {
      const { code } = error as { code?: string }
      if (code === undefined || !this.expected.has(code))
        this.fail("nothing is thrown that nobody catches", (error as Error).stack ?? String(error))
    }
  }

  /** Runs a script on a thread, as its main script. */
  runScript(loop: EventLoop, script: () => void): void {
    loop.beginScript()
    this.#runOn(loop, script)
  }

  /** Runs all events until a time, except those of busy threads. */
  runUntil(until: number): void {
    while (this.failure === undefined && this.step(until));
    this.now = Math.max(this.now, until)
  }
}
