import { readFile } from "node:fs/promises"
import { join } from "node:path"
import type { ClientScene } from "./scene.ts"
import { type ClientTerminal, pause } from "./terminal.ts"

/** One thing that a person does, and what the person then sees. */
export interface Step {
  name: string
  run(terminal: ClientTerminal, scene: ClientScene): Promise<void>
}

/** Sends a prompt. The model server's answer follows from the text of the prompt. */
async function prompt(terminal: ClientTerminal, text: string): Promise<void> {
  await terminal.type(text)
  await terminal.press("enter")
}

/** Chooses a command of the terminal once the list shows it. */
async function slash(terminal: ClientTerminal, name: string, shown: string): Promise<void> {
  await terminal.type(`/${name}`)
  await terminal.shows(shown)
  await terminal.press("enter")
}

async function fileText(scene: ClientScene, name: string): Promise<string | undefined> {
  return readFile(join(scene.project, name), "utf8").catch(() => undefined)
}

async function untilFile(scene: ClientScene, name: string, text: string | undefined): Promise<void> {
  for (let look = 0; look < 400; look++) {
    if ((await fileText(scene, name)) === text) return
    await pause(50)
  }
  throw new Error(`${name} is ${JSON.stringify(await fileText(scene, name))}, not ${JSON.stringify(text)}.`)
}

const start: Step[] = [
  {
    name: "it starts, with the default model and the branch",
    async run(terminal) {
      await terminal.shows("Ask anything")
      await terminal.shows("Build · m1 test-openai")
      await terminal.shows("project:trunk")
    },
  },
  {
    name: "a prompt is answered",
    async run(terminal) {
      await prompt(terminal, "say 20")
      await terminal.shows("word20")
      await terminal.shows(/Build · m1 · [\d.]+m?s/)
    },
  },
]

const asking: Step[] = [
  {
    name: "a question shows the command that is asked for",
    async run(terminal) {
      await prompt(terminal, 'tool bash {"command":"git tag v1 && echo tagged-it"}')
      await terminal.shows("Permission required")
      // The text of the prompt has no dollar sign.
      await terminal.shows(/Shell command[\s\S]*\$ git tag v1 && echo tagged-it/)
    },
  },
  {
    name: "the question is answered, and the command's output is shown",
    async run(terminal) {
      await terminal.press("enter")
      await terminal.shows(/^ +┃ +tagged-it$/m)
      await terminal.shows(/^ +done$/m)
      await terminal.hides("Permission required")
    },
  },
  {
    name: "a question is rejected, and the command does not run",
    async run(terminal, scene) {
      await prompt(terminal, 'tool bash {"command":"echo no > refused.txt"}')
      await terminal.shows("Permission required")
      await terminal.press("right", "right", "enter")
      await terminal.hides("Permission required")
      await terminal.shows("$ echo no > refused.txt")
      await terminal.hides("esc interrupt")
      await untilFile(scene, "refused.txt", undefined)
    },
  },
]

const children: Step[] = [
  {
    name: "the view of a child and back",
    async run(terminal) {
      await prompt(
        terminal,
        'tool task {"description":"look around","prompt":"echo words of the child","subagent_type":"explore"}',
      )
      await terminal.shows("Explore Task — look around")
      await terminal.shows("view subagents")
      await terminal.press("ctrl-x", "down")
      await terminal.shows("Explore (1 of 1)")
      await terminal.shows(/^ +words of the child$/m)
      await terminal.press("up")
      await terminal.shows("Explore Task — look around")
      await terminal.hides("Explore (1 of 1)")
    },
  },
]

