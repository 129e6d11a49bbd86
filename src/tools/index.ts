import { bashTool } from "./bash.ts"
import { editTool } from "./edit.ts"
import { globTool } from "./glob.ts"
import { grepTool } from "./grep.ts"
import { listTool } from "./list.ts"
import { readTool } from "./read.ts"
import { recallTool } from "./recall.ts"
import { todoreadTool } from "./todoread.ts"
import { todowriteTool } from "./todowrite.ts"
import type { Tool } from "./tool.ts"
import { webfetchTool } from "./webfetch.ts"
import { writeTool } from "./write.ts"

export * from "./output.ts"
export * from "./tool.ts"

/** The tools that every session has; `skill` is made for a config's skills, so it is not among them. */
export function builtInTools(): Tool[] {
  return [
    readTool,
    writeTool,
    editTool,
    globTool,
    grepTool,
    listTool,
    bashTool,
    webfetchTool,
    todowriteTool,
    todoreadTool,
    recallTool,
  ]
}
