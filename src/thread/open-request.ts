import { loadFormatSync } from "../codec/formats.js"
import { embeddedModule } from "../codec/module.js"
import type { EndpointRequest, EndpointSpec } from "./protocol.js"

/**
 * Returns the request that opens an endpoint on a worker. A worker starts with the module of lz4+tcp://,
 * and is given that of zstd+tcp:// if a peer may need it.
 *
 * @throws Error with the code ERR_LZ4_WASM if there is no WebAssembly.
 */
export function openRequest(endpoint: number, spec: EndpointSpec): EndpointRequest {
  const { format, other } = spec.options.settings
  const zstd = [format, other?.format].includes("zstd") ? loadFormatSync("zstd") : undefined
  return { type: "open", endpoint, spec, zstd: zstd && embeddedModule(zstd) }
}
