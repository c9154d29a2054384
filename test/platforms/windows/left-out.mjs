/**
 * The tests of test/sockets that cannot pass in Node for Windows as Wine runs it, by file and name,
 * and why. What is not about lz4+tcp:// fails with zeromq.js over tcp:// as well.
 */

/** @type {Record<string, Record<string, string>>} */
export const leftOut = {}
