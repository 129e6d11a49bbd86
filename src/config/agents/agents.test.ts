import { expect, test } from "vitest"
import { toolSwitches } from "./agents.ts"

test("a tool that is switched again moves to the end, because the last line wins", () => {
  const both = toolSwitches({ "*": false, bash: true }, undefined, { "*": false })
  expect(Object.entries(both)).toEqual([
    ["bash", true],
    ["*", false],
  ])
})
