/** Serves the inspector page and a recording in progress to browsers on this computer. */
import { randomBytes, timingSafeEqual } from "node:crypto"
import type { FileHandle } from "node:fs/promises"
import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from "node:http"
import { Readable } from "node:stream"
import { pipeline } from "node:stream/promises"
import { type HttpServer, serveHttp } from "./http-server.js"
import type { LiveRecording } from "./live-recording.js"

const HOST = "127.0.0.1"
/** Any user of the computer can connect. */
const MAX_CONNECTIONS = 256
const SECRET_BYTES = 16
const CHUNK_BYTES = 1 << 18

/** What grows beside the page. */
export interface ServedFiles {
  recording: LiveRecording
  keys: LiveRecording | undefined
}

const HEADERS: OutgoingHttpHeaders = {
  "cache-control": "no-store",
  "content-security-policy": "frame-ancestors 'none'",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
}

/**
 * Serves `page` at the returned URL, which has a secret that nobody can guess. Beside it are the
 * recording from a place on, at `recording?from=PLACE`, and the key log, at `keys?from=PLACE`. A
 * response has the bytes that there are, and the page asks again for more, so a page that is slow, or
 * does not read, holds nothing up.
 *
 * @param port 0 for one that is free.
 * @throws InputError if it cannot be used.
 */
export async function serveLive(
  page: string,
  files: ServedFiles,
  port: number,
): Promise<HttpServer> {
  const secret = randomBytes(SECRET_BYTES).toString("base64url")
  const address = { host: HOST, port, name: `${HOST}:${port}` }
  const body = Buffer.from(page)
  const server = await serveHttp(address, MAX_CONNECTIONS, (request, response) => {
    answer(request, response, secret, body, files).catch(() => response.destroy())
  })
  return { ...server, url: `${server.url}/${secret}/` }
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  secret: string,
  page: Buffer,
  files: ServedFiles,
): Promise<void> {
  const { method, url = "", headers } = request
  const [path = "", query = ""] = url.split("?")
  const name = fileAt(path, secret)
  const file = name && files[name]
  // DNS rebinding: a page of another site can reach this server by a host name of its own.
  if (!isLoopback(headers.host)) return refuse(response, 421, "this is for a browser on this host")
  if (name === undefined || (name !== "" && !file))
    return refuse(response, 404, "there is nothing at this address")
  if (method !== "GET" && method !== "HEAD")
    return refuse(response, 405, "GET and HEAD are supported", { allow: "GET, HEAD" })
  if (!file) {
    const type = { "content-type": "text/html; charset=utf-8", "content-length": page.length }
    response.writeHead(200, { ...HEADERS, ...type }).end(page)
    return
  }
  const from = /^from=(\d{1,15})$/.exec(query)?.[1]
  if (from === undefined) return refuse(response, 400, `${name} takes from=PLACE`)
  const place = Number(from)
  const { bytes, ended } = await file.state()
  if (place > bytes) return refuse(response, 416, `${name} has ${bytes} bytes`)
  response.writeHead(200, {
    ...HEADERS,
    "content-type": "application/octet-stream",
    "content-length": bytes - place,
    "x-recording": ended ? "ended" : "live",
  })
  if (method === "HEAD") response.end()
  else await pipeline(Readable.from(bytesOf(file.handle, place, bytes)), response)
}

/** Returns what a path asks for: "" for the page. Undefined if it does not begin with the secret. */
function fileAt(path: string, secret: string): "" | keyof ServedFiles | undefined {
  const expected = Buffer.from(`/${secret}/`)
  const given = Buffer.from(path)
  const start = given.subarray(0, expected.length)
  if (start.length < expected.length || !timingSafeEqual(start, expected)) return undefined
  const file = String(given.subarray(expected.length))
  return file === "" || file === "recording" || file === "keys" ? file : undefined
}

/** Returns whether a request names this computer. Its port may be that of a tunnel, as of SSH. */
const isLoopback = (host = ""): boolean => /^(?:127\.0\.0\.1|localhost)(?::\d+)?$/i.test(host)

function refuse(
  response: ServerResponse,
  status: number,
  message: string,
  headers: OutgoingHttpHeaders = {},
): void {
  // A body that was sent to no purpose is not read.
  const own = { "content-type": "text/plain; charset=utf-8", connection: "close" }
  response.writeHead(status, { ...HEADERS, ...headers, ...own }).end(`${message}\n`)
}

async function* bytesOf(handle: FileHandle, from: number, to: number): AsyncGenerator<Buffer> {
  for (let at = from; at < to; ) {
    const buffer = Buffer.allocUnsafe(Math.min(CHUNK_BYTES, to - at))
    const { bytesRead } = await handle.read(buffer, 0, buffer.length, at)
    if (bytesRead === 0) throw new Error("the file has become shorter")
    at += bytesRead
    yield buffer.subarray(0, bytesRead)
  }
}
