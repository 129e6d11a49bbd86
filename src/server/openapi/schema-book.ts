import { z } from "zod"

export type JsonSchema = { [key: string]: unknown }

const prefix = "#/components/schemas/"

/** Turns zod schemas into JSON Schemas that refer to each other by name. */
export class SchemaBook {
  readonly #names: ReadonlyMap<z.ZodType, string>
  readonly #components = new Map<string, JsonSchema>()

  /** A schema with a name is written once. */
  constructor(named: Record<string, z.ZodType>) {
    this.#names = new Map(Object.entries(named).map(([name, schema]) => [schema, name]))
  }

  /** The schema of a request. */
  input(schema: z.ZodType): JsonSchema {
    return this.#write(schema, "input")
  }

  /** The schema of an answer. */
  output(schema: z.ZodType): JsonSchema {
    return this.#write(schema, "output")
  }

  /** The named schemas that were used so far, sorted by name. */
  components(): Record<string, JsonSchema> {
    return Object.fromEntries([...this.#components].sort(([a], [b]) => (a < b ? -1 : 1)))
  }

  #write(schema: z.ZodType, io: "input" | "output"): JsonSchema {
    const {
      $schema: _,
      $defs = {},
      ...body
    } = z.toJSONSchema(schema, {
      io,
      metadata: new NamedRegistry(this.#names),
      override: ({ zodSchema, jsonSchema }) => allowMoreFields(zodSchema, jsonSchema),
    })
    for (const [name, definition] of Object.entries($defs))
      this.#keep(name, withDocumentRefs(definition as JsonSchema))
    return withDocumentRefs(body)
  }

  #keep(name: string, definition: JsonSchema): void {
    const kept = this.#components.get(name)
    if (kept !== undefined && JSON.stringify(kept) !== JSON.stringify(definition)) {
      throw new Error(`${name} differs between requests and answers. Give it a name in only one of them.`)
    }
    this.#components.set(name, definition)
  }
}

/** The metadata that zod has of a schema, with the schema's name. */
class NamedRegistry extends z.core.$ZodRegistry<Record<string, unknown>> {
  readonly #names: ReadonlyMap<z.ZodType, string>

  constructor(names: ReadonlyMap<z.ZodType, string>) {
    super()
    this.#names = names
  }

  override get(schema: z.core.$ZodType): Record<string, unknown> | undefined {
    const { id: _, ...known } = z.globalRegistry.get(schema) ?? {}
    const id = this.#names.get(schema as z.ZodType)
    return id === undefined ? known : { ...known, id }
  }
}

/** An answer may get more fields later, so only a strict object forbids additional properties. */
function allowMoreFields(schema: z.core.$ZodTypes, json: z.core.JSONSchema.BaseSchema): void {
  const { def } = schema._zod
  if (def.type === "object" && def.catchall === undefined) delete json.additionalProperties
  const [only, second] = json.oneOf ?? []
  if (only && !second) {
    delete json.oneOf
    for (const [key, value] of Object.entries(only)) json[key] = value
  }
  const { propertyNames: names } = json
  if (typeof names === "object" && JSON.stringify(names) === '{"type":"string"}') delete json.propertyNames
}

/** Definitions belong to the whole document, not to one schema. */
function withDocumentRefs(value: JsonSchema): JsonSchema {
  return JSON.parse(JSON.stringify(value), (key, one: unknown) =>
    key === "$ref" && typeof one === "string" ? one.replace("#/$defs/", prefix) : one,
  ) as JsonSchema
}
