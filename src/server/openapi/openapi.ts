import type { Method } from "../../protocol/routes/index.ts"
import type { JsonSchema } from "./schema-book.ts"

/** The part of OpenAPI 3.1 that our document uses. */
export interface OpenApiDocument {
  openapi: string
  info: Record<string, unknown>
  servers: { url: string; description: string }[]
  security: Record<string, string[]>[]
  tags: Tag[]
  paths: Record<string, PathItem>
  components: {
    securitySchemes: Record<string, JsonSchema>
    responses: Record<string, Answer>
    schemas: Record<string, JsonSchema>
  }
}

export interface Tag {
  name: string
  description: string
}

export type PathItem = { [M in Lowercase<Method>]?: Operation }

export interface Operation {
  operationId: string
  tags: string[]
  summary: string
  parameters?: Parameter[]
  requestBody?: { required: boolean; content: Record<string, Media> }
  responses: Record<string, Answer | { $ref: string }>
  /** Empty where no token is needed. */
  security?: []
  /** Further paths that the server answers in the same way. */
  "x-aliases"?: string[]
}

export interface Parameter {
  name: string
  in: "path" | "query"
  required: boolean
  description?: string
  schema: JsonSchema
}

export interface Answer {
  description: string
  content?: Record<string, Media>
}

export interface Media {
  /** For a stream: a text, with the schema of the `data` of one frame as `contentSchema`. */
  schema: JsonSchema
}
