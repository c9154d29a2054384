/**
 * The loopback address of this process. A socket of another test that still connects to a port which
 * was assigned anew must not get here. (macOS has only one address without being told.)
 */
export const ownHost =
  process.platform === "darwin"
    ? "127.0.0.1"
    : `127.${[1 + ((process.pid >> 16) & 127), (process.pid >> 8) & 255, process.pid & 255].join(".")}`
