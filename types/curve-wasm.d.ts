// The WebAssembly module of CURVE as base64, which the build puts into the package.
declare module "curve-wasm" {
  const base64: string
  export default base64
}
