/** Moves a service with two ports, and its two clients, from tcp:// to lz4+tcp://: one at a time. */
import { connectBuyer, connectWatcher } from "./clients.js"
import { startService } from "./service.js"

const { ORDERS_PORT = "5561", PRICES_PORT = "5562" } = process.env
const ordersHost = `127.0.0.1:${ORDERS_PORT}`
const pricesHost = `127.0.0.1:${PRICES_PORT}`

// What an endpoint is before, during and after the move.
const plain = (host) => [`tcp://${host}`]
const both = (host) => [`lz4+tcp://${host}`, { acceptPlain: true }]
const compressed = (host) => [`lz4+tcp://${host}`]

let orders = plain(ordersHost)
let prices = plain(pricesHost)
let service = await startService({ orders, prices, version: "v0" })
let buyer = connectBuyer(...plain(ordersHost))
let watcher = connectWatcher(...plain(pricesHost))
let releases = 0
await show("Everything is plain")

orders = both(ordersHost)
await release()
await show("The port for orders has moved; its client has not")

buyer.close()
buyer = connectBuyer(...both(ordersHost))
await show("The client for orders has moved")

// A client may also move first, as long as it accepts a plain service.
watcher.close()
watcher = connectWatcher(...both(pricesHost))
await show("The client for prices has moved, before its port")

prices = both(pricesHost)
await release()
await show("The port for prices has moved")

orders = compressed(ordersHost)
prices = compressed(pricesHost)
await release()
await show("No peer is plain any more, so the service no longer accepts them")

buyer.close()
watcher.close()
await service.stop()

/** Replaces the service by its next version, with the endpoints that it has now. */
async function release() {
  await service.stop()
  service = await startService({ orders, prices, version: `v${++releases}` })
}

/** Sends messages through both ports, and prints what they travelled as. */
async function show(step) {
  const answer = await buyer.order("Ada")
  const price = await watcher.priceOf(`v${releases}`)
  const schemes = await service.schemes()
  console.log(step)
  console.log(`  orders  ${schemes.orders.padEnd(8)} ${answer}`)
  console.log(`  prices  ${schemes.prices.padEnd(8)} v${releases} sells tea for ${price} €`)
}
