import { type Curve, curveOf } from "../curve/curve.js"

/** Loads the module of CURVE, which only commands with keys need. */
export async function loadCurve(): Promise<{ module: WebAssembly.Module; curve: Curve }> {
  const { curveModule } = await import("../curve/module.js")
  const module = curveModule()
  return { module, curve: curveOf(module) }
}
