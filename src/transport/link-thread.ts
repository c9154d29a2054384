/** The entry of the thread that links live on: does what WorkerThread asks for. */
import { workerData } from "node:worker_threads"
import { countIn } from "./admission.js"
import { readCall } from "./call-text.js"
import { errorInfo } from "./error-info.js"
import { Hub } from "./hub.js"
import type { Answer, Call, Notice, ThreadData } from "./thread.js"

const { calls, answers, signal, pending } = workerData as ThreadData
countIn(pending)

const notify = (notice: Notice) => calls.postMessage(notice)
const hub = new Hub((event) => notify({ event }))

calls.on("message", async (text: string) => {
  const call = readCall(text)
  const answer = await perform(call)
  if (call.answer === "message") notify({ answer })
  if (call.answer === "signal") {
    answers.postMessage(answer)
    Atomics.add(signal, 0, 1)
    Atomics.notify(signal, 0)
  }
})

async function perform({ id, name, args }: Call): Promise<Answer> {
  try {
    const method = hub[name] as (...args: unknown[]) => unknown
    return { id, result: await method.apply(hub, args) }
  } catch (error) {
    return { id, error: errorInfo(error) }
  }
}
