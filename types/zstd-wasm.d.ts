// The WebAssembly module of zstd+tcp:// as base64, which the build puts into the package.
declare module "zstd-wasm" {
  const base64: string
  export default base64
}
