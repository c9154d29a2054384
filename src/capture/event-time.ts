import type { CaptureEvent, Time } from "./events.js"

export function timeOf(event: CaptureEvent): Time {
  switch (event.type) {
    case "message":
      return event.message.time
    case "command":
      return event.command.time
    case "error":
      return event.error.time
    default:
      return event.time
  }
}
