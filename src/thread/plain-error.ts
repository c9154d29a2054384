import { ProtocolError, type ProtocolErrorCode } from "../codec/errors.js"

/** An error that can be posted to another thread, which has its own classes. */
export interface PlainError {
  message: string
  /** The code of a ProtocolError; `properties` has the codes of other errors. */
  rule: ProtocolErrorCode | undefined
  properties: Record<string, unknown>
}

export function toPlain(error: Error): PlainError {
  if (error instanceof ProtocolError)
    return {
      message: error.message.slice(error.code.length + 2),
      rule: error.code,
      properties: {},
    }
  const properties: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(error))
    if (typeof value === "string" || typeof value === "number") properties[name] = value
  return { message: error.message, rule: undefined, properties }
}

export function fromPlain({ message, rule, properties }: PlainError): Error {
  if (rule !== undefined) return new ProtocolError(rule, message)
  return Object.assign(new Error(message), properties)
}
