/** An error as it crosses threads, where a class does not survive. */
export interface ErrorInfo {
  message: string
  code?: string | undefined
  errno?: number | undefined
  address?: string | undefined
}

export function errorInfo(error: unknown): ErrorInfo {
  const { message, code, errno, address } = error as NodeJS.ErrnoException & { address?: string }
  return { message, code, errno, address }
}

export function errorFrom({ message, ...fields }: ErrorInfo): Error & ErrorInfo {
  return Object.assign(new Error(message), fields)
}
