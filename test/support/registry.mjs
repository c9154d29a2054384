/** A registry of npm with one package more: `node registry.mjs TARBALL`. Prints its address. */
import { execFileSync } from "node:child_process"
import { createHash } from "node:crypto"
import { readFileSync } from "node:fs"
import { createServer } from "node:http"

const [tarball = ""] = process.argv.slice(2)
const bytes = readFileSync(tarball)
const manifest = JSON.parse(
  execFileSync("tar", ["-xzOf", tarball, "package/package.json"], { encoding: "utf8" }),
)
const integrity = `sha512-${createHash("sha512").update(bytes).digest("base64")}`

const server = createServer(({ url, headers }, response) => {
  if (url === "/tarball") response.end(bytes)
  else if (url === `/${manifest.name}`) {
    const dist = { tarball: `http://${headers.host}/tarball`, integrity }
    const { version } = manifest
    const versions = { [version]: { ...manifest, dist } }
    response.setHeader("content-type", "application/json")
    response.end(
      JSON.stringify({ name: manifest.name, "dist-tags": { latest: version }, versions }),
    )
  } else response.writeHead(302, { location: `https://registry.npmjs.org${url}` }).end()
})
server.listen(0, "127.0.0.1", () => {
  const { port } = /** @type {import("node:net").AddressInfo} */ (server.address())
  console.log(`http://127.0.0.1:${port}`)
})
