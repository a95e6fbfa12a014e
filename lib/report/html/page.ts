/**
 * `nodegap scan -o html`: one page that needs nothing but itself.
 *
 * How it works: head, legend and tables are plain HTML and say everything; the client program
 * (client/main.ts) reads the data below them and adds the map, its filters and the details. The
 * content security policy allows that one script and that one style sheet, by their hashes, and no
 * connection at all; trusted types keep the script from ever making HTML out of text.
 */
import { createHash } from 'node:crypto';
import type { Assets } from './assets.ts';
import { pageData } from './build-data.ts';
import { conditionSection } from './condition-table.ts';
import { countPairs } from './counts.ts';
import { headSection, timeText } from './head.ts';
import type { HtmlInput } from './input.ts';
import { legend } from './legend.ts';
import { html, scriptJson, trusted } from './markup.ts';
import { gapSection, leftOutSection, summarySection, unknownSection } from './tables.ts';

/** The whole page, ending in a newline. Everything from the cluster is escaped. */
export function htmlPage(input: HtmlInput, { script, style }: Assets): string {
  const data = pageData(input);
  const counts = countPairs(data);
  const policy = [
    "default-src 'none'",
    `script-src ${hashOf(script)}`,
    `style-src ${hashOf(style)}`,
    "base-uri 'none'",
    "form-action 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; ');
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<meta name="generator" content="nodegap ${input.version}">
<title>${data.cluster}: gaps at ${timeText(data.now)} – nodegap</title>
<style>${trusted(style)}</style>
</head>
<body>
<nav class="skip" aria-label="Skip"><a class="to-map" href="#map">Skip to the map</a> <a href="#gaps">Skip to the table of gaps</a></nav>
<main>
${headSection(input, counts)}
<div id="app"></div>
<noscript><p class="notices">Without scripts there is no map to search; the tables below hold all gaps.</p></noscript>
${legend()}
${summarySection(data, counts)}
${gapSection(input)}
${conditionSection(input)}
${unknownSection(input)}
${leftOutSection(input)}
</main>
<footer>Made by nodegap ${input.version} from one read of the cluster, as of ${timeText(data.now)}. Nothing was written to it.</footer>
<script type="application/json" id="data">${scriptJson(data)}</script>
<script type="module">${trusted(script)}</script>
</body>
</html>
`.text;
}

/** As a source of the policy: the browser runs an inline script only if its hash is this. */
function hashOf(text: string): string {
  return `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
}
