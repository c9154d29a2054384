/** Builds the inspector as a single HTML file, with its style, script and worker, and a content security policy. */
import { createHash } from "node:crypto"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import * as esbuild from "esbuild"
import { bundledWasm } from "./carried-wasm.mjs"
import { checkBuiltIns, withDispose } from "./for-pages.mjs"
import { root } from "./paths.mjs"

const at = (/** @type {string} */ file) => join(root, "src/inspector", file)

/** @returns {Promise<string>} HTML */
export async function inspectorPage() {
  const worker = await bundle("worker.ts")
  const script = await bundle("main.ts", [
    {
      name: "inspector-worker",
      setup(build) {
        build.onResolve({ filter: /^inspector-worker$/ }, ({ path }) => ({
          path,
          namespace: "inspector-worker",
        }))
        build.onLoad({ filter: /^/, namespace: "inspector-worker" }, () => ({
          contents: worker,
          loader: "text",
        }))
      },
    },
  ])
  const style = await bundle("style.css")
  // Only scripts in the page run, and nothing can be fetched or sent.
  const policy = [
    "default-src 'none'",
    `script-src ${hash(script)} 'wasm-unsafe-eval'`,
    `style-src ${hash(style)}`,
    "worker-src blob:",
    "img-src data:",
    "base-uri 'none'",
    "form-action 'none'",
  ].join("; ")
  // Functions, because `$` is special in a replacement string.
  return readFileSync(at("index.html"), "utf8")
    .replace("POLICY", () => policy)
    .replace("STYLE", () => style)
    .replace("SCRIPT", () => script)
}

/**
 * @param {string} entry
 * @param {esbuild.Plugin[]} [plugins]
 */
async function bundle(entry, plugins = []) {
  const { outputFiles } = await esbuild.build({
    absWorkingDir: root,
    entryPoints: [at(entry)],
    outdir: "dist",
    bundle: true,
    minify: true,
    write: false,
    format: "iife",
    // Keeps light-dark(), which needs newer browsers than the script.
    target: entry.endsWith(".css") ? "esnext" : "es2023",
    platform: "browser",
    loader: { ".wasm": "binary", ".pcap": "binary" },
    plugins: [...plugins, bundledWasm],
    ...withDispose,
    logLevel: "warning",
  })
  checkBuiltIns(entry, outputFiles[0].text)
  // Exactly the text between the tags, as the policy has its hash.
  return outputFiles[0].text
}

/** @param {string} text */
const hash = (text) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`
