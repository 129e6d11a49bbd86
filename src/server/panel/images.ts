import { StemmaError } from "../../protocol/index.ts"
import type { PromptPart } from "../../run/index.ts"

const imageBytesMax = 10_000_000

const kinds = [
  { mime: "image/png", ending: "png", magic: [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a] },
  { mime: "image/jpeg", ending: "jpg", magic: [0xff, 0xd8, 0xff] },
  { mime: "image/gif", ending: "gif", magic: [0x47, 0x49, 0x46, 0x38] },
  { mime: "application/pdf", ending: "pdf", magic: [0x25, 0x50, 0x44, 0x46, 0x2d] },
]

/** The images of a message as prompt parts. Their type is detected from their bytes, not taken from the sender. */
export function imageParts(images: readonly string[]): PromptPart[] {
  return images.map((image, index) => {
    const bytes = bytesOf(image, index)
    const kind = kindOf(bytes)
    if (!kind) throw imageError(index, "is not a png, jpeg, gif, webp or pdf")
    const filename = `image-${index + 1}.${kind.ending}`
    return {
      type: "file",
      mime: kind.mime,
      filename,
      url: `data:${kind.mime};base64,${bytes.toString("base64")}`,
    }
  })
}

function bytesOf(image: string, index: number): Buffer {
  const comma = image.startsWith("data:") ? image.indexOf(",") : -1
  if (image.startsWith("data:") && !/;base64$/i.test(image.slice(0, Math.max(0, comma)))) {
    throw imageError(index, "is a data: url without base64")
  }
  const data = image.slice(comma + 1)
  // A quick check before decoding: four characters are three bytes.
  if (data.length * 0.75 > imageBytesMax + 3) throw imageError(index, "is larger than 10 MB")
  if (!/^[A-Za-z0-9+/_-]*={0,2}\s*$/.test(data)) throw imageError(index, "is not base64")
  const bytes = Buffer.from(data, "base64")
  if (bytes.length > imageBytesMax) throw imageError(index, "is larger than 10 MB")
  return bytes
}

function kindOf(bytes: Buffer): { mime: string; ending: string } | undefined {
  const isWebp =
    bytes.subarray(0, 4).toString("latin1") === "RIFF" && bytes.subarray(8, 12).toString("latin1") === "WEBP"
  if (isWebp) return { mime: "image/webp", ending: "webp" }
  return kinds.find(({ magic }) => magic.every((byte, at) => bytes[at] === byte))
}

function imageError(index: number, why: string): StemmaError {
  return new StemmaError(
    "invalid",
    `Image ${index + 1} ${why}. Send png, jpeg, gif, webp or pdf up to 10 MB.`,
  )
}
