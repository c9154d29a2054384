/** Serves the page, and the package's files for browsers. */
import { readFile } from "node:fs/promises"
import { extname } from "node:path"

const page = new URL("page/", import.meta.url)
/** The package's dist/: what a page imports loads other files there. */
const dist = new URL("..", import.meta.resolve("zeromq-lz4/codec"))

const types = {
  ".html": "text/html; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
}
/** WebAssembly needs 'wasm-unsafe-eval'. */
const policy = "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'"

export async function serveFile(request, response) {
  try {
    const file = fileOf(request.url)
    const body = await readFile(file)
    response.writeHead(200, {
      "Content-Type": types[extname(file.pathname)] ?? "application/octet-stream",
      "Content-Security-Policy": policy,
    })
    response.end(body)
  } catch {
    response.writeHead(404, { "Content-Type": "text/plain" }).end("Not found\n")
  }
}

function fileOf(url) {
  const { pathname } = new URL(url, "http://localhost")
  if (pathname === "/") return new URL("index.html", page)
  const isOfPackage = pathname.startsWith("/zeromq-lz4/")
  const [root, name] = isOfPackage ? [dist, pathname.slice(12)] : [page, pathname.slice(1)]
  const file = new URL(`./${name}`, root)
  if (!file.href.startsWith(root.href)) throw new Error(`${url} is outside`)
  return file
}
