import { describe, expect, test } from "vitest"
import { todoreadTool } from "../../src/tools/todoread.ts"
import { todowriteTool } from "../../src/tools/todowrite.ts"
import { toolContext } from "../support/tool-context.ts"

const todo = (content: string, id?: string): Record<string, unknown> => ({
  ...(id === undefined ? {} : { id }),
  content,
  status: "pending",
  priority: "high",
})

describe("the todo list", () => {
  test("is replaced as a whole and read back", async () => {
    await using context = await toolContext()
    await context.call(todowriteTool, { todos: [todo("old")] })
    const written = await context.call(todowriteTool, { todos: [todo("  new "), todo("newer")] })
    const expected = [
      { id: "1", content: "new", status: "pending", priority: "high" },
      { id: "2", content: "newer", status: "pending", priority: "high" },
    ]
    expect(context.todoList).toEqual(expected)
    expect(written).toEqual({ title: "2 todos", output: expect.any(String), metadata: { todos: expected } })
    expect(JSON.parse(written.output)).toEqual(expected)
    expect(await context.call(todoreadTool, {})).toEqual(written)
  })

  test("keeps the given ids and fills in free ones", async () => {
    await using context = await toolContext()
    await context.call(todowriteTool, { todos: [todo("a"), todo("b", "1"), todo("c", "x"), todo("d")] })
    expect(context.todoList.map(({ id }) => id)).toEqual(["2", "1", "x", "3"])
  })

  test("may be empty", async () => {
    await using context = await toolContext()
    await context.call(todowriteTool, { todos: [todo("a")] })
    expect(await context.call(todowriteTool, { todos: [] })).toMatchObject({ title: "0 todos", output: "[]" })
    expect(context.todoList).toEqual([])
  })

  test("is not changed by a list with a duplicate id", async () => {
    await using context = await toolContext()
    await context.call(todowriteTool, { todos: [todo("a")] })
    await expect(context.call(todowriteTool, { todos: [todo("b", "x"), todo("c", "x")] })).rejects.toThrow(
      "Two todos have the id x",
    )
    expect(context.todoList.map(({ content }) => content)).toEqual(["a"])
  })

  test.each([
    ["more than 100", Array.from({ length: 101 }, () => todo("a"))],
    ["an empty one", [todo("  ")]],
    ["a very long one", [todo("x".repeat(1_001))]],
    ["an unknown status", [{ ...todo("a"), status: "done" }]],
    ["no priority", [{ content: "a", status: "pending" }]],
  ])("does not accept %s", (_name, todos) => {
    expect(todowriteTool.input.safeParse({ todos }).success).toBe(false)
  })

  test("has a permission for each tool", async () => {
    await using context = await toolContext({ rules: { "*": "allow", todowrite: "deny" } })
    await expect(context.call(todowriteTool, { todos: [] })).rejects.toThrow("Not permitted: todowrite")
    expect(await context.call(todoreadTool, {})).toMatchObject({ title: "0 todos" })
  })
})
