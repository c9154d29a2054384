/**
 * The tests of test/sockets that cannot pass in Node for Windows as Wine runs it, by file and name,
 * and why. What is not about lz4+tcp:// fails with zeromq.js over tcp:// as well.
 */

const shell = "sets a limit of open files with a shell"
const signals = "Windows has no SIGTERM that a process could handle"
const proc = "reads /proc"
const slow = "zeromq.js does not get there within a minute"

/** @type {Record<string, Record<string, string>>} */
export const leftOut = {
  exit: {
    "over 'tcp://' > a process delivers everything when it > 'closes in the handler of a signal'":
      signals,
    "over 'lz4+tcp:// on a thread of its own' > a process delivers everything when it > 'closes in the handler of a signal'":
      signals,
    "over 'lz4+tcp:// on the main thread' > a process delivers everything when it > 'closes in the handler of a signal'":
      signals,
  },
  many: {
    "over 'tcp://' > a thousand peers connect to one socket at once, and each is heard and answered":
      slow,
    "over 'tcp://' > one socket connects a thousand times at once": slow,
    "over 'tcp://' > a process that runs out of descriptors lives on (links on the worker thread)":
      shell,
    "over 'tcp://' > a process that runs out of descriptors lives on (links on the same thread)":
      shell,
    "over 'lz4+tcp://' > a process that runs out of descriptors lives on (links on the worker thread)":
      shell,
    "over 'lz4+tcp://' > a process that runs out of descriptors lives on (links on the same thread)":
      shell,
    "connect() says that no descriptors are left, and works when there are (links on the worker thread)":
      shell,
    "connect() says that no descriptors are left, and works when there are (links on the same thread)":
      shell,
  },
  reconnect: {
    "over 'tcp://' > an attempt that nobody answers ends after connectTimeout, and another follows":
      proc,
    "over 'lz4+tcp://' > an attempt that nobody answers ends after connectTimeout, and another follows":
      proc,
  },
}
