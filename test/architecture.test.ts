/**
 * Imports point one way (functions → lib; local → lib, functions; cli → lib, local; cdk → lib), the
 * domain knows neither CDK nor Lambda, and files stay short. What is in the bundles of the functions
 * is checked in test/cdk/bundles.test.ts.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { builtinModules } from 'node:module';
import { dirname, join, relative } from 'node:path';
import { describe, expect, it } from 'vitest';

const root = join(import.meta.dirname, '..');
const allowed: Record<string, string[]> = {
  lib: ['lib'],
  functions: ['functions', 'lib'],
  local: ['local', 'lib', 'functions'],
  cli: ['cli', 'lib', 'local'],
  cdk: ['cdk', 'lib'],
};
const folders = Object.keys(allowed);

interface Source {
  file: string;
  folder: string;
  lines: number;
  imports: string[];
}

const sources: Source[] = folders.flatMap((folder) =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .map((file) => {
      const path = `${folder}/${file}`;
      const text = readFileSync(join(root, path), 'utf8');
      return {
        file: path,
        folder,
        lines: text.trimEnd().split('\n').length,
        imports: importsOf(text),
      };
    }),
);

/** What a file imports or exports again, types included, statically or not. */
function importsOf(text: string): string[] {
  const forms = [/\bfrom\s+'([^']+)'/g, /\bimport\s+'([^']+)'/g, /\bimport\(\s*'([^']+)'/g];
  return forms.flatMap((form) => [...text.matchAll(form)].map((match) => match[1] ?? ''));
}

/** The import as a path from the root of the project, for relative ones. */
function targetOf(source: Source, specifier: string): string {
  return relative(root, join(root, dirname(source.file), specifier));
}

function packageOf(specifier: string): string | undefined {
  if (specifier.startsWith('.') || specifier.startsWith('node:')) return undefined;
  const [scope = '', name = ''] = specifier.split('/');
  return scope.startsWith('@') ? `${scope}/${name}` : scope;
}

const packages = (source: Source) =>
  source.imports.map(packageOf).filter((each) => each !== undefined);

/** Files that import something that `isWrong`, as `file → import`. */
function offenders(
  of: Source[],
  isWrong: (source: Source, specifier: string) => boolean,
): string[] {
  return of.flatMap((source) =>
    source.imports
      .filter((specifier) => isWrong(source, specifier))
      .map((specifier) => `${source.file} → ${specifier}`),
  );
}

describe('imports', () => {
  it('are found at all', () => {
    expect(sources.length).toBeGreaterThan(200);
    expect(sources.flatMap(({ imports }) => imports).length).toBeGreaterThan(800);
  });

  it.each(folders)('of %s point one way', (folder) => {
    const own = sources.filter((source) => source.folder === folder);
    const wrong = offenders(own, (source, specifier) => {
      if (!specifier.startsWith('.')) return false;
      const [target = ''] = targetOf(source, specifier).split('/');
      return allowed[folder]?.includes(target) !== true;
    });
    expect(wrong).toEqual([]);
  });

  it('carry their extension, as Node.js runs them', () => {
    const wrong = offenders(
      sources,
      (_source, specifier) => specifier.startsWith('.') && !/\.(ts|json)$/.test(specifier),
    );
    expect(wrong).toEqual([]);
  });

  it('name built-in modules as such', () => {
    expect(offenders(sources, (_source, specifier) => builtinModules.includes(specifier))).toEqual(
      [],
    );
  });
});

describe('the domain', () => {
  const lib = sources.filter(({ folder }) => folder === 'lib');
  const isOf = (specifier: string, ...names: (string | RegExp)[]) => {
    const name = packageOf(specifier) ?? '';
    return names.some((each) => (typeof each === 'string' ? each === name : each.test(name)));
  };

  it('knows neither CDK nor Lambda', () => {
    const wrong = offenders(lib, (_source, specifier) =>
      isOf(
        specifier,
        'aws-cdk-lib',
        'constructs',
        'cdk-nag',
        'aws-lambda',
        /^@aws-lambda-powertools/,
      ),
    );
    expect(wrong).toEqual([]);
  });

  it('reaches AWS only through its adapters in lib/aws', () => {
    const others = lib.filter(({ file }) => !file.startsWith('lib/aws/'));
    expect(offenders(others, (_source, specifier) => isOf(specifier, /^@aws-sdk/))).toEqual([]);
  });

  it('reaches Kubernetes only through lib/kubernetes', () => {
    const others = lib.filter(({ file }) => !file.startsWith('lib/kubernetes/'));
    const wrong = offenders(others, (_source, specifier) =>
      isOf(specifier, '@kubernetes/client-node'),
    );
    expect(wrong).toEqual([]);
  });
});

describe('packages', () => {
  const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    dependencies: Record<string, string>;
    devDependencies: Record<string, string>;
  };

  it('that run at a user or in Lambda are dependencies', () => {
    const shipped = sources.filter(({ folder }) => folder !== 'cdk');
    const used = new Set(shipped.flatMap(packages));
    // Types only; nothing of it is there at run time.
    used.delete('aws-lambda');
    // In a checkout only: the package carries what it made.
    used.delete('esbuild');
    expect([...used].filter((name) => manifest.dependencies[name] === undefined)).toEqual([]);
  });
});

describe('a source file', () => {
  it('has at most 300 lines', () => {
    expect(sources.filter(({ lines }) => lines > 300).map(({ file }) => file)).toEqual([]);
  });
});
