import type { Method } from "../../protocol/routes/index.ts"
import type { JsonSchema } from "./schema-book.ts"

/** As much of OpenAPI 3.1 as our document uses. */
export interface OpenApiDocument {
  openapi: string
  info: Record<string, unknown>
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

export type PathItem = {
  /** Another path that is the same. */
  $ref?: string
} & { [M in Lowercase<Method>]?: Operation }

export interface Operation {
  operationId: string
  tags: string[]
  summary: string
  parameters?: Parameter[]
  requestBody?: { required: boolean; content: Record<string, Media> }
  responses: Record<string, Answer | { $ref: string }>
  /** Empty where no token is needed. */
  security?: []
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
  schema: JsonSchema
  /** Of a stream: what the `data` of one frame is. */
  "x-data"?: JsonSchema
}