const files: Step[] = [
  {
    name: "a file is written, and /diff shows it",
    async run(terminal, scene) {
      await prompt(terminal, 'tool write {"filePath":"notes.txt","content":"line one\\n"}')
      await terminal.shows(/# Wrote notes\.txt[\s\S]*1 line one[\s\S]*done/)
      await untilFile(scene, "notes.txt", "line one\n")
      await slash(terminal, "diff", "/diff")
      await terminal.shows("Diff working tree")
      await terminal.shows(/notes\.txt +\+1 -0/)
      await terminal.shows(/1 \+ line one/)
      await terminal.press("escape")
      await terminal.hides("Diff working tree")
    },
  },
  {
    name: "undo takes the file away, and shows what it took",
    async run(terminal, scene) {
      await slash(terminal, "undo", "Undo previous message")
      await terminal.shows("1 message reverted")
      await terminal.shows(/notes\.txt -1/)
      await untilFile(scene, "notes.txt", undefined)
    },
  },
  {
    name: "redo brings the file back, and the diff is the same as before",
    async run(terminal, scene) {
      await terminal.press("ctrl-x")
      await terminal.type("r")
      await terminal.hides("1 message reverted")
      await untilFile(scene, "notes.txt", "line one\n")
      await terminal.shows("# Wrote notes.txt")
      await slash(terminal, "diff", "/diff")
      await terminal.shows(/notes\.txt +\+1 -0/)
      await terminal.shows(/1 \+ line one/)
      await terminal.press("escape")
      await terminal.hides("Diff working tree")
    },
  },
]

const typing: Step[] = [
  {
    name: "files are completed after @",
    async run(terminal) {
      await terminal.type("@app")
      await terminal.shows("src/app.ts")
      await terminal.press("escape")
      for (let letter = 0; letter < 4; letter++) await terminal.press("backspace")
      await terminal.hides("@app")
    },
  },
  {
    name: "a command of the config is offered and runs",
    async run(terminal) {
      await slash(terminal, "sho", "Says it loudly")
      await terminal.type("loud words")
      await terminal.press("enter")
      await terminal.shows(/^ +loud words!$/m)
    },
  },
  {
    name: "a shell command of the person runs",
    async run(terminal) {
      await terminal.type("!")
      await terminal.type("echo from-the-shell")
      await terminal.press("enter")
      await terminal.shows(/^ +┃ +from-the-shell$/m)
    },
  },
]

const running: Step[] = [
  {
    name: "a prompt to a busy session is shown at once, as queued",
    async run(terminal) {
      await prompt(terminal, "say 2000 every 50")
      await terminal.shows("word10 ")
      await prompt(terminal, "echo the second answer")
      await terminal.shows(/echo the second answer[\s\S]*QUEUED/)
    },
  },
  {
    name: "abort ends the answer, and the queued prompt is answered",
    async run(terminal) {
      await terminal.press("escape", "escape")
      await terminal.shows("interrupted")
      await terminal.shows(/^ +the second answer$/m)
      await terminal.hides("QUEUED")
      await terminal.hides("esc interrupt")
    },
  },
]

const sessions: Step[] = [
  {
    name: "the session is renamed",
    async run(terminal) {
      await slash(terminal, "rename", "Rename session")
      await terminal.shows("Rename Session")
      await terminal.press("ctrl-u")
      await terminal.type("A new name")
      await terminal.press("enter")
      await terminal.hides("Rename Session")
      await slash(terminal, "sessions", "Switch session")
      await terminal.shows(/● A new name/)
      await terminal.press("escape")
      await terminal.hides("● A new name")
    },
  },
  {
    name: "a fork has the history, and a prompt to the fork is not in the first session",
    async run(terminal) {
      await slash(terminal, "fork", "Fork session")
      await terminal.shows("Full session")
      await terminal.press("enter")
      await terminal.hides("Full session")
      await terminal.shows(/^ +the second answer$/m)
      await prompt(terminal, "echo only in the fork")
      await terminal.shows(/^ +only in the fork$/m)
      await slash(terminal, "sessions", "Switch session")
      await terminal.shows(/A new name[\s\S]*A new name/)
      await terminal.press("down", "enter")
      await terminal.hides(/^ +only in the fork$/m)
      await terminal.shows(/^ +the second answer$/m)
    },
  },
]

export const opencodeStory: readonly Step[] = [
  ...start,
  ...asking,
  ...children,
  ...files,
  ...typing,
  ...running,
  ...sessions,
]
