// A text while it is typed: its mistakes, and what it would cost and share.

import { useEffect, useState } from "preact/hooks";
import { api, asMistake, Refusal } from "../api/client.ts";
import type { Addition, Mistake } from "../api/types.ts";

export interface Checked {
  readonly text: string;
  readonly mistakes: readonly Mistake[];
  readonly addition: Addition | null;
  readonly plan: string | null;
}

export const UNCHECKED: Checked = { text: "", mistakes: [], addition: null, plan: null };
/** Milliseconds after the last key. */
const PAUSE = 250;

export function useChecked(text: string): Checked {
  const [checked, setChecked] = useState<Checked>(UNCHECKED);
  useEffect(() => {
    if (text.trim() === "") {
      setChecked(UNCHECKED);
      return undefined;
    }
    let newest = true;
    const timer = setTimeout(() => {
      void check(text).then((found) => newest && setChecked(found));
    }, PAUSE);
    return () => {
      newest = false;
      clearTimeout(timer);
    };
  }, [text]);
  return checked;
}

async function check(text: string): Promise<Checked> {
  try {
    const { errors } = await api.check(text);
    if (errors.length > 0) return { text, mistakes: errors, addition: null, plan: null };
    const { addition, plan } = await api.wouldAdd(text);
    return { text, mistakes: [], addition, plan };
  } catch (error) {
    const mistake = asMistake(error);
    const refused = error instanceof Refusal && (mistake.status ?? 500) < 500;
    return { text, mistakes: refused ? [mistake] : [], addition: null, plan: null };
  }
}
