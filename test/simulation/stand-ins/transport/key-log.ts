/** No keys are logged. */
export const keyLogFile = (): undefined => undefined
export function logKey(): void {}
