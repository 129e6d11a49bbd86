import { mkdtemp } from "node:fs/promises"
import { tmpdir } from "node:os"
import { openStemma } from "../src/index.ts"

const directory = await mkdtemp(`${tmpdir()}/hello-`) // the directory that the agent works in
const config = { permission: { edit: "allow" } } as const // default: a person is asked first
await using stemma = await openStemma({ directory, config })
const session = await stemma.sessions.create()
await session.prompt("Write hello to notes.txt")
console.log(await session.transcript())
