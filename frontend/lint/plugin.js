// The rules of this project, for oxlint.

import { imports } from "./layers.js";
import { loose } from "./names.js";

export default { meta: { name: "project" }, rules: { imports, loose } };
