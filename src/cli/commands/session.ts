import { StemmaError } from "../../protocol/index.ts"
import { helpOf } from "../arguments.ts"
import { asCalled, type Command } from "../program.ts"
import { list, listSpec } from "./session-list.ts"
import { share, shareSpec } from "./session-share.ts"
import { show, showSpec } from "./session-show.ts"

/**
 * `stemma session list|show` reads the store. It opens the store read-only, so it changes nothing and continues no run.
 * `stemma session share` is a client of a server.
 */
export const session: Command = async (args, program) => {
  const [first, ...rest] = args
  switch (first) {
    case "list":
      return list(rest, program)
    case "show":
      return show(rest, program)
    case "share":
      return share(rest, program)
    case undefined:
    case "--help":
    case "-h":
      program.terminal.output.write(
        asCalled([listSpec, showSpec, shareSpec].map(helpOf).join("\n"), program.terminal.env),
      )
      return 0
    default:
      throw new StemmaError(
        "invalid",
        `stemma session has no command "${first}". Its commands are list, show and share. See stemma session --help.`,
      )
  }
}
