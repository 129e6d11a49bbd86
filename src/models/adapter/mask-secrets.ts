/** Shorter values are words such as "none" or "ollama": masking them would garble every sentence. */
const shortestSecret = 8

/** Masks secrets in a text. */
export type Mask = (text: string) => string

/**
 * Replaces each secret, also in its URL-encoded and JSON-escaped form, by `[secret]`, and every value after `Bearer` or
 * `Basic`. Longer secrets are replaced first, so that a secret that contains another is masked whole.
 */
export function createMask(secrets: Iterable<string>): Mask {
  const forms = new Set<string>()
  for (const secret of secrets) {
    if (secret.length < shortestSecret) continue
    forms.add(secret)
    forms.add(encodeURIComponent(secret))
    forms.add(JSON.stringify(secret).slice(1, -1))
  }
  const ordered = [...forms].sort((a, b) => b.length - a.length)
  return (text) => {
    let clean = text
    for (const form of ordered) clean = clean.replaceAll(form, "[secret]")
    return clean.replace(/\b(Bearer|Basic) +[\w.~+/=-]{8,}/gi, "$1 [secret]")
  }
}

const secretHeader = /auth|key|token|secret|cookie|credential/i

/** The values of headers that authenticate the caller, with and without their scheme (`Bearer`, `Basic`). */
export function headerSecrets(headers: Record<string, unknown>): string[] {
  const values = Object.entries(headers).flatMap(([name, value]) =>
    secretHeader.test(name) && typeof value === "string" ? [value] : [],
  )
  return values.flatMap((value) => [value, value.replace(/^\w+ +/, "")])
}
