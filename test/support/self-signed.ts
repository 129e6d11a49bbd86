import { generateKeyPairSync, sign } from "node:crypto"

export interface SelfSigned {
  key: string
  cert: string
}

/**
 * A self-signed certificate for a host, and its key. Made for each test, so that no key is stored in the repository.
 */
export function selfSigned(host: string): SelfSigned {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" })
  const algorithm = sequence(oid("2a8648ce3d040302"))
  const name = sequence(der(0x31, sequence(oid("550403"), der(0x0c, Buffer.from(host)))))
  const validity = sequence(der(0x17, Buffer.from("240101000000Z")), der(0x17, Buffer.from("491231235959Z")))
  const names = sequence(oid("551d11"), der(0x04, sequence(der(0x82, Buffer.from(host)))))
  const body = sequence(
    der(0xa0, der(0x02, Buffer.of(2))),
    der(0x02, Buffer.of(1)),
    algorithm,
    name,
    validity,
    name,
    publicKey.export({ type: "spki", format: "der" }),
    der(0xa3, sequence(names)),
  )
  const signature = der(0x03, Buffer.of(0), sign("sha256", body, privateKey))
  const base64 = sequence(body, algorithm, signature).toString("base64").replace(/.{64}/g, "$&\n")
  return {
    key: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
    cert: `-----BEGIN CERTIFICATE-----\n${base64}\n-----END CERTIFICATE-----\n`,
  }
}

const sequence = (...parts: Buffer[]): Buffer => der(0x30, ...parts)

const oid = (hex: string): Buffer => der(0x06, Buffer.from(hex, "hex"))

function der(tag: number, ...parts: Buffer[]): Buffer {
  const content = Buffer.concat(parts)
  const { length } = content
  const size = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 255]
  return Buffer.concat([Buffer.of(tag, ...size), content])
}
