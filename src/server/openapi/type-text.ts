import type { JsonSchema } from "./schema-book.ts"

/** A piece of a type: text, or the name of another schema. */
export type TypePiece = { text: string } | { name: string }

const prefix = "#/components/schemas/"

/** A schema as a readable type: `SessionID[] | null`. */
export function typePieces(schema: JsonSchema): TypePiece[] {
  const { $ref, const: only, enum: some, type } = schema
  if (typeof $ref === "string") return [{ name: $ref.slice(prefix.length) }]
  if (only !== undefined) return [{ text: JSON.stringify(only) }]
  if (Array.isArray(some)) return [{ text: some.map((one) => JSON.stringify(one)).join(" | ") }]
  const choice = (schema.anyOf ?? schema.oneOf) as JsonSchema[] | undefined
  if (choice) return joined(choice, " | ")
  // Next to a type, the members of `allOf` only limit the type, for example by patterns.
  if (schema.allOf && type === undefined) return joined(schema.allOf as JsonSchema[], " & ")
  if (type === "array") return arrayPieces(schema)
  if (type === "object") return objectPieces(schema)
  if (type === undefined) return [{ text: "anything" }]
  return [{ text: [type].flat().join(" | ") }]
}

function joined(schemas: readonly JsonSchema[], between: string): TypePiece[] {
  return schemas.flatMap((one, at) => (at === 0 ? typePieces(one) : [{ text: between }, ...typePieces(one)]))
}

function arrayPieces({ items, prefixItems }: JsonSchema): TypePiece[] {
  if (Array.isArray(prefixItems))
    return [{ text: "[" }, ...joined(prefixItems as JsonSchema[], ", "), { text: "]" }]
  const inner = typePieces((items ?? {}) as JsonSchema)
  return inner.length === 1 ? [...inner, { text: "[]" }] : [{ text: "(" }, ...inner, { text: ")[]" }]
}

function objectPieces({ properties, required, additionalProperties }: JsonSchema): TypePiece[] {
  if (!properties) {
    const values = typeof additionalProperties === "object" ? (additionalProperties as JsonSchema) : {}
    return [{ text: "{ [name]: " }, ...typePieces(values), { text: " }" }]
  }
  const pieces: TypePiece[] = [{ text: "{ " }]
  for (const [name, one] of Object.entries(properties as Record<string, JsonSchema>)) {
    if (pieces.length > 1) pieces.push({ text: ", " })
    const mark = (required as string[] | undefined)?.includes(name) ? "" : "?"
    pieces.push({ text: `${name}${mark}: ` }, ...typePieces(one))
  }
  return [...pieces, { text: " }" }]
}

/** The limits of a value, in words. */
export function limitText(schema: JsonSchema): string {
  const limits: [key: string, word: string][] = [
    ["minLength", "minimum number of characters:"],
    ["maxLength", "maximum number of characters:"],
    ["minItems", "minimum number of items:"],
    ["maxItems", "maximum number of items:"],
    ["minimum", "from"],
    ["exclusiveMinimum", "above"],
    ["maximum", "to"],
    ["pattern", "matches"],
    ["default", "default:"],
  ]
  return limits
    .filter(([key]) => schema[key] !== undefined && schema[key] !== Number.MAX_SAFE_INTEGER)
    .map(
      ([key, word]) =>
        `${word} ${typeof schema[key] === "string" ? schema[key] : JSON.stringify(schema[key])}`,
    )
    .join(", ")
}
