import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { loadConfig } from '../../lib/config/load.ts';

const docs = `${import.meta.dirname}/../../docs`;
const page = readFileSync(`${docs}/migrating.md`, 'utf8');

/** Sections of the page, by their titles. */
const sections = page
  .split(/^## /m)
  .slice(1)
  .map((text) => ({ title: text.split('\n', 1)[0] ?? '', text }));

const examples = sections.flatMap(({ title, text }) =>
  [...text.matchAll(/^```yaml\n(# nodegap\.yaml\n[\s\S]*?)^```$/gm)].map(([, yaml = '']) => ({
    title,
    yaml,
  })),
);

const tools = sections.map(({ title }) => title).filter((title) => title !== 'In one table');

describe('docs/migrating.md', () => {
  test('has a nodegap.yaml for each tool', () => {
    expect(tools.length).toBe(8);
    expect([...new Set(examples.map(({ title }) => title))]).toEqual(tools);
  });

  test.each(examples)('shows a nodegap.yaml for $title that loads', ({ yaml }) => {
    expect(loadConfig(yaml, 'nodegap.yaml').config.clusters).toHaveLength(1);
  });

  test.each(sections)('names under $title no page that is not there', ({ text }) => {
    const pages = [...text.matchAll(/\]\(([\w-]+\.md)(?:#[\w-]+)?\)/g)].map(([, name]) => name);
    expect(pages.filter((name) => !existsSync(`${docs}/${name}`))).toEqual([]);
  });

  test('has its table link to each section', () => {
    const anchors = [...page.matchAll(/\]\(#([\w-]+)\)/g)].map(([, anchor]) => anchor);
    const titles = tools.map((title) => title.toLowerCase().replaceAll(' ', '-'));
    expect([...new Set(anchors)].sort()).toEqual(titles.sort());
  });
});
