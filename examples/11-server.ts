// A server, an in-process client, a client over HTTP, a replica, a shared page. Run it: node examples/11-server.ts
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { createClient } from "../src/client/index.ts"
import { createScriptedModel, openStemma } from "../src/index.ts"
import { createServer } from "../src/server/index.ts"

const directory = await mkdtemp(join(tmpdir(), "stemma-server-"))
const model = createScriptedModel([
  { calls: [{ tool: "write", input: { filePath: "menu.txt", content: "oolong\n" } }] },
  { text: "The menu has oolong." },
  { text: "A cup is 3. The key is sk-proj-abcdefghijklmnopqrstuvwxyz0123456789." },
])
const stemma = await openStemma({
  directory,
  data: join(directory, ".data"),
  models: { mine: () => model },
  config: { model: "mine/script", title: false },
})
const token = "any-16-characters-or-more"
const server = createServer(stemma, { token })
const { url } = await server.listen({ port: 0 })
console.log(`Without the token: ${(await fetch(`${url}/sessions`)).status}`)

// The same client over HTTP, and calling the server directly in one process. The client also runs in a browser.
const far = createClient({ baseUrl: url, token })
const near = createClient({ fetch: server.app.fetch })
const { id } = await near.sessions.create({ title: "The shop" })

// A replica is a live copy. A subscriber counts as a person who can answer; without one, a question is refused.
const replica = far.session(id).replica()
await replica.ready
const answered = new Set<string>()
replica.subscribe(() => {
  for (const { id: permissionID, permission, patterns } of replica.view.permissions.values()) {
    if (answered.has(permissionID)) continue
    answered.add(permissionID)
    console.log(`Asked over HTTP: ${permission} ${patterns.join(", ")}`)
    far.session(id).reply({ permissionID, reply: "once" }).catch(console.error)
  }
})
const { text } = await near.session(id).ask({ text: "Write a menu." })
console.log(`The answer: ${text}`)

// A client may leave a stream at any time. With the cursor, it gets the missed events first, then new ones.
const { cursor } = await far.session(id).snapshot()
await near.session(id).ask({ text: "And what is a cup?" })
for await (const { type, properties } of far.session(id).events({ since: cursor })) {
  if (type !== "message.part.updated" || properties.part.type !== "text") continue
  console.log(`Missed: ${properties.part.text}`)
  if (properties.part.text.startsWith("A cup")) break
}
const isWhole = Promise.withResolvers<void>()
const look = () => {
  if (replica.messages().filter(({ sealed }) => sealed).length === 5) isWhole.resolve()
}
replica.subscribe(look)
look()
await isWhole.promise
const said = replica.messages().flatMap(({ parts }) => parts.filter(({ type }) => type === "text"))
console.log(`The replica has ${replica.messages().length} messages, ${said.length} texts.`)
replica.close()

// Everyone who has the address can read a shared page. API keys are masked, and tool calls are left out.
const { share } = await near.session(id).share()
const page = await fetch(share!.url, { headers: { accept: "application/json" } })
const shared = await page.text()
console.log(
  `Shared: ${page.status}, with the key: ${shared.includes("sk-proj")}, with the menu: ${shared.includes("menu has")}`,
)
await near.session(id).unshare()
console.log(`Unshared: ${(await fetch(share!.url)).status}`)

await server.close()
await stemma.close()
await rm(directory, { recursive: true })
