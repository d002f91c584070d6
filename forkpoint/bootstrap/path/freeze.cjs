/**
 * The clock and the random numbers of a Node program with `--freeze`. Node loads this before the program, by NODE_OPTIONS.
 *
 * What has no seed here: keys and connections of TLS, and what native modules and WebAssembly draw themselves.
 */

"use strict";

const crypto = require("node:crypto");
const { syncBuiltinESMExports } = require("node:module");
const { threadId } = require("node:worker_threads");

const { FORKPOINT_FREEZE, FORKPOINT_SEED } = process.env;

if (FORKPOINT_FREEZE) {
  const space = FORKPOINT_FREEZE.indexOf(" ");
  freezeClock(Date.parse(FORKPOINT_FREEZE.slice(0, space)));
  seedDraws(FORKPOINT_FREEZE.slice(space + 1));
} else if (FORKPOINT_SEED) {
  seedDraws(FORKPOINT_SEED);
}

/** Let the clock start at a time. It goes on from there, because a program may wait for a time. */
function freezeClock(startMs) {
  const RealDate = Date;
  const readClock = RealDate.now;
  const differenceMs = startMs - readClock();
  const now = () => readClock() + differenceMs;
  RealDate.now = now;
  globalThis.Date = new Proxy(RealDate, {
    construct: (target, values, caller) => Reflect.construct(target, values.length > 0 ? values : [now()], caller),
    apply: () => new RealDate(now()).toString(),
  });
  RealDate.prototype.constructor = globalThis.Date;
}

/** Draw random numbers, bytes and ids from a seed. Threads draw others than the program, so that no id comes twice. */
function seedDraws(seed) {
  const text = threadId === 0 ? seed : `${seed}/${threadId}`;
  // For the SDK, whose ids must differ in each start.
  globalThis[Symbol.for("forkpoint.randomUUID")] = crypto.randomUUID;
  const number = generator(`${text}/numbers`);
  Math.random = () => ((number() >>> 5) * 2 ** 26 + (number() >>> 6)) / 2 ** 53;
  const bytes = generator(`${text}/bytes`);

  function fill(view) {
    const target = new Uint8Array(view.buffer ?? view, view.byteOffset ?? 0, view.byteLength);
    for (let index = 0; index < target.length; index += 1) target[index] = bytes();
    return view;
  }

  // The functions themselves check their arguments: they run first, and what they drew is replaced. Bytes for a callback
  // are drawn at the call, because callbacks come in any order.
  const { randomBytes, randomFill, randomFillSync, randomInt } = crypto;
  const part = (view, offset = 0, size = undefined) => {
    const unit = view.BYTES_PER_ELEMENT ?? 1;
    const length = size === undefined ? view.byteLength - offset * unit : size * unit;
    return new Uint8Array(view.buffer ?? view, (view.byteOffset ?? 0) + offset * unit, length);
  };
  crypto.randomBytes = function (size, callback) {
    if (callback === undefined) return fill(randomBytes(size));
    let view;
    randomBytes(size, (error) => callback(error, error ? undefined : view));
    view = fill(Buffer.alloc(size));
  };
  crypto.randomFillSync = function (view, offset, size) {
    randomFillSync(...arguments);
    fill(part(view, offset, size));
    return view;
  };
  crypto.randomFill = function (view, ...rest) {
    const callback = rest.pop();
    let content;
    randomFill(view, ...rest, (error) => {
      if (!error) part(view, ...rest).set(content);
      callback(error, view);
    });
    content = fill(new Uint8Array(part(view, ...rest).byteLength));
  };
  crypto.randomInt = function (...limits) {
    const callback = typeof limits.at(-1) === "function" ? limits.pop() : undefined;
    randomInt(...limits);
    const [high, low = 0] = limits.reverse();
    const share = ((bytes() >>> 0) * 2 ** 16 + (bytes() >>> 16)) / 2 ** 48;
    const value = low + Math.floor(share * (high - low));
    if (callback === undefined) return value;
    process.nextTick(callback, undefined, value);
  };
  const drawId = () => {
    const view = fill(Buffer.alloc(16));
    view[6] = (view[6] & 0x0f) | 0x40;
    view[8] = (view[8] & 0x3f) | 0x80;
    return view.toString("hex").replace(/(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
  };
  crypto.randomUUID = () => drawId();
  const web = Object.getPrototypeOf(crypto.webcrypto);
  const { getRandomValues } = web;
  web.getRandomValues = function (view) {
    return fill(getRandomValues.call(this, view));
  };
  web.randomUUID = () => drawId();
  // The names that modules import.
  syncBuiltinESMExports();
}

/** Return a function that draws 32 bits: sfc32, a small generator whose state is the digest of a text. */
function generator(text) {
  const digest = crypto.createHash("sha256").update(text).digest();
  let [a, b, c, d] = [0, 4, 8, 12].map((offset) => digest.readInt32LE(offset));
  return () => {
    const value = (((a + b) | 0) + d) | 0;
    d = (d + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = ((c << 21) | (c >>> 11)) + value | 0;
    return value;
  };
}
