/** Line numbers in a YAML file, for messages. */

import { isMap, isNode, isSeq, type Document, type LineCounter } from 'yaml'

/** The line of the key or list entry at `path` in a YAML document, or of the nearest parent that stands in the text; 1 or more. */
export function lineOf(
  path: readonly PropertyKey[],
  document: Document.Parsed,
  lines: LineCounter,
): number {
  for (let length = path.length; length > 0; length -= 1) {
    const parent =
      length === 1 ? document.contents : document.getIn(path.slice(0, length - 1), true)
    const name = path[length - 1]
    const node = isMap(parent)
      ? parent.items.find((item) => String(item.key) === String(name))?.key
      : isSeq(parent) && parent.items[Number(name)]
    if (isNode(node) && node.range) return lines.linePos(node.range[0]).line
  }
  return 1
}
