import { expect, test } from "vitest"
import { declared } from "../tools/api-doc.ts"

const text = `
/** Not this one. */
export interface Thingy {
    a: string;
}
/**
 * A thing. It has a
 * second sentence.
 */
export declare class Thing implements Disposable {
    #private;
    readonly name: string;
    constructor(options: {
        name: string;
    });
    /** How large it is: \`a.b\` pieces. Never negative. */
    get size(): number;
    /**
     * Finds one thing
     * by its name.
     */
    find(query: {
        name?: string;
    }): Promise<string | undefined>;
    open({ port, host, }?: Options): void;
    [Symbol.dispose](): void;
}
`

test("the API page has each public member with the first sentence of its comment", () => {
  expect(declared(text, "Thing")).toEqual({
    comment: "A thing.",
    members: [
      { signature: "name: string", comment: "" },
      { signature: "size: number", comment: "How large it is: `a.b` pieces." },
      {
        signature: "find(query: { name?: string }): Promise<string | undefined>",
        comment: "Finds one thing by its name.",
      },
      { signature: "open(options?: Options): void", comment: "" },
    ],
  })
})

test("the API page refuses a class that is not in the source code", () => {
  expect(() => declared(text, "Nothing")).toThrow("Nothing")
})
