import { type IDKind, idPattern } from "../protocol/index.ts"
import { cleanText } from "../session/text/clean-text.ts"

/** What a shape gives for a value that it leaves to the schema. */
export const unusual = Symbol("unusual")

/** A copy of a value of the usual form with its texts cleaned, or `unusual`. */
export type Shape = (value: unknown) => unknown

export const text: Shape = (value) => (typeof value === "string" ? cleanText(value) : unusual)

export const someText: Shape = (value) =>
  typeof value === "string" && value !== "" ? cleanText(value) : unusual

/** A whole number from 0 to what a date can hold. */
export const count: Shape = (value) =>
  Number.isSafeInteger(value) && (value as number) >= 0 && (value as number) <= 8.64e15
    ? (value as number) + 0
    : unusual

/** Dollars. */
export const amount: Shape = (value) =>
  typeof value === "number" && value >= 0 && value < 1e9 ? value + 0 : unusual

export const flag: Shape = (value) => (typeof value === "boolean" ? value : unusual)

export function oneOf(...values: string[]): Shape {
  return (value) => (values.includes(value as string) ? value : unusual)
}

export function id(kind: IDKind): Shape {
  const pattern = idPattern(kind)
  return (value) => (typeof value === "string" && pattern.test(value) ? value : unusual)
}

/** An object with these fields and no others. */
export function object(fields: Record<string, Shape>, optional: Record<string, Shape> = {}): Shape {
  const required = Object.entries(fields)
  const shapes = new Map([...required, ...Object.entries(optional)])
  return (value) => {
    if (!isPlain(value)) return unusual
    const copy: Record<string, unknown> = {}
    let found = 0
    for (const name of Object.keys(value)) {
      const field = value[name]
      if (field === undefined && !Object.hasOwn(fields, name)) continue
      const copied = shapes.get(name)?.(field) ?? unusual
      if (copied === unusual) return unusual
      copy[name] = copied
      if (Object.hasOwn(fields, name)) found++
    }
    return found === required.length ? copy : unusual
  }
}

/** An object whose field of that name says which of the shapes it has. */
export function variant(name: string, shapes: Record<string, Shape>): Shape {
  const byName = new Map(Object.entries(shapes))
  return (value) => (isPlain(value) ? byName.get(value[name] as string)?.(value) : undefined) ?? unusual
}

/** A list of at most so many. */
export function list(shape: Shape, max: number): Shape {
  return (value) => {
    if (!Array.isArray(value) || value.length > max) return unusual
    const copies: unknown[] = []
    for (const entry of value) {
      const copy = shape(entry)
      if (copy === unusual) return unusual
      copies.push(copy)
    }
    return copies
  }
}

function isPlain(value: unknown): value is Record<string, unknown> {
  if (typeof value !== "object" || value === null) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}
