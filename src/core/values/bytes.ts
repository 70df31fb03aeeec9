/**
 * The size of a text, wherever a size is bounded: the bytes it takes in UTF-8, which is how it is sent and stored. A text
 * of ours has up to three times as many as it has characters. Pure, since sandboxes have no Buffer.
 */
export function utf8Bytes(text: string): number {
  let bytes = text.length;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit < 0x80) continue;
    if (unit < 0x800) bytes += 1;
    else {
      bytes += 2;
      // Two units that make one character of four bytes.
      if (unit >= 0xd800 && unit < 0xdc00 && isLowSurrogate(text.charCodeAt(i + 1))) i++;
    }
  }
  return bytes;
}

const isLowSurrogate = (unit: number): boolean => unit >= 0xdc00 && unit < 0xe000;
