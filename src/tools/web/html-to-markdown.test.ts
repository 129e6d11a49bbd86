import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { type HtmlOptions, htmlToMarkdown } from "./html-to-markdown.ts"

const base = new URL("https://example.com/a/b")
const convert = async (html: string, options: Partial<HtmlOptions> = {}): Promise<string> =>
  (await htmlToMarkdown(html, { base, ...options })).text

const manyAttributes = Array.from({ length: 5_000 }, (_, number) => `a${number}=1`).join(" ")

describe("a page as Markdown", () => {
  test.each([
    ["headings", "<h1>One</h1><h3>Three <em>x</em></h3>text", "# One\n\n### Three *x*\n\ntext"],
    ["paragraphs without end tags", "<p>a<p>b<div>c</div>d", "a\n\nb\n\nc\nd"],
    ["white space", "  a \n\n\t b&nbsp;&nbsp;c  ", "a b c"],
    ["line breaks", "a<br>b<br/>c", "a\nb\nc"],
    ["marks around words only", "<b> a </b>b <i></i><strong>c</strong>", "**a** b **c**"],
    ["links", "<a href='c?x=(1)'>t</a>", "[t](https://example.com/a/c?x=%281%29)"],
    ["links around blocks", "<a href='/x'><h3>T</h3><p>d</p></a>", "[T d](https://example.com/x)"],
    ["links that are not ended", "<a href='/x'>t<ul><li>a</ul>", "[t](https://example.com/x)\n\n- a"],
    ["no link to a script", "<a href='javascript:x()'>t</a><a href=' data:,x'>u</a>", "tu"],
    ["no link within the page", "<a href='#x'>t</a>", "t"],
    ["no empty link", "a<a href='/x'></a>b", "ab"],
    [
      "images that say what they show",
      "<img src=i.png alt='A  b'><img src=j.png>",
      "![A b](https://example.com/a/i.png)",
    ],
    ["lists", "<ul><li>a<li>b<ol start=3><li>c<li>d</ol></ul>e", "- a\n- b\n  3. c\n  4. d\n\ne"],
    ["list items with paragraphs", "<ul><li><p>a</p></li><li><p>b</p></li></ul>", "- a\n- b"],
    ["quotations", "<blockquote>a<br>b</blockquote>c", "> a\n> b\n\nc"],
    ["code", "use <code>a &lt; b</code>.", "use `a < b`."],
    [
      "code blocks",
      '<pre><code class="x language-ts">\na\n\n  <b>b</b>\n</code></pre>',
      "```ts\na\n\n  b\n```",
    ],
    ["code blocks in lists", "<ul><li>a<pre>b\nc</pre></ul>", "- a\n\n  ```\n  b\n  c\n  ```"],
    [
      "tables",
      "<table><tr><th>A<th>B|C<tr><td><p>1</p><ul><li>x</ul><td></td></table>",
      "| A | B\\|C |\n| --- | --- |\n| 1 x |  |",
    ],
    [
      "tables that arrange the page",
      "<table><tr><td><table><tr><td>a<td>b</table><td>c</table>",
      "| a | b |\n| --- | --- |\n\nc",
    ],
    ["rules", "a<hr>b", "a\n\n---\n\nb"],
    [
      "character references",
      "&lt;&amp;&eacute;&#x4e2d;&#20013;&hellip;&nosuch;&#0;&#xd800;&CounterClockwiseContourIntegral;&copy 1",
      "<&é中中…&nosuch;\ufffd\ufffd∳© 1",
    ],
    ["text with signs", "1 < 2 && 3 > 2 <3", "1 < 2 && 3 > 2 <3"],
  ])("keeps %s", async (_name, html, expected) => {
    expect(await convert(html)).toBe(expected)
  })

  test.each([
    ["scripts", "<script>if (a<b) '</scr' + '<p>x'</script>"],
    ["scripts in odd spelling", "<SCRIPT\n>x</ScRiPt\n>"],
    ["scripts with an attribute that holds a tag end", "<script a='>'>x</script>"],
    ["styles", "<style>p { x }</style>"],
    ["what is for browsers without scripts", "<noscript><p>x</p></noscript>"],
    ["templates", "<template><div>x</div><template>x</template></template>"],
    [
      "frames, drawings and media",
      "<iframe>x</iframe><svg><title>x</title><text>x</text></svg><video>x</video>",
    ],
    ["comments", "<!-- x --><!doctype x><?x y?></3 x>"],
    ["hidden elements", "<div hidden>x<p>x</div><p style='color:red; DISPLAY : none'>x</p>"],
    ["hidden elements in hidden ones", "<div hidden><span hidden>x</span>x</div>"],
    ["hidden elements with thousands of attributes", `<div ${manyAttributes} hidden>x</div>`],
    ["hidden elements with a long style", `<div style='${"color:red;".repeat(1_000)}display:none'>x</div>`],
    ["hidden elements around an end tag in a table cell", "<div hidden><table><td></div>x</table></div>"],
    ["hidden elements around an end tag in noscript", "<div hidden><noscript></div></noscript>x</div>"],
    ["hidden elements around an end tag in a template", "<div hidden><template></div></template>x</div>"],
    ["a tag that never ends", "<p><a href='x"],
  ])("leaves out %s", async (_name, html) => {
    const visible = html.startsWith("<p><a") ? `ab${html}` : `a${html}b`
    expect((await convert(visible)).replace(/\s/g, "")).toBe("ab")
  })

  test("a script that never ends hides the rest of the page, as in a browser", async () => {
    expect(await convert("a<script>b</div>c")).toBe("a")
  })

  test("a page that hides itself until a script has run is shown", async () => {
    expect(await convert("<body style='display:none'>text")).toBe("text")
  })

  test("returns the title separately", async () => {
    const page = await htmlToMarkdown("<head><title> A &amp;\n <b> </title></head>text", { base })
    expect(page).toEqual({ title: "A & <b>", text: "text" })
  })

  test("is the same wherever the text is split for the tokenizer", async () => {
    const html = "a 😀 &eacute;\r\n<b title='&amp;'>y</b><!-- z --><title>T</title><pre>\r\nd\r\n</pre>"
    const expected = "a 😀 é **y**\n\n```\nd\n```"
    for (let cut = 0; cut <= html.length; cut++) {
      const page = await htmlToMarkdown(`<!--${"-".repeat(16 * 1024 - 7 - cut)}-->${html}`, { base })
      expect(page, `cut at ${cut}`).toEqual({ title: "T", text: expected })
    }
  })

  test("as plain text has words and lines only", async () => {
    const html =
      "<h1>T</h1><p>a <b>b</b> <a href=/x>c</a></p><pre>\nd\n e</pre><table><tr><td>1<td>2|3</table>"
    expect(await convert(html, { plain: true })).toBe("T\n\na b c\n\nd\n e\n\n1 | 2|3")
  })
})

