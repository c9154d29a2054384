/** What was given is no capture. The message says what it is instead, and what is read. */
export class CaptureFormatError extends Error {
  override readonly name = "CaptureFormatError"
  readonly code = "ERR_CAPTURE_FORMAT"

  constructor(detail: string) {
    super(`ERR_CAPTURE_FORMAT: ${detail}`)
  }
}
