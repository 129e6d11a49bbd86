import { placesOf, type Span } from "./mark.ts"

const secretName =
  /key|token|secret|passw|passphrase|pwd|credential|auth(?!or(?!iz))|cookie|session_?id|dsn|database_?url|connection_?string|webhook|private|signature|license/i
const noSecretName =
  /keyboard|keymap|keytimeout|keychain$|monkey|tokenizer|_sock$|^(?:old)?pwd$|^private_?network/i
/** Shorter values are too common to look for. */
const unitsMin = 8

/** The values of variables whose name says that they are secret. */
export function environmentSecrets(env: Record<string, string | undefined>): string[] {
  return Object.entries(env).flatMap(([name, value]) =>
    value !== undefined &&
    value.trim().length >= unitsMin &&
    secretName.test(name) &&
    !noSecretName.test(name)
      ? [value.trim()]
      : [],
  )
}

/** What to look for: each value as it is, and as it looks inside JSON, a URL, or base64. */
export function appearances(values: Iterable<string>): string[] {
  const forms = new Set<string>()
  for (const value of values) {
    if (value.length < unitsMin && !/\d/.test(value)) continue
    for (const form of formsOf(value)) forms.add(form)
  }
  return [...forms]
}

function formsOf(value: string): string[] {
  const inUrl = value.isWellFormed()
    ? [encodeURIComponent(value), encodeURIComponent(value).replaceAll("%20", "+")]
    : []
  const lines = value.includes("\n") ? value.split(/\r?\n/).filter((line) => line.length >= 16) : []
  const escaped = JSON.stringify(value).slice(1, -1)
  return [value, escaped, ...inUrl, ...lines, ...base64Forms(value)]
}

/** In base64 a value looks different with what stands before it: three ways. What depends on its neighbours is left out. */
function base64Forms(value: string): string[] {
  const bytes = Buffer.from(value)
  const forms = [0, 1, 2].flatMap((shift) => {
    const encoded = Buffer.concat([Buffer.alloc(shift), bytes])
      .toString("base64")
      .replace(/=+$/, "")
    const whole = Math.floor(((shift + bytes.length) * 8) / 6)
    const form = encoded.slice(shift === 0 ? 0 : shift + 1, whole)
    return [form, form.replaceAll("+", "-").replaceAll("/", "_")]
  })
  return forms.filter((form) => form.length >= unitsMin)
}

export function valueSpans(text: string, forms: readonly string[]): Span[] {
  return forms.flatMap((form) => placesOf(form, text))
}
