import { expect, test } from "vitest"
import type { JsonObject } from "../../../protocol/index.ts"
import { callShape } from "./call-shape.ts"

test.each<[JsonObject, string]>([
  [{ command: "npm test" }, "npm test"],
  [{ commandLine: "npm test", cwd: "/x" }, "npm test"],
  [{ action: { type: "exec", command: ["sh", "-c", "npm test"] } }, "npm test"],
  [{ request: { payload: { cmd: ["npm", "test"] } } }, "npm test"],
  [{ command: "npm", args: ["test", "--watch"] }, "npm test --watch"],
  [{ program: "npm", args: ["run", "lint"] }, "npm run lint"],
  [{ shell_command: "make all" }, "make all"],
])("the command of %j is %j", (input, command) => {
  expect(callShape(input).command).toBe(command)
})

test.each<[JsonObject, string[]]>([
  [{ path: "src/a.ts", diff: "<<<<<<< SEARCH\nx\n=======\ny\n>>>>>>> REPLACE" }, ["src/a.ts"]],
  [{ target_file: "src/a.ts", code_edit: "x" }, ["src/a.ts"]],
  [
    {
      edits: [
        { filePath: "src/a.ts", newText: "x" },
        { filePath: "src/b.ts", newText: "y" },
      ],
    },
    ["src/a.ts", "src/b.ts"],
  ],
  [{ arguments: { absolutePath: "/r/文档/说明.md", content: "x" } }, ["/r/文档/说明.md"]],
  [{ uri: "file:///r/a.ts", text: "x" }, ["/r/a.ts"]],
  [
    { input: "*** Begin Patch\n*** Add File: src/n.ts\n+x\n*** Delete File: src/o.ts\n*** End Patch" },
    ["src/n.ts"],
  ],
  [{ patch: "--- a/src/p.ts\n+++ b/src/p.ts\n@@ -1 +1 @@\n-a\n+b" }, ["src/p.ts"]],
])("%j writes %j", (input, paths) => {
  expect(callShape(input)).toMatchObject({ paths, writes: true })
})

test.each<[JsonObject, string, string]>([
  [{ source: "src/a.ts", destination: "src/b.ts" }, "src/a.ts", "src/b.ts"],
  [{ from: "docs/a.md", to: "docs/b.md" }, "docs/a.md", "docs/b.md"],
  [{ old_path: "src/a.ts", new_path: "src/b.ts" }, "src/a.ts", "src/b.ts"],
])("%j goes from %j to %j", (input, source, path) => {
  expect(callShape(input)).toMatchObject({ source, paths: [path] })
})

test("an input of any depth and width is read only up to a limit", () => {
  let deep: JsonObject = { command: "too deep" }
  for (let depth = 0; depth < 5_000; depth++) deep = { deep }
  expect(callShape(deep).command).toBeUndefined()
  const wide = { files: Array.from({ length: 100_000 }, (_, at) => ({ path: `src/${at}.ts` })) }
  expect(callShape(wide).paths.length).toBeLessThan(1_000)
})
