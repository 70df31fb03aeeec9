/** `url` as others are put behind it. By hand: the expression for this takes time with the square of a text of slashes. */
export function withoutTrailingSlashes(url: string): string {
  let end = url.length;
  while (url[end - 1] === '/') end--;
  return url.slice(0, end);
}
