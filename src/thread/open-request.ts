import { loadFormatSync } from "../codec/formats.js"
import { embeddedModule } from "../codec/module.js"
import type { EndpointRequest, EndpointSpec } from "./protocol.js"

/**
 * Returns the request that opens an endpoint on a worker. A worker starts with the module of lz4+tcp://
 * only.
 *
 * @throws Error with the code ERR_LZ4_WASM if there is no WebAssembly.
 */
export function openRequest(endpoint: number, spec: EndpointSpec): EndpointRequest {
  const { format } = spec.options.settings
  const module = format === "lz4" ? undefined : embeddedModule(loadFormatSync(format))
  return { type: "open", endpoint, spec, module }
}
