/** The Python that runs the worker: that of the environment, unless PYTHON names another. */
import { fileURLToPath } from "node:url"

const isWindows = process.platform === "win32"
export const environment = fileURLToPath(new URL(".venv", import.meta.url))
export const python =
  process.env.PYTHON ?? `${environment}/${isWindows ? "Scripts/python.exe" : "bin/python"}`
