/** The input is no capture. The message says what it is instead, and which formats are read. */
export class CaptureFormatError extends Error {
  /** "CaptureFormatError", also where the code is minified. */
  override readonly name = "CaptureFormatError"
  /** Stable, unlike the message. */
  readonly code = "ERR_CAPTURE_FORMAT"

  constructor(detail: string) {
    super(`ERR_CAPTURE_FORMAT: ${detail}`)
  }
}
