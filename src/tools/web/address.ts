import { isIP } from "node:net"
import type { DescribeContext } from "../tool.ts"

/** The addresses of a host, as text. Called once for each request; the request goes to these and to no others. */
export type Resolve = (host: string) => Promise<string[]>

export interface AddressOptions {
  resolve?: Resolve
  context: DescribeContext
}

const urlCharactersMax = 8_192

/**
 * An address as the rules see it: scheme and host in lower case, odd spellings of an IPv4 address in the usual one, names
 * in ASCII and without the dot at the end, no default port, no fragment. Throws an Error for what is never fetched.
 */
export function parseWebUrl(text: string, base?: URL): URL {
  const url = text.length <= urlCharactersMax ? URL.parse(text, base?.href) : null
  if (url === null) throw new Error("This is not a URL: give an absolute one that begins with https://.")
  if (url.protocol !== "https:" && url.protocol !== "http:") {
    throw new Error(`Only http and https URLs can be fetched, not ${url.protocol.slice(0, 40)}.`)
  }
  if (url.username !== "" || url.password !== "") {
    throw new Error("A URL with a user name or password in it is not fetched: leave them out.")
  }
  if (url.hostname.endsWith(".")) url.hostname = url.hostname.slice(0, -1)
  // Wildcards above all: in a rule that is kept, they would stand for other hosts.
  if (!/^(?:[a-z0-9_-]+(?:\.[a-z0-9_-]+)*|\[[0-9a-f:]+\])$/.test(url.hostname)) {
    throw new Error("The URL's host is not a valid name.")
  }
  url.hash = ""
  return url
}

/** The host as sockets want it: IPv6 without brackets. */
export function hostOf(url: URL): string {
  return url.hostname.startsWith("[") ? url.hostname.slice(1, -1) : url.hostname
}

/** What rules for `private_host` are matched with. The port is always there. */
export function privateHostPattern(url: URL): string {
  return `${url.hostname}:${portOf(url)}`
}

function portOf(url: URL): string {
  return url.port || (url.protocol === "https:" ? "443" : "80")
}

/** Throws if the URL's host can be told to be private by its spelling alone and no rule names it. Asks no name server. */
export async function refuseWrittenPrivate(url: URL, context: DescribeContext): Promise<void> {
  const host = hostOf(url)
  const isPrivate = isIP(host) === 0 ? /(^|\.)localhost$/.test(host) : !(await isPublicAddress(host))
  if (isPrivate && !isNamed(url, context)) throw privateRefusal(url)
}

/**
 * Every address of the URL's host. If only one of them is not public, a rule must name the host. Connect to these: a name
 * that is looked up again may lead somewhere else.
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

/** Stands for every host that no rule speaks of; names under `.invalid` are never anybody's. */
const nobodysHost = "no-rule-names-this-host.invalid"

/** A rule that would allow any other host too names none. */
function isNamed(url: URL, context: DescribeContext): boolean {
  const allows = (pattern: string): boolean =>
    context.decide({ permission: "private_host", patterns: [pattern] }) === "allow"
  return allows(privateHostPattern(url)) && !allows(`${nobodysHost}:${portOf(url)}`)
}

function privateRefusal(url: URL): Error {
  const pattern = privateHostPattern(url)
  return new Error(
    `${url.hostname} does not have a public address. It is fetched only if a rule of the user names it, ` +
      `such as {"private_host": {"*": "deny", "${pattern}": "allow"}}; a rule for every host is not enough.`,
  )
}

/** A public address that answers only from inside a cloud and gives out credentials there. */
const publicMetadata = "168.63.129.16"

/** True for an address of the open internet. What is unknown, special, or hides a private IPv4 address is not one. */
export async function isPublicAddress(text: string): Promise<boolean> {
  const { default: ipaddr } = await import("ipaddr.js")
  if (isIP(text) === 0) return false
  const address = ipaddr.parse(text)
  if (address instanceof ipaddr.IPv4)
    return address.range() === "unicast" && address.toString() !== publicMetadata
  if (address.zoneId !== undefined) return false
  if (address.isIPv4MappedAddress()) return isPublicAddress(address.toIPv4Address().toString())
  const bytes = address.toByteArray()
  // Networks without IPv4 reach every IPv4 host through this prefix (RFC 6052), so it is judged by what it stands for.
  if (address.match(ipaddr.IPv6.parse("64:ff9b::"), 96)) return isPublicAddress(bytes.slice(12).join("."))
  const global = address.match(ipaddr.IPv6.parse("2000::"), 3)
  return global && address.range() === "unicast"
}
