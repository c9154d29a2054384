/** Proxies that ran, which are kept until the process ends. */
const kept = new Set<object>()

/**
 * Keeps a proxy of zeromq.js, so that no other gets its address in memory: that is the name of the socket
 * that controls it, which is free only some time after the proxy has ended.
 */
export function keptProxy<P extends object>(proxy: P): P {
  kept.add(proxy)
  return proxy
}
