/**
 * The imports of the tests of sockets from "vitest", built from vitest's own runner and assertions.
 * Vitest as a whole does not start in Wine 8: the bundler that it loads needs a library that Wine
 * does not have, bcryptprimitives.dll.
 */
import { mock } from "node:test"
import {
  ASYMMETRIC_MATCHERS_OBJECT,
  chai,
  customMatchers,
  type ExpectStatic,
  GLOBAL_EXPECT,
  getState,
  JestAsymmetricMatchers,
  JestChaiExpect,
  JestExtend,
  setState,
} from "@vitest/expect"
import { getCurrentTest, type Test } from "@vitest/runner"

export {
  afterAll,
  afterEach,
  beforeAll,
  beforeEach,
  describe,
  onTestFinished,
  test,
} from "@vitest/runner"
export { expectTypeOf } from "expect-type"

/** Node's fake timers, because vitest's are not in a package of their own. */
export const vi = {
  useFakeTimers: (): void => mock.timers.enable(),
  useRealTimers: (): void => mock.timers.reset(),
}

// Assertions that the plugins add to chai; vitest declares them internally.
interface Attachable {
  withTest(test: Test): Attachable
}
interface Extensible {
  extend(expect: ExpectStatic, matchers: object): void
}

for (const plugin of [JestExtend, JestChaiExpect, JestAsymmetricMatchers]) chai.use(plugin)

export const expect = ((value: unknown, message?: string) => {
  setState({ assertionCalls: getState(expect).assertionCalls + 1 }, expect)
  const assertion = chai.expect(value, message)
  const test = getCurrentTest()
  return test ? (assertion as unknown as Attachable).withTest(test) : assertion
}) as ExpectStatic
const globals = globalThis as unknown as Record<symbol, unknown>
Object.assign(expect, chai.expect, globals[ASYMMETRIC_MATCHERS_OBJECT])
expect.assertions = (expected) => setState({ expectedAssertionsNumber: expected }, expect)
globals[GLOBAL_EXPECT] = expect
startCounting()
;(chai.expect as unknown as Extensible).extend(expect, customMatchers)

/** Before each test. */
export function startCounting(): void {
  setState({ assertionCalls: 0, expectedAssertionsNumber: null }, expect)
}

/** After each test. */
export function checkCount(): void {
  const { assertionCalls, expectedAssertionsNumber: expected } = getState(expect)
  if (expected != null && assertionCalls !== expected)
    throw new Error(`expected ${expected} assertions, but there were ${assertionCalls}`)
}
