// The script of src/thread/worker.ts, which the build puts into the package as text.
declare module "thread-worker" {
  const code: string
  export default code
}
