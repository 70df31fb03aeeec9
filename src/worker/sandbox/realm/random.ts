/** The run's own random numbers: the same sequence on every replay, another one for every run. */

/** Numbers in [0, 1) from `seed`. Good statistics and speed; nothing here is meant to be secret. */
export function randomSequence(seed: string): () => number {
  const hash = hashOf(seed);
  let a = hash();
  let b = hash();
  let c = hash();
  let counter = 1;
  const next = () => {
    // sfc32: three words of state and a counter.
    const sum = (a + b + counter) | 0;
    counter = (counter + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = ((c << 21) | (c >>> 11)) + sum;
    c |= 0;
    return sum >>> 0;
  };
  for (let i = 0; i < 12; i++) next();
  // 53 bits, as many as a double between 0 and 1 can tell apart.
  return () => ((next() >>> 5) * 0x400_0000 + (next() >>> 6)) / 0x20_0000_0000_0000;
}

/** Words that depend on every character of `text`. */
function hashOf(text: string): () => number {
  let state = 0x811c_9dc5;
  for (let i = 0; i < text.length; i++) state = Math.imul(state ^ text.charCodeAt(i), 0x0100_0193);
  return () => {
    state = (state + 0x9e37_79b9) | 0;
    let word = Math.imul(state ^ (state >>> 16), 0x85eb_ca6b);
    word = Math.imul(word ^ (word >>> 13), 0xc2b2_ae35);
    return (word ^ (word >>> 16)) | 0;
  };
}
