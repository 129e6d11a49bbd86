import { mkdir, readdir, stat, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { expect, test } from "vitest"
import { grantScope, openGrants } from "../../src/config/permission/grants.ts"
import { rejection } from "../support/rejection.ts"
import { temporaryDirectory } from "../support/temporary-directory.ts"

test("a grant that one handle adds or removes is visible to another handle immediately", async () => {
  await using at = await temporaryDirectory()
  const [one, two] = [openGrants({ directory: at.path }), openGrants({ directory: at.path })]
  expect(await two.list("p")).toEqual([])
  const first = await one.add("p", { permission: "bash", pattern: "git *", time: 1, sessionID: "ses_1" })
  expect(await two.list("p")).toEqual([first])
  const second = await two.add("p", { permission: "edit", pattern: "src/*", time: 2 })
  expect(await one.list("p")).toEqual([first, second])
  await one.remove("p", first.id)
  expect(await two.list("p")).toEqual([second])
})

test("grants are stored per project", async () => {
  await using at = await temporaryDirectory()
  const grants = openGrants({ directory: at.path })
  await grants.add("p", { permission: "bash", pattern: "*", time: 1 })
  expect(await grants.list("q")).toEqual([])
  expect(await grants.list("../p")).toEqual([])
})

test("many grants added at the same time by two handles are all stored, once each", async () => {
  await using at = await temporaryDirectory()
  const handles = [openGrants({ directory: at.path }), openGrants({ directory: at.path })]
  await Promise.all(
    handles.flatMap((grants) =>
      Array.from({ length: 20 }, (_, index) =>
        grants.add("p", { permission: "bash", pattern: `c${index}`, time: index }),
      ),
    ),
  )
  for (const grants of handles)
    expect((await grants.list("p")).map((one) => one.time)).toEqual([...Array(20).keys()])
})

test("removing a grant that does not exist fails with not_found, whatever the id looks like", async () => {
  await using at = await temporaryDirectory()
  const grants = openGrants({ directory: at.path })
  for (const id of ["0".repeat(32), "../../x", ""])
    expect(await rejection(grants.remove("p", id))).toMatchObject({ code: "not_found" })
})

test("invalid files are ignored with a notice; only the user may read the files", async () => {
  await using at = await temporaryDirectory()
  const grants = openGrants({ directory: at.path })
  const grant = await grants.add("p", { permission: "bash", pattern: "ls", time: 1 })
  const folder = join(at.path, (await readdir(at.path))[0]!)
  expect((await stat(join(folder, `${grant.id}.json`))).mode & 0o777).toBe(0o600)
  await writeFile(join(folder, "torn.json"), '{"permission": "ba')
  const forged = { permission: "bash", pattern: "*", time: 1 }
  await writeFile(join(folder, `${"a".repeat(32)}.json`), JSON.stringify(forged))
  await mkdir(join(folder, "folder.json"))
  expect(await grants.list("p")).toEqual([grant])
  expect(await grants.notices("p")).toHaveLength(3)
})

test("a clone of the same repository elsewhere has its own grants", () => {
  const project = { id: "prj_1", root: "/mine", directory: "/mine", trusted: undefined }
  expect(grantScope(project)).toBe(grantScope({ ...project, directory: "/mine/sub" }))
  expect(grantScope(project)).not.toBe(grantScope({ ...project, root: "/theirs" }))
})