describe("a hostile page", () => {
  const units = [
    "<div>",
    "<b>x",
    "<blockquote>x",
    "<ul><li>x",
    "<a href=x>x",
    "<",
    "</",
    "<!--",
    "<a x='",
    "<a x=y ",
    "&",
    "&#",
    "<script>",
    "<script></script>",
    "<pre>\n",
    "<table><tr><td>x",
    "<td><b></b>",
    "<b><i></b>",
    "<h1><p>",
    " \n",
    "<p hidden>",
  ]

  test.each(units)("made of %j takes time in proportion to its length", async (unit) => {
    const spent = async (characters: number): Promise<number> => {
      const before = process.cpuUsage()
      await convert(unit.repeat(Math.ceil(characters / unit.length)))
      const { user, system } = process.cpuUsage(before)
      return (user + system) / 1_000
    }
    await spent(20_000)
    const small = await spent(100_000)
    // Ten times as much; quadratic work would take a hundred times as long.
    expect(await spent(1_000_000)).toBeLessThan(40 * Math.max(small, 10))
  })

  test("with deep nesting before many unmatched end tags takes linear time too", async () => {
    const html = `<i>${"<b>".repeat(5_000)}${"</i><li></li>".repeat(50_000)}text`
    expect(await convert(html)).toContain("text")
  })

  test("cannot produce a very long text from a short one", async () => {
    const far = new URL(`https://example.com/${"p".repeat(1_900)}`)
    const text = await convert("<a href='?'>x</a>".repeat(100_000), { base: far })
    expect(text.length).toBeLessThan(5_100_000)
    expect(text).toContain("was cut here")
  })

  test("of any tags in any order is converted, and no hidden text appears", async () => {
    const names = "p div a b code pre ul ol li table tr td h1 blockquote span br img title".split(" ")
    const piece = fc.oneof(
      fc.constantFrom(...names).map((name) => `<${name} href=x alt=y>`),
      fc.constantFrom(...names).map((name) => `</${name}>`),
      fc.constant("<script>HIDDEN</script><div hidden>HIDDEN</div><!--HIDDEN-->"),
      fc.constantFrom("word ", "\n", "< ", ">", "&amp;", "'", '"'),
    )
    await fc.assert(
      fc.asyncProperty(fc.array(piece, { maxLength: 60 }), fc.boolean(), async (pieces, plain) => {
        const text = await convert(pieces.join(""), { plain })
        // Inside a title everything is text; browsers show that in the window's frame.
        if (pieces.some((each) => each.startsWith("<title"))) return
        expect(text).not.toContain("HIDDEN")
        expect(text.split("word").length).toBe(pieces.filter((each) => each === "word ").length + 1)
      }),
    )
  })

  test("does not block the event loop, and the conversion ends on abort", async () => {
    const controller = new AbortController()
    const timer = setTimeout(() => controller.abort(new Error("enough")), 1)
    const converting = convert("<p>x".repeat(1_000_000), { signal: controller.signal })
    await expect(converting).rejects.toThrow("enough")
    clearTimeout(timer)
  })
})
