import { expect } from "vitest"
import type { AssistantMessage } from "../../../src/index.ts"
import type { PeerLine } from "../children/run-peer.ts"
import type { PeersReport } from "./peers.ts"

/**
 * Every prompt was answered once, in an order that both processes saw; nothing was overwritten; every answer arrived;
 * both processes ended.
 */
export function expectGoodPeers(report: PeersReport): void {
  const lines = Object.values(report.outputs).flat()
  expect(lines.filter((line) => "failed" in line)).toEqual([])
  expect(report.exits).toEqual([
    { code: 0, signal: null },
    { code: 0, signal: null },
  ])
  expect(report.problems).toEqual([])
  expectAnsweredOnce(report)
  expectSameView(report)
  expectNothingOverwritten(report)
  expectAnswersArrived(report)
}

function expectAnsweredOnce({ promptIDs, sharedIDs, items, outputs, asked }: PeersReport): void {
  const prompts = items.filter(({ message }) => message.role === "user").map(({ message }) => message.id)
  expect(prompts.toSorted()).toEqual(promptIDs.toSorted())
  for (const [text, count] of asked) expect(`${text}: ${count}`).toBe(`${text}: 1`)
  const replies = Object.values(outputs).map((lines) => lines.filter((line) => "reply" in line))
  expect(replies.map((one) => one.length)).toEqual([12, 12])
  for (const { reply, answerID, finish } of replies.flat()) {
    const answer = items.find(({ message }) => message.id === answerID)?.message as AssistantMessage
    expect(answer).toMatchObject({ parentID: reply, finish })
    expect(["stop", "aborted"]).toContain(finish)
  }
  for (const id of sharedIDs) {
    const [one, other] = replies.map((list) => list.find(({ reply }) => reply === id)?.answerID)
    expect(one).toBe(other)
  }
  const finishes = Object.groupBy(replies.flat(), ({ finish }) => finish ?? "none")
  const counts = Object.entries(finishes).map(([finish, list]) => `${finish} ${list?.length}`)
  const runs = Object.values(outputs).map((lines) => lines.filter(isBusy).length)
  process.stdout.write(`two processes: replies ${counts.join(", ")}, runs ${runs.join(" and ")}\n`)
}

/** A process reports this of its own runs only. */
function isBusy(line: PeerLine): boolean {
  if (!("event" in line) || line.event.type !== "session.status") return false
  return line.event.properties.status.type === "busy"
}

function expectSameView({ items, outputs, session, transcript }: PeersReport): void {
  const order = items.map(({ message }) => message.id)
  for (const lines of Object.values(outputs)) {
    const events = lines.flatMap((line) => ("event" in line ? [line.event] : []))
    const seen = events.flatMap((event) =>
      event.type === "message.updated" ? [event.properties.info.id] : [],
    )
    expect([...new Set(seen)]).toEqual(order)
    expect(lines.filter((line) => "end" in line)).toMatchObject([{ end: { transcript } }])
    expect(lines.find((line) => "end" in line)?.end.session.title).toBe(session.title)
  }
}

function expectNothingOverwritten({ outputs, session }: PeersReport): void {
  const sets = (lines: PeerLine[]) => lines.filter((line) => "set" in line)
  const [a, b] = [sets(outputs.a), sets(outputs.b)]
  expect([a.length, b.length]).toEqual([12, 12])
  expect([a.at(-1)?.set, b.at(-1)?.set]).toContain(session.title)
  expect(session).toMatchObject({ maxHistory: a.at(-1)!.field, budget: b.at(-1)!.field })
  for (const lines of Object.values(outputs)) {
    const events = lines.flatMap((line) => ("event" in line ? [line.event] : []))
    const titles = events.flatMap((event) =>
      event.type === "session.updated" ? [event.properties.info.title] : [],
    )
    const known = new Set([...a, ...b].map(({ set }) => set)).add("at first")
    expect(titles.filter((title) => !known.has(title))).toEqual([])
    expect(titles.at(-1)).toBe(session.title)
    // The changes of each process are seen in the order in which it made them.
    for (const own of [a, b]) {
      const numbers = titles
        .filter((title) => own.some(({ set }) => set === title))
        .map((title) => own.findIndex(({ set }) => set === title))
      expect(numbers).toEqual(numbers.toSorted((x, y) => x - y))
    }
  }
}

/** Answers of the process that does not run the session: the time until the question was settled. */
function expectAnswersArrived({ outputs }: PeersReport): void {
  const delays: number[] = []
  for (const lines of Object.values(outputs)) {
    for (const line of lines) {
      if (!("answered" in line) || line.wasHolder) continue
      const settled = lines.find(
        (other) =>
          "event" in other &&
          other.event.type === "permission.replied" &&
          other.event.properties.permissionID === line.permissionID,
      )
      expect(settled).toBeDefined()
      delays.push(settled!.atMs - line.atMs)
    }
  }
  delays.sort((x, y) => x - y)
  process.stdout.write(
    `two processes: answers arrived after ${delays.map((ms) => ms.toFixed(0)).join(", ")} ms\n`,
  )
  if (delays.length > 0) expect(delays[Math.floor(delays.length / 2)]).toBeLessThan(1500)
}
