/** Finds how long the inspector's page, and its worker, are busy at a time. For measurements and a test. */

/** @typedef {{ longTask: number, longestAnswer: number }} Turns in milliseconds; of tasks, 50 or more */

/**
 * Runs in the page before its scripts: notes long tasks of the page, and asks the worker again and again,
 * whose answer comes after what it is doing.
 */
export function watchTurns() {
  const PAUSE_MS = 5
  const own = /** @type {any} */ (window)
  own.turns = { longTask: 0, longestAnswer: 0 }
  new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries())
      own.turns.longTask = Math.max(own.turns.longTask, duration)
  }).observe({ type: "longtask", buffered: true })
  own.Worker = class extends Worker {
    /** @param {[URL | string]} args */
    constructor(...args) {
      super(...args)
      let asked = performance.now()
      const ask = () => {
        asked = performance.now()
        this.postMessage({ id: -1, call: "rows", args: [0, 0, 0] })
      }
      this.addEventListener("message", ({ data }) => {
        if (data.state) own.state = data.state
        if (data.id !== -1) return
        own.turns.longestAnswer = Math.max(own.turns.longestAnswer, performance.now() - asked)
        setTimeout(ask, PAUSE_MS)
      })
      ask()
    }
  }
}

/**
 * Returns the turns since the last call.
 *
 * @param {import("playwright-core").Page} page
 * @returns {Promise<Turns>}
 */
export function takeTurns(page) {
  return page.evaluate(async () => {
    // The observer is called some time after the task.
    await new Promise((resolve) => setTimeout(resolve, 100))
    const own = /** @type {any} */ (window)
    const { turns } = own
    own.turns = { longTask: 0, longestAnswer: 0 }
    return turns
  })
}

/**
 * Waits until the worker has reported what the last action leads to.
 *
 * @param {import("playwright-core").Page} page
 * @param {{ phase?: string, filter?: string, number?: number }} wanted the view's number is at least this
 */
async function until(page, wanted) {
  await page.waitForFunction(({ phase, filter, number }) => {
    const { state } = /** @type {any} */ (window)
    return (
      state &&
      (phase === undefined || state.phase === phase) &&
      (filter === undefined || (state.view.filter === filter && !state.view.filtering)) &&
      (number === undefined || state.view.number >= number)
    )
  }, wanted)
}

const COLUMNS = "time packet connection from form parts plain wire ratio content".split(" ")

/**
 * Opens a capture in the page, and uses it. Returns what was done, and its turns.
 *
 * @param {import("playwright-core").Page} page with `watchTurns`
 * @param {string} file
 * @param {(name: string, seconds: number, turns: Turns) => void} [report]
 */
export async function useInspector(page, file, report = () => {}) {
  /** @type {Record<string, Turns>} */
  const all = {}
  /** @param {string} name @param {() => Promise<void>} action */
  async function measure(name, action) {
    await takeTurns(page)
    const start = performance.now()
    await action()
    const seconds = (performance.now() - start) / 1000
    all[name] = await takeTurns(page)
    report(name, seconds, all[name])
  }
  /** @param {string} text */
  async function filter(text) {
    await page.locator("#filter").fill(text)
    await until(page, { filter: text })
  }

  await measure("load", async () => {
    await page.locator(".welcome .open-capture").setInputFiles(file)
    await until(page, { phase: "done" })
  })
  await measure("filter", () => filter("kind=message size>100"))
  await measure("search text", () => filter("no such text anywhere"))
  await measure("search with an expression", () => filter("text~orde[rs].*(a+)+z"))
  await measure("show all", () => filter(""))
  for (const column of COLUMNS)
    await measure(`sort by ${column}`, async () => {
      const before = await page.evaluate(() => /** @type {any} */ (window).state.view.number)
      await page.locator(`[data-column=${column}] button`).dispatchEvent("click")
      // One number for the click, and one for the order.
      await until(page, { number: before + 2 })
    })
  await measure("scroll", async () => {
    for (let i = 0; i <= 20; i++)
      await page.locator("#table").evaluate(async (table, share) => {
        table.scrollTop = share * (table.scrollHeight - table.clientHeight)
        await new Promise((resolve) => requestAnimationFrame(resolve))
      }, i / 20)
    await page.waitForFunction(() => !document.querySelector('.row[data-kind="loading"]'))
  })
  await measure("select", async () => {
    await page.locator("#table").focus()
    await page.keyboard.press("Home")
    await page.keyboard.press("Enter")
    for (let i = 0; i < 20; i++) await page.keyboard.press(i % 2 ? "PageDown" : "ArrowDown")
    await page.keyboard.press("End")
    await page.locator("#parts[aria-busy=false]").waitFor()
  })
  return all
}
