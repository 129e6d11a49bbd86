import { type IPty, spawn } from "@lydell/node-pty"
import xterm from "@xterm/headless"

const columns = 120
const rows = 40
const waitMs = 20_000
const lookEveryMs = 50

export interface TerminalOptions {
  program: string
  args: readonly string[]
  directory: string
  env: Record<string, string>
}

/** A program in a pseudo-terminal. */
export class ClientTerminal implements AsyncDisposable {
  readonly #pty: IPty
  readonly #screen: xterm.Terminal
  readonly #ended: Promise<void>
  #hasEnded = false

  constructor({ program, args, directory, env }: TerminalOptions) {
    this.#screen = new xterm.Terminal({ cols: columns, rows, allowProposedApi: true })
    this.#pty = spawn(program, [...args], {
      name: "xterm-256color",
      cols: columns,
      rows,
      cwd: directory,
      env,
    })
    this.#pty.onData((text) => this.#screen.write(text))
    // Answers to questions of the program about the terminal.
    this.#screen.onData((text) => this.#pty.write(text))
    this.#ended = new Promise((resolve) => {
      this.#pty.onExit(() => {
        this.#hasEnded = true
        resolve()
      })
    })
  }

  /** The lines of the screen, without spaces at their ends. */
  screen(): string {
    const { active } = this.#screen.buffer
    const lines = Array.from({ length: rows }, (_, at) =>
      (active.getLine(active.viewportY + at)?.translateToString(true) ?? "").trimEnd(),
    )
    return lines.join("\n")
  }

  /** Waits until the screen shows something. Fails with the whole screen. */
  async shows(what: string | RegExp, { timeoutMs = waitMs }: { timeoutMs?: number } = {}): Promise<string> {
    return this.until(`the screen shows ${what}`, (screen) => matches(screen, what), { timeoutMs })
  }

  /** Waits until the screen no longer shows something. */
  async hides(what: string | RegExp): Promise<string> {
    return this.until(`the screen no longer shows ${what}`, (screen) => !matches(screen, what))
  }

  async until(
    what: string,
    isTrue: (screen: string) => boolean,
    { timeoutMs = waitMs }: { timeoutMs?: number } = {},
  ): Promise<string> {
    const endMs = performance.now() + timeoutMs
    for (;;) {
      const screen = this.screen()
      if (isTrue(screen)) return screen
      if (this.#hasEnded) throw new Error(`The program ended before ${what}:\n${screen}`)
      if (performance.now() > endMs)
        throw new Error(`After ${timeoutMs} ms it is not true that ${what}:\n${screen}`)
      await pause(lookEveryMs)
    }
  }

  /** Types a text as a person does: a pause lets the program handle what was typed before. */
  async type(text: string): Promise<void> {
    for (const letter of text) {
      this.#pty.write(letter)
      await pause(5)
    }
    await pause(100)
  }

  async press(...names: (keyof typeof keys)[]): Promise<void> {
    for (const name of names) {
      this.#pty.write(keys[name])
      await pause(150)
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#hasEnded) this.#pty.kill("SIGKILL")
    await this.#ended
    this.#screen.dispose()
  }
}

const keys = {
  enter: "\r",
  escape: "\x1b",
  up: "\x1b[A",
  down: "\x1b[B",
  left: "\x1b[D",
  right: "\x1b[C",
  tab: "\t",
  backspace: "\x7f",
  "ctrl-c": "\x03",
  "ctrl-x": "\x18",
  "ctrl-u": "\x15",
}

function matches(screen: string, what: string | RegExp): boolean {
  return typeof what === "string" ? screen.includes(what) : what.test(screen)
}

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
