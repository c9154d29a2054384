/**
 * The error for input that is not a capture. The message says what it is instead, and which formats
 * are supported.
 */
export class CaptureFormatError extends Error {
  /** "CaptureFormatError", even if the code is minified. */
  override readonly name = "CaptureFormatError"
  /** The code, which is stable, unlike the message. */
  readonly code = "ERR_CAPTURE_FORMAT"

  /** Which of several files it is, from 0. */
  readonly file: number

  /** Makes an error whose message is the code and `detail`. */
  constructor(detail: string, file = 0) {
    super(`ERR_CAPTURE_FORMAT: ${detail}`)
    this.file = file
  }
}
