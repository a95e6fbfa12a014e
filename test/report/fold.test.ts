import { describe, expect, it } from 'vitest';
import { fold } from '../../lib/report/fold.ts';

describe('fold', () => {
  it('leaves text as it is without a width, or when it fits', () => {
    expect(fold('one two', undefined)).toEqual(['one two']);
    expect(fold('one two', 7)).toEqual(['one two']);
  });

  it('breaks between words and indents what follows', () => {
    expect(fold('one two three', 7)).toEqual(['one two', '  three']);
    expect(fold('one two', 6)).toEqual(['one', '  two']);
  });

  it('breaks a word that has no room after dots, slashes and brackets', () => {
    expect(fold('spec.taints[0].value', 12)).toEqual(['spec.', '  taints[0].', '  value']);
    expect(fold('see registry/very/long/image', 12)).toEqual([
      'see',
      '  registry/',
      '  very/long/',
      '  image',
    ]);
  });

  it('leaves a word that has nowhere to be broken as it is', () => {
    expect(fold('a incomprehensibilities b', 10)).toEqual(['a', '  incomprehensibilities', '  b']);
    expect(fold('.incomprehensibilities', 10)).toEqual(['.incomprehensibilities']);
  });
});
