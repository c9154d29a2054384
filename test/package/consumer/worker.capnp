using Workerd = import "/workerd/workerd.capnp";

const config :Workerd.Config = (
  services = [(name = "main", worker = .worker)],
);

const worker :Workerd.Worker = (
  modules = [
    (name = "worker.js", esModule = embed "worker.js"),
    (name = "zeromq-lz4.wasm", wasm = embed "zeromq-lz4.wasm"),
  ],
  compatibilityDate = "2025-01-01",
);
