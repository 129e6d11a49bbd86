import fc from "fast-check"
import { expect, it } from "vitest"
import { ascendingIDs, idAfter, SessionIDs } from "./ascending-ids.ts"
import { type IDKind, idPattern } from "./id-prefix.ts"

const kinds = fc.constantFrom<IDKind>("message", "part")
const body = fc.stringMatching(/^[0-9A-Za-z][0-9A-Za-z_-]{0,62}$/)
const times = fc.array(fc.record({ ms: fc.integer({ min: -5000, max: 5000 }), kind: kinds }), {
  maxLength: 200,
})

it("ids of a process ascend within a millisecond and while the clock goes back and forth", () => {
  fc.assert(
    fc.property(times, (steps) => {
      let now = 1_800_000_000_000
      const newID = ascendingIDs({ now: () => now })
      const made = steps.map(({ ms, kind }) => {
        now += ms
        return newID(kind)
      })
      const bodies = made.map((id) => id.slice(4))
      expect(bodies).toEqual([...new Set(bodies)].sort())
      for (const [index, id] of made.entries()) expect(id).toMatch(idPattern(steps[index]!.kind))
    }),
  )
})

it("ids of a session start above its last id, whatever its form and its time", () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(kinds, fc.option(body)), { maxLength: 60 }), (steps) => {
      const ids = new SessionIDs(ascendingIDs({ now: () => 1_700_000_000_000 }))
      const highest: Record<string, string> = {}
      for (const [kind, given] of steps) {
        const prefix = kind === "message" ? "msg_" : "prt_"
        // Above an id of nothing but the last digit, there is no id of the same length.
        if (given !== null && !/^[z_-]*$/.test(given)) {
          ids.startAbove(kind, prefix + given)
          if (prefix + given > (highest[kind] ?? "")) highest[kind] = prefix + given
          continue
        }
        const id = ids.next(kind)
        if (highest[kind] !== undefined) expect(id > highest[kind]).toBe(true)
        expect(id).toMatch(idPattern(kind))
        highest[kind] = id
      }
    }),
  )
})

it("the id after an id has its form and its length", () => {
  expect(idAfter("msg_01jd0c7q5x3v9k2m4n6p8r0s19")).toBe("msg_01jd0c7q5x3v9k2m4n6p8r0s1a")
  expect(idAfter("msg_01jd0c7q5x3v9k2m4n6p8r0szz")).toBe("msg_01jd0c7q5x3v9k2m4n6p8r0t00")
  expect(idAfter("msg_1f3a9c7b2d4eAbCdEfGhIjKlzz")).toBe("msg_1f3a9c7b2d4eAbCdEfGhIjKm00")
  expect(idAfter("msg-11")).toBe("msg-12")
  expect(idAfter("msg_7zzzzzzzzzzzzzzzzzzzzzzzzz")).toBeUndefined()
})
