/**
 * Does what processes.mjs asks for: calls commands by name and answers with what they return.
 * @param {Record<string, (...args: any[]) => unknown>} commands
 */
export function serve(commands) {
  process.on(
    "message",
    async (/** @type {{ id: number, name: string, args: unknown[] }} */ { id, name, args }) => {
      try {
        process.send?.({ id, result: await commands[name](...args) })
      } catch (error) {
        process.send?.({ id, error: String(/** @type {Error} */ (error).stack) })
      }
    },
  )
}
