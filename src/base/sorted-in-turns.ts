/** Maximum number of texts that are sorted together, and their length from which on there are fewer. */
const RUN_ITEMS = 256
const RUN_LENGTH = 64 * 1024

/** An item, and the text that it is sorted by. */
export interface Sortable {
  readonly text: string
}

/**
 * Sorts items by their texts. Yields undefined while it collects them, so that the caller can pause,
 * and then the items in order: sorted runs are merged as far as they are read.
 */
export function* sortedInTurns<T extends Sortable>(items: Iterable<T>): Generator<T | undefined> {
  const runs: Iterator<T>[] = []
  let run: T[] = []
  let length = 0
  for (const item of items) {
    run.push(item)
    length += item.text.length
    if (run.length === RUN_ITEMS || length >= RUN_LENGTH) {
      runs.push(run.sort(compare).values())
      run = []
      length = 0
    }
    yield undefined
  }
  runs.push(run.sort(compare).values())
  yield* mergeAll(runs)
}

const compare = (a: Sortable, b: Sortable): number => (a.text < b.text ? -1 : 1)

function mergeAll<T extends Sortable>(runs: Iterator<T>[]): Iterable<T> {
  let level = runs
  while (level.length > 1) {
    const merged: Iterator<T>[] = []
    for (let i = 0; i < level.length; i += 2) {
      const [a, b] = level.slice(i, i + 2) as [Iterator<T>, Iterator<T> | undefined]
      merged.push(b ? merge(a, b) : a)
    }
    level = merged
  }
  return level[0] as IterableIterator<T>
}

function* merge<T extends Sortable>(a: Iterator<T>, b: Iterator<T>): Generator<T> {
  let first = a.next()
  let second = b.next()
  while (!first.done || !second.done)
    if (second.done || (!first.done && first.value.text < second.value.text)) {
      yield first.value
      first = a.next()
    } else {
      yield second.value
      second = b.next()
    }
}
