// Newer versions of Node add the name "module.exports" to a CommonJS module's exports in ES modules.
// Re-exported by `export *`, it would make require() return zeromq's own classes.
for (const [entry, theirs, name] of [
  ["zeromq-lz4", "zeromq", "Push"],
  ["zeromq-lz4/draft", "zeromq/draft.js", "Server"],
]) {
  const zeromq = require(theirs)
  const ours = require(entry)
  if (!(ours[name].prototype instanceof zeromq[name]))
    throw new Error(`${name} of require(${JSON.stringify(entry)}) is zeromq's own`)
  const missing = Object.keys(zeromq).filter((key) => !(key in ours))
  if (missing.length > 0) throw new Error(`${entry} has no ${missing.join(", ")}`)
}
console.log("ours")
