import { printableJson } from "../capture/printable.js"
import { statisticsReport } from "../capture/reports/statistics-report.js"
import { Statistics, type StatisticsSummary } from "../capture/statistics/statistics.js"
import { isoTime } from "../capture/times.js"
import { reportCommand } from "./capture-report.js"
import type { Command } from "./command.js"
import { reportText } from "./terminal-text.js"

export const statistics: Command = reportCommand(
  {
    name: "statistics",
    summary: "add up what was sent in a capture, and what compression saved",
    about: `Adds up messages and bytes of a capture, and what compression saved, by socket type, topic, size and
second.`,
  },
  ({ json, utc = false }) => {
    const statistics = new Statistics()
    return {
      add: (event, matches) => void statistics.add(event, matches),
      end: () => {
        const summary = statistics.summary()
        if (json) return statisticsFields(summary).map(printableJson)
        return statisticsReport(summary, utc).flatMap(reportText)
      },
    }
  },
)

/** Returns an object for each row of the tables, of which none is left out. */
function statisticsFields(summary: StatisticsSummary): object[] {
  const { total, types, topics, otherTopics, sizes, periods, periodSeconds, ...others } = summary
  const line = (by: string, fields: object) => ({ type: "statistics", by, ...fields })
  return [
    ...types.map(({ name, ...traffic }) => line("type", { name, ...traffic })),
    ...topics.map(({ name, ...traffic }) => line("topic", { name, ...traffic })),
    ...(otherTopics ? [line("topic", { name: null, ...otherTopics })] : []),
    ...sizes.map(({ end, ...size }) => line("size", { ...size, end: end ?? null })),
    ...periods.map(({ start, ...traffic }) =>
      line("time", {
        start: isoTime(BigInt(start) * 1_000_000_000n) ?? null,
        seconds: periodSeconds,
        ...traffic,
      }),
    ),
    line("all", { ...total, ...others }),
  ]
}
