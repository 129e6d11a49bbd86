import { isIP } from "node:net"
import type { DescribeContext } from "../tool.ts"

/** Resolves a host name to IP addresses. Called once for each request; the request connects to these addresses only. */
export type Resolve = (host: string) => Promise<string[]>

export interface AddressOptions {
  resolve?: Resolve
  context: DescribeContext
}

const urlCharactersMax = 8_192

/**
 * Parses a URL into the form that permission rules match: scheme and host in lower case, IPv4 addresses in dotted decimal,
 * host names in ASCII and without a final dot, no default port, no fragment. Throws an Error for a URL that webfetch never
 * fetches.
 */
export function parseWebUrl(text: string, base?: URL): URL {
  const url = text.length <= urlCharactersMax ? URL.parse(text, base?.href) : null
  if (url === null)
    throw new Error("The value of `url` is not a URL. Give an absolute URL that begins with https://.")
  if (url.protocol !== "https:" && url.protocol !== "http:") {
    throw new Error(`Only http and https URLs can be fetched, not ${url.protocol.slice(0, 40)}.`)
  }
  if (url.username !== "" || url.password !== "") {
    throw new Error("The URL contains a user name or password. Remove it from the URL.")
  }
  if (url.hostname.endsWith(".")) url.hostname = url.hostname.slice(0, -1)
  // A `*` in the host would become a wildcard in an "always" rule that is made from this URL.
  if (!/^(?:[a-z0-9_-]+(?:\.[a-z0-9_-]+)*|\[[0-9a-f:]+\])$/.test(url.hostname)) {
    throw new Error(`The host of the URL is not a valid name: ${url.hostname.slice(0, 100)}`)
  }
  url.hash = ""
  return url
}

/** The host in the form that sockets expect: IPv6 addresses without brackets. */
export function hostOf(url: URL): string {
  return url.hostname.startsWith("[") ? url.hostname.slice(1, -1) : url.hostname
}

/** The pattern that `private_host` rules are matched with. It always contains the port. */
function privateHostPattern(url: URL): string {
  return `${url.hostname}:${portOf(url)}`
}

function portOf(url: URL): string {
  return url.port || (url.protocol === "https:" ? "443" : "80")
}

/** Throws if the host is a private address or `localhost` as written and no rule names it. Makes no DNS query. */
export async function refuseWrittenPrivate(url: URL, context: DescribeContext): Promise<void> {
  const host = hostOf(url)
  const isPrivate = isIP(host) === 0 ? /(^|\.)localhost$/.test(host) : !(await isPublicAddress(host))
  if (isPrivate && !isNamed(url, context)) throw privateRefusal(url)
}

/**
 * All addresses of the URL's host. If any of them is not public, a rule must name the host. The caller must connect to these
 * addresses: a second DNS lookup may return different ones.
 */
export async function checkedAddresses(
  url: URL,
  { resolve = lookUp, context }: AddressOptions,
): Promise<string[]> {
  const host = hostOf(url)
  const addresses = isIP(host) === 0 ? await resolve(host) : [host]
  if (addresses.length === 0) throw new Error(`The host ${url.hostname} has no address.`)
  const isPublic = await Promise.all(addresses.map(isPublicAddress))
  if (isPublic.includes(false) && !isNamed(url, context)) throw privateRefusal(url)
  return addresses
}

async function lookUp(host: string): Promise<string[]> {
  const { lookup } = await import("node:dns/promises")
  const found = await lookup(host, { all: true }).catch((error: NodeJS.ErrnoException) => {
    throw new Error(`The host ${host} was not found (${error.code ?? "no answer"}).`)
  })
  return found.map(({ address }) => address)
}

/** A host that no rule names: the domain `.invalid` is reserved and never registered. */
const unnamedHost = "no-rule-names-this-host.invalid"

/** True if a rule allows this host by name. A rule that also allows every other host does not count. */
function isNamed(url: URL, context: DescribeContext): boolean {
  const allows = (pattern: string): boolean =>
    context.decide({ permission: "private_host", patterns: [pattern] }) === "allow"
  return allows(privateHostPattern(url)) && !allows(`${unnamedHost}:${portOf(url)}`)
}

function privateRefusal(url: URL): Error {
  const pattern = privateHostPattern(url)
  return new Error(
    `${url.hostname} does not have a public address. It is fetched only if a rule of the user names it, ` +
      `such as {"private_host": {"*": "deny", "${pattern}": "allow"}}; a rule for every host is not enough.`,
  )
}

/** The metadata service of Azure: a public address that hands out credentials to machines inside the cloud. */
const publicMetadata = "168.63.129.16"

/** True for a public internet address. Reserved ranges and IPv6 addresses that embed a private IPv4 address are not public. */
export async function isPublicAddress(text: string): Promise<boolean> {
  const { default: ipaddr } = await import("ipaddr.js")
  if (isIP(text) === 0) return false
  const address = ipaddr.parse(text)
  if (address instanceof ipaddr.IPv4)
    return address.range() === "unicast" && address.toString() !== publicMetadata
  if (address.zoneId !== undefined) return false
  if (address.isIPv4MappedAddress()) return isPublicAddress(address.toIPv4Address().toString())
  const bytes = address.toByteArray()
  // NAT64 networks reach IPv4 hosts through this prefix (RFC 6052), so the embedded IPv4 address decides.
  if (address.match(ipaddr.IPv6.parse("64:ff9b::"), 96)) return isPublicAddress(bytes.slice(12).join("."))
  const global = address.match(ipaddr.IPv6.parse("2000::"), 3)
  return global && address.range() === "unicast"
}
