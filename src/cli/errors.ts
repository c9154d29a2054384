import { tmpdir } from "node:os"
import { getSystemErrorMap } from "node:util"

/** An error in the arguments; exit code 2. */
export class UsageError extends Error {}

/** A file that cannot be read or written, or has the wrong content; exit code 1. */
export class InputError extends Error {}

/** A file that is damaged from some byte on. The bytes before it can be used. */
export class DamagedInput extends InputError {}

/** Describes an error of the file system; `missing` says what was not found. */
export function fileError(file: string, error: unknown, missing = "no such file"): InputError {
  const { code, message } = error as NodeJS.ErrnoException
  const words: Record<string, string> = {
    ENOENT: missing,
    EACCES: "permission denied",
    EISDIR: "is a directory, not a file",
    ENOTDIR: "part of the path is not a directory",
    ENOSPC: "no space left",
  }
  return new InputError(`${file}: ${words[code ?? ""] ?? message}`)
}

/** Describes an error with a temporary file. */
export const temporaryFileError = (error: unknown): InputError =>
  fileError((error as NodeJS.ErrnoException).path ?? tmpdir(), error)

/** Calls `read`. `errorOf` converts its error: by default, to an InputError with the same text. */
export function orInputError<T>(
  read: () => T,
  errorOf = (error: unknown): Error => new InputError((error as Error).message),
): T {
  try {
    return read()
  } catch (error) {
    throw errorOf(error)
  }
}

/** Names the file in a CaptureFormatError. Returns other errors unchanged. */
export function captureError(file: string, error: unknown): unknown {
  const { code, message } = error as NodeJS.ErrnoException
  if (code !== "ERR_CAPTURE_FORMAT") return error
  return new InputError(`${file}: ${message.replace(`${code}: `, "")}`)
}

/** Formats an error. Errors of the system often have a code only. */
export function errorText(error: unknown): string {
  const { code, message, syscall } = error as NodeJS.ErrnoException
  if (code === "ENODEV") return "there is no interface, address or host of that name"
  if (message && !syscall) return message
  for (const [name, meaning] of getSystemErrorMap().values()) if (name === code) return meaning
  return message
}
