import { render } from "preact";
import { App } from "./app.tsx";
import { open } from "./state/desk.ts";
import { listen } from "./state/keys.ts";

listen();
const page = document.getElementById("page");
if (page !== null) render(<App />, page);
void open();
