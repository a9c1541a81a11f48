// Only the rows of a long table that can be seen are in the page.

import { useEffect, useRef, useState } from "preact/hooks";

/** Rows above and below those that can be seen, and how many make a table long. */
const MORE = 8;
const LONG = 120;

export function useVirtual(length: number, height: number) {
  const box = useRef<HTMLDivElement>(null);
  const [span, setSpan] = useState({ top: 0, height: 800 });
  useEffect(() => {
    const own = box.current;
    if (own === null) return undefined;
    const look = () => setSpan({ top: own.scrollTop, height: own.clientHeight });
    const observer = new ResizeObserver(look);
    own.addEventListener("scroll", look, { passive: true });
    observer.observe(own);
    return () => {
      own.removeEventListener("scroll", look);
      observer.disconnect();
    };
  }, []);
  if (length <= LONG) return { box, from: 0, to: length, above: 0, below: 0 };
  const from = Math.max(0, Math.floor(span.top / height) - MORE);
  const to = Math.min(length, Math.ceil((span.top + span.height) / height) + MORE);
  return { box, from, to, above: from * height, below: (length - to) * height };
}
