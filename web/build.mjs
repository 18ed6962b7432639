// Bundles src/main.ts and src/style.css into the Python package. `npm ci && npm run build`, or `make web`.
import { build } from "esbuild";

const target = new URL("../src/eventide/report/page/", import.meta.url).pathname;
const shared = { bundle: true, minify: true, legalComments: "none", charset: "ascii", logLevel: "warning" };
await build({ ...shared, entryPoints: ["src/main.ts"], outfile: `${target}app.js`, format: "iife", target: "es2022" });
await build({ ...shared, entryPoints: ["src/style.css"], outfile: `${target}style.css`, target: "chrome110" });
