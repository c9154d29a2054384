/** What is wrong with the inspector page for people who use a screen reader, a large font or a phone. */
import { readFileSync } from "node:fs"
import { createRequire } from "node:module"
import type { AxeResults } from "axe-core"
import type { Inspector } from "./inspector-page.js"

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8")

const WIDTHS = [320, 600, 900, 901, 1600]
/** The widths at which axe-core looks at the page, which takes up to a second. */
const LOOKED_AT = [320, 1600]
/** Without a description of all elements that have nothing wrong, which takes more time than to look for them. */
const LOOK = `axe.run(document, { resultTypes: ["violations"] }).then(({ violations }) => violations)`

/** Returns what axe-core finds wrong, and whether the page is wider than the window. */
export async function accessibilityMistakes({ page }: Inspector, state: string): Promise<string[]> {
  const found: string[] = []
  if (!(await page.evaluate("'axe' in window"))) await page.evaluate(axe)
  for (const width of WIDTHS) {
    await page.setViewportSize({ width, height: 720 })
    const wide = await page.evaluate(() => document.documentElement.scrollWidth)
    if (wide > width) found.push(`${state}, ${width} px: it is ${wide} px wide`)
    if (!LOOKED_AT.includes(width)) continue
    const violations = (await page.evaluate(LOOK)) as AxeResults["violations"]
    for (const { id, nodes } of violations)
      found.push(
        `${state}, ${width} px: ${id}: ${nodes.map(({ html, failureSummary }) => html.slice(0, 200) + failureSummary).join(" | ")}`,
      )
  }
  return found
}
