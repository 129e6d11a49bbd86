import { editTool } from "./file/edit.ts"
import { readTool } from "./file/read.ts"
import { writeTool } from "./file/write.ts"
import { recallTool } from "./history/recall.ts"
import { globTool } from "./search/glob.ts"
import { grepTool } from "./search/grep.ts"
import { listTool } from "./search/list.ts"
import { bashTool } from "./shell/bash.ts"
import { todoreadTool } from "./todoread.ts"
import { todowriteTool } from "./todowrite.ts"
import type { Tool } from "./tool.ts"
import { webfetchTool } from "./web/webfetch.ts"

export * from "./output.ts"
export * from "./tool.ts"

/** The tools that every session has. The `skill` tool is made from a config's skills, so it is not in this list. */
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
