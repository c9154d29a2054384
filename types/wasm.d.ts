// esbuild embeds the module: importing a .wasm file gives its bytes (scripts/build.mjs).
declare module "*.wasm" {
  const bytes: Uint8Array<ArrayBuffer>
  export default bytes
}
