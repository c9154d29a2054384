/** WebKitGTK's browser, which is driven over WebDriver and needs an X server. */
import { type ChildProcess, spawn } from "node:child_process"
import type { Readable } from "node:stream"
import { Builder, By, Capabilities, Key } from "selenium-webdriver"
import { eventually, freePort } from "../support/sockets.js"
import { type Engine, WAIT_MS } from "./engines.js"

export async function launchWebKit(): Promise<Engine> {
  const server = start("Xvfb", ["-displayfd", "3", "-screen", "0", "1600x1000x24"], "xvfb")
  const display = `:${await firstLine(server)}`
  const port = await freePort()
  const service = start("WebKitWebDriver", [`--port=${port}`], "webkit2gtk-driver", {
    DISPLAY: display,
    GDK_BACKEND: "x11",
  })
  await eventually(() => fetch(`http://127.0.0.1:${port}/status`))
  const driver = await new Builder()
    .usingServer(`http://127.0.0.1:${port}`)
    .withCapabilities(new Capabilities({ browserName: "MiniBrowser" }))
    .build()
  await driver.manage().setTimeouts({ pageLoad: WAIT_MS, script: WAIT_MS })
  return {
    async open(url, size = { width: 1366, height: 768 }) {
      await driver.manage().window().setRect(size)
      await driver.get(url)
      return {
        evaluate: (expression) => driver.executeScript(`return (${expression})`),
        click: (selector) => driver.findElement(By.css(selector)).click(),
        choose: (selector, ...files) =>
          driver.findElement(By.css(selector)).sendKeys(files.join("\n")),
        paste: (selector) =>
          driver.findElement(By.css(selector)).sendKeys(Key.chord(Key.CONTROL, "v")),
        close: () => driver.get("about:blank"),
      }
    },
    async close() {
      await driver.quit()
      service.kill()
      server.kill()
    },
  }
}

/** Starts a program; its file descriptor 3 is a pipe. */
function start(
  program: string,
  args: readonly string[],
  aptPackage: string,
  environment: NodeJS.ProcessEnv = {},
): ChildProcess {
  const child = spawn(program, args, {
    env: { ...process.env, ...environment },
    stdio: ["ignore", "ignore", "ignore", "pipe"],
  })
  child.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "ENOENT") throw error
    throw new Error(`${program} is not on PATH: apt-get install ${aptPackage}`)
  })
  return child
}

async function firstLine({ stdio }: ChildProcess): Promise<string> {
  let text = ""
  for await (const chunk of stdio[3] as Readable) {
    text += chunk
    if (text.includes("\n")) break
  }
  return text.trim()
}
