import type { Exchange } from "../capture/exchanges/exchange.js"
import { type ExchangeGroup, Exchanges } from "../capture/exchanges/exchanges.js"
import { printableJson } from "../capture/printable.js"
import { exchangeReport } from "../capture/reports/exchange-report.js"
import { isoTime } from "../capture/times.js"
import type { InspectReport } from "./inspect-reports.js"
import { reportText } from "./report-text.js"

/** The report of --exchanges. */
export function exchangesOf(json: boolean, utc: boolean, isFiltered: boolean): InspectReport {
  const exchanges = new Exchanges()
  return {
    add: (event, matches) => {
      const joined = exchanges.add(event, matches)
      return json ? joined.map((exchange) => printableJson(exchangeFields(exchange))) : []
    },
    lines: () => {
      const summary = exchanges.summary()
      if (json) return summary.groups.map((group) => printableJson(groupFields(group)))
      return exchangeReport(summary, utc, isFiltered).flatMap(reportText)
    },
  }
}

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
