/** The style sheet of the page, for light and dark mode. */
export const style = `:root { color-scheme: light dark; --line: #8884; --soft: #8881; }
* { box-sizing: border-box; }
body { margin: 0; display: grid; grid-template-columns: minmax(16rem, 22rem) 1fr; font: 15px/1.5 system-ui, sans-serif; }
nav { position: sticky; top: 0; height: 100vh; overflow: auto; padding: 1rem; border-right: 1px solid var(--line); }
nav h1 { margin: 0 0 1rem; font-size: 1.2rem; }
nav ul { margin: 0 0 .5rem; padding: 0; list-style: none; font: 12px/1.7 ui-monospace, monospace; }
nav li { white-space: nowrap; overflow: hidden; text-overflow: ellipsis; }
nav summary { cursor: pointer; font-weight: 600; }
main { padding: 1rem 2rem 40vh; min-width: 0; max-width: 70rem; }
h2 { margin: 3rem 0 0; padding-bottom: .3rem; border-bottom: 1px solid var(--line); }
h3 { margin: 2rem 0 .3rem; font-size: 1rem; }
h4 { margin: .8rem 0 .2rem; font-size: .85rem; }
section { scroll-margin-top: 1rem; }
section:target { background: var(--soft); outline: .5rem solid var(--soft); }
a { color: inherit; text-decoration-color: #8888; }
code { font: .9em ui-monospace, monospace; overflow-wrap: break-word; }
pre { margin: .2rem 0; padding: .5rem .7rem; background: var(--soft); white-space: pre-wrap; overflow-wrap: break-word; }
main { overflow-wrap: break-word; }
small { opacity: .7; }
table { width: 100%; border-collapse: collapse; }
th, td { padding: .25rem .6rem .25rem 0; border-bottom: 1px solid var(--line); text-align: left; vertical-align: top; }
th { font-size: .8rem; font-weight: 600; opacity: .7; }
.GET { color: #2a7; } .POST { color: #28c; } .PUT, .PATCH { color: #b80; } .DELETE { color: #d44; }
@media (max-width: 50rem) { body { display: block; } nav { position: static; height: auto; max-height: 40vh; border: 0; } main { padding: 1rem; } }
`
