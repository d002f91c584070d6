/** The thread of `declare`: sends the names of tools to the rerun. */

import { parentPort } from "node:worker_threads";
import { report } from "./declaration.js";
import { send } from "./session.js";

parentPort.on("message", async ({ name, memory }) => {
  let problem = "";
  try {
    await send(`${process.env.FORKPOINT_GATEWAY}/sdk/tools`, JSON.stringify({ names: [name] }));
  } catch (error) {
    problem = error.message;
  }
  report(memory, problem);
});
