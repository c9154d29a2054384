// What scripts/build.mjs puts into the inspector's page.
declare module "inspector-worker" {
  /** The script of src/inspector/worker.ts. */
  const source: string
  export default source
}
declare module "*.pcap" {
  const bytes: Uint8Array<ArrayBuffer>
  export default bytes
}
