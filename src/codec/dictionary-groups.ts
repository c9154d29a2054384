import { DeferredTrainer } from "./deferred-trainer.js"
import type { Instance } from "./instance.js"
import type { Training } from "./options.js"
import { trainingQueue } from "./training-queue.js"

/**
 * Maximum number of trained dictionaries with which a message is encoded. Connections that use any
 * other are sent it without a dictionary.
 */
export const TRAINED_MAX = 4
/** A new group consists of at least this share of the connections that are sent a message. */
const GROUP_MIN_SHARE = 1 / 4

/** What encodes with a trained dictionary. */
interface Encoder {
  close(): void
}

/** A connection whose messages dictionaries are trained on. */
export interface Recipient<Sender extends Encoder> {
  /** The group whose dictionary the connection uses, or will; undefined if it is in none. */
  group: DictionaryGroup<Sender> | undefined
}

/**
 * Connections that share a dictionary, which is trained on messages that were sent to each of them.
 * A message that was not sent to all of them is no sample.
 */
export class DictionaryGroup<Sender extends Encoder> {
  readonly #trainer: DeferredTrainer
  readonly #training: Training
  readonly #open: (dictionary: Uint8Array) => Sender
  readonly #members: Set<Recipient<Sender>>
  #sender: Sender | undefined
  /** The latest write, and how many members have made it. */
  #write: unknown
  #made = 0
  /** Number of writes since the latest sample. */
  #missed = 0
  #isOver = false

  constructor(
    instance: Instance,
    training: Training,
    open: (dictionary: Uint8Array) => Sender,
    members: Iterable<Recipient<Sender>> = [],
  ) {
    this.#trainer = new DeferredTrainer(instance, training)
    this.#training = training
    this.#open = open
    this.#members = new Set(members)
    for (const member of this.#members) member.group = this
  }

  /** Encodes with the dictionary; undefined while there is none. */
  get sender(): Sender | undefined {
    return this.#sender
  }

  /** Removes a connection that has ended. The group ends with its last member. */
  remove(member: Recipient<Sender>): void {
    member.group = undefined
    this.#members.delete(member)
    // It is not known whether those that are left have made the current write.
    this.#made = Number.NEGATIVE_INFINITY
  }

  get isEmpty(): boolean {
    return this.#members.size === 0
  }

  /**
   * Counts a member that makes a write. Samples the write's messages with the last member.
   *
   * @param write the same for all connections that make this write, and for no other write.
   * @returns false if the members are rarely sent the same and the group should be given up.
   */
  wrote(write: unknown, frames: Uint8Array, message?: readonly Uint8Array[]): boolean {
    if (this.#isOver) return true
    if (write !== this.#write) {
      this.#write = write
      this.#made = 0
      if (++this.#missed > this.#training.trigger) return false
    }
    if (++this.#made === this.#members.size) this.sample(frames, message)
    return true
  }

  /** Samples messages that all members were sent. */
  sample(frames: Uint8Array, message?: readonly Uint8Array[]): void {
    this.#missed = 0
    if (this.#isOver) return
    this.#isOver =
      this.#trainer.sampleFrames(frames) || (message !== undefined && this.#trainer.sample(message))
    if (!this.#isOver) return
    trainingQueue.add(this.#trainer, (dictionary) => {
      if (dictionary) this.#sender = this.#open(dictionary)
    })
  }

  /** Ends the group. Its members are in none then. */
  close(): void {
    for (const member of this.#members) member.group = undefined
    this.#members.clear()
    trainingQueue.remove(this.#trainer)
    this.#trainer.close()
    this.#sender?.close()
    this.#sender = undefined
  }
}

/**
 * The dictionaries that an endpoint trains for its connections (RFC.md sections 6.4 and 8.3). Each
 * consists of bytes that its own connections were sent, unless `training.isShared` allows one for
 * all.
 */
export class DictionaryGroups<Sender extends Encoder> {
  readonly #instance: Instance
  readonly #training: Training
  readonly #open: (dictionary: Uint8Array) => Sender
  readonly #groups = new Set<DictionaryGroup<Sender>>()
  readonly #shared: DictionaryGroup<Sender> | undefined
  /** The latest write of several connections, and those that have made it so far. */
  #write: unknown
  #recipients: Recipient<Sender>[] = []

  /** @param open returns a sender that uses a dictionary. */
  constructor(instance: Instance, training: Training, open: (dictionary: Uint8Array) => Sender) {
    this.#instance = instance
    this.#training = training
    this.#open = open
    if (training.isShared) this.#shared = this.#begin()
  }

  /** Encodes with the dictionary for all connections; undefined while there is none. */
  get sharedSender(): Sender | undefined {
    return this.#shared?.sender
  }

  /** Removes a connection that has ended. */
  remove(recipient: Recipient<Sender>): void {
    const { group } = recipient
    const at = this.#recipients.indexOf(recipient)
    if (at >= 0) this.#recipients.splice(at, 1)
    group?.remove(recipient)
    if (group?.isEmpty) this.#end(group)
  }

  /** Records a write whose recipients are known. */
  wrote(
    recipients: readonly Recipient<Sender>[],
    frames: Uint8Array,
    message?: readonly Uint8Array[],
  ): void {
    if (this.#shared) {
      this.#shared.sample(frames, message)
      return
    }
    this.#groupLatest()
    this.#group(recipients)
    const write = {}
    for (const recipient of recipients) this.#count(recipient, write, frames, message)
  }

  /**
   * Records that a connection makes a write that others may make later.
   *
   * @param write the number of the write.
   */
  joined(write: number, recipient: Recipient<Sender>, frames: Uint8Array): void {
    const isNew = write !== this.#write
    if (this.#shared) {
      if (isNew) this.#shared.sample(frames)
      this.#write = write
      return
    }
    if (isNew) {
      this.#groupLatest()
      this.#write = write
    }
    this.#recipients.push(recipient)
    this.#count(recipient, write, frames)
  }

  #count(
    recipient: Recipient<Sender>,
    write: unknown,
    frames: Uint8Array,
    message?: readonly Uint8Array[],
  ): void {
    const { group } = recipient
    if (group && !group.wrote(write, frames, message)) this.#end(group)
  }

  /** Makes a group of the recipients of the latest write of several connections. */
  #groupLatest(): void {
    if (this.#recipients.length === 0) return
    this.#group(this.#recipients)
    this.#recipients = []
  }

  /**
   * Makes a group of the recipients of a write that are in none, unless they are too few. A message is
   * encoded once for each group, so late connections wait until there are more of them.
   */
  #group(recipients: readonly Recipient<Sender>[]): void {
    let count = 0
    for (const { group } of recipients) if (!group) count++
    if (count === 0 || count < GROUP_MIN_SHARE * recipients.length) return
    this.#begin(recipients.filter(({ group }) => !group))
  }

  #begin(members?: Iterable<Recipient<Sender>>): DictionaryGroup<Sender> {
    const group = new DictionaryGroup(this.#instance, this.#training, this.#open, members)
    this.#groups.add(group)
    return group
  }

  #end(group: DictionaryGroup<Sender>): void {
    this.#groups.delete(group)
    group.close()
  }

  close(): void {
    for (const group of this.#groups) this.#end(group)
  }
}
