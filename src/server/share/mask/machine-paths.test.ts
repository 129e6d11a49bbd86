import { describe, expect, test } from "vitest"
import { createSharedMask } from "./mask-shared.ts"

describe("directories of the machine", () => {
  const maskPaths = createSharedMask({
    values: [],
    paths: [
      { path: "/home/jan/work/app", text: "." },
      { path: "/home/jan", text: "~" },
      { path: "/app", text: "." },
      { path: "/", text: "." },
    ],
  })

  test.each([
    ["read /home/jan/work/app/src/a.ts", "read ./src/a.ts"],
    ["in /home/jan/work/app.", "in .."],
    ["-I/home/jan/work/app/include", "-I./include"],
    ["file:///home/jan/notes.txt", "file://~/notes.txt"],
    ["/home/jan/.ssh/id_rsa", "~/.ssh/id_rsa"],
    ["/home/jane/notes", "/home/jane/notes"],
    ["/home/jan/work/app2/x", "~/work/app2/x"],
    [JSON.stringify({ path: "/home/jan/x" }), JSON.stringify({ path: "~/x" })],
    ["?path=%2Fhome%2Fjan%2Fx", "?path=~%2Fx"],
    ["cd /app && ls /app/src", "cd . && ls ./src"],
    ["https://example.org/app/x and src/app/main.ts", "https://example.org/app/x and src/app/main.ts"],
    ["/etc/hosts and /usr/bin", "/etc/hosts and /usr/bin"],
  ])("%s", (text, shown) => {
    expect(maskPaths([text])).toEqual([shown])
  })
})

test("a directory at the end of a text is found, whatever the next text begins with", () => {
  const mask = createSharedMask({ values: [], paths: [{ path: "/home/alice/proj", text: "." }] })
  expect(mask(["I work in /home/alice/proj", "Next I read /home/alice/proj/a.ts"])).toEqual([
    "I work in .",
    "Next I read ./a.ts",
  ])
})
