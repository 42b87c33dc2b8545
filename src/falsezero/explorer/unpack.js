// Decode the text in the page into the fit and its table.

const DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%,()*+-;.=/?@^_:{|}~";

export async function unpack(text) {
  const blank = text.indexOf(" ");
  const packed = fromBase85(text.slice(blank + 1)).subarray(0, Number(text.slice(0, blank)));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  const size = new DataView(bytes.buffer).getUint32(0, true);
  const fit = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + size)));
  let at = 4 + size;
  for (const { name, type, count } of fit.sections) {
    const width = type === "bytes" ? 1 : type === "planes2" ? 2 : 4;
    fit[name] = joinPlanes(bytes.subarray(at, (at += width * count)), count, width);
  }
  return fit;
}

function fromBase85(text) {
  const value = new Uint8Array(128);
  for (let i = 0; i < 85; i++) value[DIGITS.charCodeAt(i)] = i;
  const bytes = new Uint8Array((text.length / 5) * 4);
  const view = new DataView(bytes.buffer);
  for (let i = 0, at = 0; i < text.length; at += 4) {
    let word = 0;
    for (let j = 0; j < 5; j++) word = word * 85 + value[text.charCodeAt(i++)];
    view.setUint32(at, word);
  }
  return bytes;
}

// Numbers are stored as planes of bytes, high bytes first: similar bytes compress better.
function joinPlanes(bytes, count, width) {
  if (width === 1) return bytes;
  const numbers = new Uint32Array(count);
  for (let p = 0; p < width; p++)
    for (let i = 0; i < count; i++) numbers[i] = numbers[i] * 256 + bytes[p * count + i];
  return numbers;
}

// Cells as the gaps between them; 255 continues in the next byte.
export function fillGaps(cells, gaps, code) {
  let at = -1;
  for (const gap of gaps) {
    at += gap;
    if (gap < 255) cells[++at] = code;
  }
}

// The table: the prediction of the factors, and the cells where it is wrong.
export function readCells(packed) {
  const [n, t] = packed.shape,
    { cuts, mostly_one } = packed,
    bins = new Uint8Array(n * t),
    sizes = new Uint32Array(cuts.length + 2);
  expect(packed, n, t, (at, expected) => {
    bins[at] = above(cuts, expected);
    sizes[bins[at] + 1]++;
  });
  for (let i = 1; i < sizes.length; i++) sizes[i] += sizes[i - 1];
  const surprising = new Uint8Array(n * t),
    cells = new Uint8Array(n * t);
  fillGaps(surprising, packed.surprises, 1);
  for (let at = 0; at < cells.length; at++)
    cells[at] = surprising[sizes[bins[at]]++] ^ mostly_one[bins[at]];
  fillGaps(cells, packed.missing, 2);
  return cells;
}

// How many of the sorted numbers are not above x.
function above(sorted, x) {
  let low = 0,
    high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle] <= x) low = middle + 1;
    else high = middle;
  }
  return low;
}

// In whole numbers, so that the result is the same on every machine.
function expect(packed, n, t, tell) {
  const k = packed.kinds.length,
    weights = whole(packed, "weight"),
    components = whole(packed, "component"),
    sums = new Float64Array(t);
  for (let r = 0; r < n; r++) {
    let total = 0;
    sums.fill(0);
    for (let i = 0; i < k; i++) {
      const w = weights[i * n + r],
        from = i * t;
      total += Math.abs(w);
      if (w) for (let c = 0; c < t; c++) sums[c] += w * components[from + c];
    }
    total = Math.max(total, 1);
    for (let c = 0; c < t; c++) tell(r * t + c, sums[c] / total);
  }
}

function whole(packed, name) {
  const levels = packed[`${name}_levels`],
    shift = packed[`${name}_shift`],
    power = packed[`${name}_power`];
  return Float64Array.from(packed[`${name}s`], (code) => {
    if (shift) return 2 * code - levels;
    const step = Math.floor((255 * code) / levels);
    let product = 1;
    for (let i = 0; i < power; i++) product *= step;
    return product;
  });
}

export function readFactors(packed, name, count, width) {
  const [range, levels, shift, power] = ["range", "levels", "shift", "power"].map(
    (what) => packed[`${name}_${what}`],
  );
  const codes = packed[`${name}s`];
  return Array.from({ length: count }, (_, i) =>
    Float64Array.from(
      codes.subarray(i * width, (i + 1) * width),
      (code) => range * (code / levels - shift) ** power,
    ),
  );
}
