/** Decodes a key in Z85, digit by digit, without the code that is tested. */
export function z85(text: string): Buffer {
  const digits =
    "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
  const bytes = Buffer.alloc(32)
  for (let group = 0; group < 8; group++) {
    let value = 0
    for (const digit of text.slice(5 * group, 5 * group + 5))
      value = value * 85 + digits.indexOf(digit)
    bytes.writeUInt32BE(value, 4 * group)
  }
  return bytes
}
