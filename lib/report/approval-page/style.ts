/** The style sheet of the page, allowed by its hash. */
export const style = `
:root { color-scheme: light dark; --ink: #1b1f24; --paper: #ffffff; --soft: #f3f5f7; --line: #c3cad2; --dim: #4d5763; --go: #0b57b0; --on-go: #ffffff; --bad: #a3161b; --good: #13652c }
@media (prefers-color-scheme: dark) { :root { --ink: #e8ebee; --paper: #14171a; --soft: #1f2429; --line: #505b66; --dim: #aab4be; --go: #8ab8f5; --on-go: #0a1b30; --bad: #ff9d98; --good: #7fd699 } }
* { box-sizing: border-box }
body { margin: 0; background: var(--paper); color: var(--ink); font: 1rem/1.5 system-ui, sans-serif; overflow-wrap: anywhere }
main { max-width: 46rem; margin: 0 auto; padding: 1rem 1rem 3rem }
h1 { font-size: 1.5rem; line-height: 1.25; margin: .5rem 0 }
h2 { font-size: 1.15rem; margin: 2rem 0 .5rem }
h3 { font-size: 1rem; margin: 1rem 0 .25rem }
p, ul, dl { margin: .5rem 0 }
ul { padding-left: 1.25rem }
code { font-family: ui-monospace, monospace; font-size: .92em }
.brand, .dim { color: var(--dim) }
.notice { border: 1px solid var(--line); border-left: .35rem solid var(--go); background: var(--soft); padding: .6rem .9rem; margin: 1rem 0 }
.notice.bad { border-left-color: var(--bad) }
.notice.good { border-left-color: var(--good) }
.notice p:first-child { margin-top: 0 }
.notice p:last-child, .notice ul:last-child { margin-bottom: 0 }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .25rem 1rem }
dt { color: var(--dim) }
dd { margin: 0 }
details { border: 1px solid var(--line); margin: .5rem 0; padding: 0 .9rem }
summary { padding: .6rem 0; cursor: pointer }
fieldset { border: 1px solid var(--line); margin: 1rem 0; padding: .5rem .9rem }
legend { font-weight: 600; padding: 0 .35rem }
.answer { display: grid; grid-template-columns: 1.5rem 1fr; gap: 0 .5rem; padding: .5rem 0 }
.answer input { width: 1.25rem; height: 1.25rem; margin: .15rem 0 0 }
.answer div { grid-column: 2; min-width: 0 }
.answer ul { margin: .25rem 0 }
label { font-weight: 600 }
.field { margin: 1rem 0 }
.field label { display: block }
.field p { margin: .1rem 0 .35rem }
.field input { width: 100%; min-height: 2.75rem; padding: .5rem .6rem; font: inherit; color: inherit; background: var(--paper); border: 1px solid var(--dim); border-radius: .25rem }
.wrong { color: var(--bad) }
[aria-invalid=true] { border-color: var(--bad) !important }
button { min-height: 2.75rem; padding: .5rem 1.25rem; font: inherit; font-weight: 600; color: var(--on-go); background: var(--go); border: 1px solid var(--go); border-radius: .25rem; cursor: pointer }
:focus-visible { outline: .2rem solid var(--go); outline-offset: .15rem }
@media (max-width: 30rem) { dl { grid-template-columns: 1fr; gap: 0 } dd { margin-bottom: .5rem } button { width: 100% } }
`;
