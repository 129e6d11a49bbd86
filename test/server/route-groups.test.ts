import { expect, test } from "vitest"
import { type Route, routes } from "../../src/protocol/routes/index.ts"
import { otherRoutes } from "../../src/server/other-routes.ts"

const shapeOf = ({ method, path }: Route) => `${method} ${path.replace(/:\w+/g, ":")}`
const shapesOf = (groups: readonly Record<string, Route>[]) =>
  groups.flatMap((group) => Object.values(group).map(shapeOf))

test("no other group has a route of Stemma's own, which would answer in its place", () => {
  const own = new Set(shapesOf(Object.values(routes)))
  expect(shapesOf(otherRoutes).filter((shape) => own.has(shape))).toEqual([])
})
