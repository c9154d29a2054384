/** Wrong arguments; exit code 2. */
export class UsageError extends Error {}

/** A file cannot be read or written, or holds something else; exit code 1. */
export class InputError extends Error {}

/** A file is damaged from some byte on; what comes before it can be used. */
export class DamagedInput extends InputError {}

/** An error of the file system in words. */
export function fileError(file: string, error: unknown): InputError {
  const { code, message } = error as NodeJS.ErrnoException
  const words: Record<string, string> = {
    ENOENT: "no such file",
    EACCES: "permission denied",
    EISDIR: "is a directory, not a file",
    ENOTDIR: "is below something that is no directory",
    ENOSPC: "no space left",
  }
  return new InputError(`${file}: ${words[code ?? ""] ?? message}`)
}

/** Says which file is no capture; other errors are left as they are. */
export function captureError(file: string, error: unknown): unknown {
  const { code, message } = error as NodeJS.ErrnoException
  if (code !== "ERR_CAPTURE_FORMAT") return error
  return new InputError(`${file}: ${message.replace(`${code}: `, "")}`)
}
