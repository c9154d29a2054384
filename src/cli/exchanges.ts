import type { Exchange } from "../capture/exchanges/exchange.js"
import { Exchanges } from "../capture/exchanges/exchanges.js"
import type { ExchangeGroup } from "../capture/exchanges/group.js"
import { printableJson } from "../capture/printable.js"
import { exchangeReport } from "../capture/reports/exchange-report.js"
import { isoTime } from "../capture/times.js"
import { reportCommand } from "./capture-report.js"
import type { Command } from "./command.js"
import { reportText } from "./terminal-text.js"

export const exchanges: Command = reportCommand(
  {
    name: "exchanges",
    summary: "show how long answers took in a capture",
    about: `Joins the questions and answers of a capture, and prints how long answers took: of REQ and REP, and of
DEALER and ROUTER where they can be joined.`,
  },
  ({ json, utc = false, filter }) => {
    const exchanges = new Exchanges()
    const isFiltered = filter?.some((text) => text.trim() !== "") ?? false
    return {
      add: (event, matches) => {
        const joined = exchanges.add(event, matches)
        if (!json || joined.length === 0) return undefined
        return joined.map((exchange) => `${printableJson(exchangeFields(exchange))}\n`).join("")
      },
      end: () => {
        const summary = exchanges.summary()
        if (json) return summary.groups.map((group) => printableJson(groupFields(group)))
        return exchangeReport(summary, utc, isFiltered).flatMap(reportText)
      },
    }
  },
)

function exchangeFields({ connection, from, question, answer, nanoseconds }: Exchange): object {
  return {
    ...{ type: "exchange", connection, from },
    question: messageFields(question),
    answer: messageFields(answer),
    nanoseconds: nanoseconds ?? null,
  }
}

const messageFields = ({ time, packet, plainBytes, wireBytes }: Exchange["question"]): object => ({
  time: isoTime(time) ?? null,
  packet: packet ?? null,
  plainBytes,
  wireBytes,
})

function groupFields({ client, server, address, times, ...counts }: ExchangeGroup): object {
  return {
    type: "exchanges",
    client: client ?? null,
    server: server ?? null,
    address: address ?? null,
    ...counts,
    times: times ?? null,
  }
}
