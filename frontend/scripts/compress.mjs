// Compresses the built files as small as possible, once. The server sends what a browser accepts: brotli, else gzip.
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath, URL } from "node:url";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";

const folder = fileURLToPath(new URL("../dist/", import.meta.url));
const TEXT = /\.(html|js|css|svg|txt|json)$/;
/** A smaller gain is not worth a second file. */
const WORTHWHILE = 0.95;

function write(path, source, copy) {
  if (copy.length < source.length * WORTHWHILE) writeFileSync(path, copy);
}

for (const name of readdirSync(folder, { recursive: true }).filter((path) => TEXT.test(path))) {
  const path = folder + name;
  const source = readFileSync(path);
  write(`${path}.gz`, source, gzipSync(source, { level: 9 }));
  const params = {
    [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY,
    [constants.BROTLI_PARAM_SIZE_HINT]: source.length,
  };
  write(`${path}.br`, source, brotliCompressSync(source, { params }));
}
