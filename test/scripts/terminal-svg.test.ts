import xterm from '@xterm/headless';
import { describe, expect, it, onTestFinished } from 'vitest';
import { drawScreen } from '../../scripts/terminal-svg.ts';

async function drawn(text: string): Promise<string> {
  const terminal = new xterm.Terminal({ cols: 20, rows: 5, allowProposedApi: true });
  onTestFinished(() => terminal.dispose());
  await new Promise<void>((resolve) => terminal.write(text, resolve));
  return drawScreen(terminal, 'a <title>');
}

describe('the picture of a terminal', () => {
  it('has each stretch of text where it stands, and its title', async () => {
    const svg = await drawn('one  two & <three>\r\n\r\nfour');
    expect(svg).toMatch(/^<svg [^>]*width="200" height="107"/);
    expect(svg).toContain('<title>a &lt;title&gt;</title>');
    expect(
      svg.match(/<text [^>]*>[^<]*<\/text>/g)?.map((text) => text.replace(/<[^>]*>/g, '')),
    ).toEqual(['one', 'two &amp; &lt;three&gt;', 'four']);
    expect(svg).toMatch(/<text x="58.0" y="47.7"[^>]*textLength="109.2"[^>]*>two/);
  });

  it('keeps colour, bold, dim and inverse', async () => {
    const svg = await drawn(
      '\x1b[31mred\x1b[0m \x1b[1mbold\x1b[0m \x1b[2mdim\x1b[0m \x1b[7m in \x1b[0m',
    );
    expect(svg).toMatch(/fill="#ff7b72"[^>]*>red</);
    expect(svg).toMatch(/font-weight="700"[^>]*>bold</);
    expect(svg).toMatch(/opacity="0.6"[^>]*>dim</);
    expect(svg).toMatch(
      /<rect [^>]*width="33.6"[^>]*fill="#d7dde4"\/>\n<text [^>]*fill="#0d1117"[^>]*> in </,
    );
  });
});
