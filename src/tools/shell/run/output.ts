import { StringDecoder } from "node:string_decoder"

const halfBytes = 5 * 1024 * 1024

/** The output of a command, kept up to a limit: its beginning and its end, with a count of the bytes in between. */
export class ShellOutput {
  private readonly decoder = new StringDecoder("utf8")
  private readonly show: (text: string) => void
  private head = ""
  private headBytes = 0
  private tail: string[] = []
  private tailBytes = 0
  private dropped = 0

  constructor(show: (text: string) => void) {
    this.show = show
  }

  write(bytes: Buffer): void {
    this.keep(this.decoder.write(bytes))
  }

  /** The kept output. Nothing may be written after this call. */
  end(): string {
    this.keep(this.decoder.end())
    const tail = this.tail.join("")
    return this.dropped === 0 ? this.head + tail : `${this.head}\n[${this.dropped} bytes left out]\n${tail}`
  }

  private keep(text: string): void {
    if (text === "") return
    const size = Buffer.byteLength(text)
    if (this.headBytes < halfBytes) {
      this.head += text
      this.headBytes += size
      this.show(text)
      if (this.headBytes >= halfBytes)
        this.show("\n[more output follows, and is shown when the command has ended]\n")
      return
    }
    this.tail.push(text)
    this.tailBytes += size
    while (this.tail.length > 1 && this.tailBytes > halfBytes) {
      const first = Buffer.byteLength(this.tail.shift()!)
      this.tailBytes -= first
      this.dropped += first
    }
  }
}
