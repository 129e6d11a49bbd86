/** Random-looking letters and digits, generated here so that no secret scanner takes them for real secrets. */
export function noise(length: number, alphabet = "aB3dE5fGh7JkL9mNpQ2rStU4vWxYz6"): string {
  let text = ""
  for (let state = 17; text.length < length; ) {
    state = (state * 48_271) % 2_147_483_647
    text += alphabet[state % alphabet.length]
  }
  return text
}

export const hex = (length: number) => noise(length, "0a1b2c3d4e5f6789")
export const upper = (length: number) => noise(length, "A2B3C4D5E6F7GHIJKLMNOPQRSTUVWXYZ")
export const dashes = "-".repeat(5)
export const pem = (kind: string, lines = 3) =>
  [
    `-----BEGIN ${kind}-----`,
    ...Array.from({ length: lines }, () => noise(64)),
    `-----END ${kind}-----`,
  ].join("\n")
