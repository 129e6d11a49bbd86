export type Schema = { [key: string]: unknown }

/**
 * The first mismatch of a value and a schema, for the keywords that our document uses; undefined if the value matches.
 */
export function mismatch(value: unknown, schema: Schema, root: Schema, at = "body"): string | undefined {
  const { $ref } = schema
  if (typeof $ref === "string") return mismatch(value, resolveSchema($ref, root), root, at)
  return (
    literalMismatch(value, schema, at) ??
    branchMismatch(value, schema, { root, at }) ??
    typeMismatch(value, schema, at) ??
    boundMismatch(value, schema, at) ??
    arrayMismatch(value, schema, { root, at }) ??
    objectMismatch(value, schema, { root, at })
  )
}

export function resolveSchema($ref: string, root: Schema): Schema {
  const found = $ref
    .slice(2)
    .split("/")
    .reduce<unknown>((one, step) => (one as Schema | undefined)?.[step], root)
  if (found === undefined) throw new Error(`${$ref} is not there`)
  return found as Schema
}

interface Place {
  root: Schema
  at: string
}

function literalMismatch(value: unknown, schema: Schema, at: string): string | undefined {
  if ("const" in schema && value !== schema.const) return `${at} is not ${JSON.stringify(schema.const)}`
  if (Array.isArray(schema.enum) && !schema.enum.includes(value))
    return `${at} is none of ${schema.enum.join(", ")}`
  return undefined
}

function branchMismatch(value: unknown, schema: Schema, { root, at }: Place): string | undefined {
  for (const one of (schema.allOf ?? []) as Schema[]) {
    const wrong = mismatch(value, one, root, at)
    if (wrong) return wrong
  }
  const some = (schema.anyOf ?? schema.oneOf) as Schema[] | undefined
  if (!some) return undefined
  const wrongs = some.map((one) => mismatch(value, one, root, at))
  if (wrongs.includes(undefined)) return undefined
  return `${at} is none of ${some.length} kinds: ${wrongs.join("; ").slice(0, 400)}`
}

function typeMismatch(value: unknown, { type }: Schema, at: string): string | undefined {
  if (type === undefined) return undefined
  return [type].flat().some((one) => isOfType(value, String(one)))
    ? undefined
    : `${at} is not of type ${type}`
}

function isOfType(value: unknown, type: string): boolean {
  switch (type) {
    case "null":
      return value === null
    case "array":
      return Array.isArray(value)
    case "object":
      return typeof value === "object" && value !== null && !Array.isArray(value)
    case "integer":
      return Number.isInteger(value)
    default:
      return typeof value === type
  }
}

function boundMismatch(value: unknown, schema: Schema, at: string): string | undefined {
  const bound = (key: string) => schema[key] as number | undefined
  if (typeof value === "number") {
    if (value < (bound("minimum") ?? value)) return `${at} is too small`
    if (value > (bound("maximum") ?? value)) return `${at} is too large`
    if (schema.exclusiveMinimum !== undefined && value <= bound("exclusiveMinimum")!)
      return `${at} is too small`
  }
  if (typeof value !== "string") return undefined
  if (value.length < (bound("minLength") ?? 0)) return `${at} is too short`
  if (value.length > (bound("maxLength") ?? value.length)) return `${at} is too long`
  const { pattern } = schema
  if (typeof pattern === "string" && !new RegExp(pattern, "s").test(value))
    return `${at} does not match ${pattern}`
  return undefined
}

function arrayMismatch(value: unknown, schema: Schema, { root, at }: Place): string | undefined {
  if (!Array.isArray(value)) return undefined
  if (value.length < ((schema.minItems as number | undefined) ?? 0)) return `${at} has too few`
  const tuple = schema.prefixItems as Schema[] | undefined
  for (const [index, one] of value.entries()) {
    const item = tuple?.[index] ?? (schema.items as Schema | undefined)
    const wrong = item && mismatch(one, item, root, `${at}.${index}`)
    if (wrong) return wrong
  }
  return undefined
}

function objectMismatch(value: unknown, schema: Schema, { root, at }: Place): string | undefined {
  if (!isOfType(value, "object")) return undefined
  const object = value as Record<string, unknown>
  for (const name of (schema.required ?? []) as string[])
    if (!Object.hasOwn(object, name)) return `${at}.${name} is missing`
  const properties = (schema.properties ?? {}) as Record<string, Schema>
  const rest = schema.additionalProperties
  for (const [name, one] of Object.entries(object)) {
    const known = Object.hasOwn(properties, name) ? properties[name] : undefined
    if (known === undefined && rest === false) return `${at}.${name} is not known`
    const next = known ?? (typeof rest === "object" ? (rest as Schema) : undefined)
    const wrong = next && mismatch(one, next, root, `${at}.${name}`)
    if (wrong) return wrong
  }
  return undefined
}
