// A page whose code comes when it is opened for the first time.

import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";

export function Later<Props extends object>({
  load,
  given,
}: {
  load(): Promise<ComponentType<Props>>;
  given: Props;
}) {
  const [Page, setPage] = useState<ComponentType<Props> | null>(null);
  useEffect(() => {
    let here = true;
    setPage(null);
    void load().then((found) => here && setPage(() => found));
    return () => {
      here = false;
    };
  }, [load]);
  return Page === null ? <p class="waiting">…</p> : <Page {...given} />;
}
