/**
 * The error for input that is not a capture. The message says what it is instead, and which formats
 * are supported.
 */
export class CaptureFormatError extends Error {
  /** "CaptureFormatError", even if the code is minified. */
  override readonly name = "CaptureFormatError"
  /** The code, which is stable, unlike the message. */
  readonly code = "ERR_CAPTURE_FORMAT"

  constructor(detail: string) {
    super(`ERR_CAPTURE_FORMAT: ${detail}`)
  }
}
