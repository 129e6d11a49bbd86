import { z } from "zod"

export type JsonSchema = { [key: string]: unknown }

const prefix = "#/components/schemas/"

/** Turns zod schemas into JSON Schemas that refer to one another by name. */
export class SchemaBook {
  readonly #names: ReadonlyMap<z.ZodType, string>
  readonly #components = new Map<string, JsonSchema>()

  /** Those that have a name are written once, whoever uses them. */
  constructor(named: Record<string, z.ZodType>) {
    this.#names = new Map(Object.entries(named).map(([name, schema]) => [schema, name]))
  }

  /** The schema of what a caller sends. */
  input(schema: z.ZodType): JsonSchema {
    return this.#write(schema, "input")
  }

  /** The schema of what the server answers. */
  output(schema: z.ZodType): JsonSchema {
    return this.#write(schema, "output")
  }

  /** The named schemas that were used so far, in order of their names. */
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
      metadata: new Names(this.#names),
      override: ({ zodSchema, jsonSchema }) => open(zodSchema, jsonSchema),
    })
    for (const [name, definition] of Object.entries($defs)) this.#keep(name, refer(definition as JsonSchema))
    return refer(body)
  }

  #keep(name: string, definition: JsonSchema): void {
    const kept = this.#components.get(name)
    if (kept !== undefined && JSON.stringify(kept) !== JSON.stringify(definition)) {
      throw new Error(
        `${name} is not the same in requests and in answers: give it a name only in one of them`,
      )
    }
    this.#components.set(name, definition)
  }
}

/** What zod knows of a schema, and its name. */
class Names extends z.core.$ZodRegistry<Record<string, unknown>> {
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

/** An answer may have more fields one day; only an object that is strict has no others. */
function open(schema: z.core.$ZodTypes, json: z.core.JSONSchema.BaseSchema): void {
  const { def } = schema._zod
  if (def.type === "object" && def.catchall === undefined) delete json.additionalProperties
  const { propertyNames: names } = json
  if (typeof names === "object" && JSON.stringify(names) === '{"type":"string"}') delete json.propertyNames
}

/** Definitions are kept for the whole document, not for one schema. */
function refer(value: JsonSchema): JsonSchema {
  return JSON.parse(JSON.stringify(value), (key, one: unknown) =>
    key === "$ref" && typeof one === "string" ? one.replace("#/$defs/", prefix) : one,
  ) as JsonSchema
}
