// Small parts that many places use.

import type { ComponentChildren, JSX } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";
import type { Mistake } from "../api/types.ts";
import { seconds, UNKNOWN } from "../logic/format.ts";
import { Icon, type IconName } from "./icon.tsx";

interface ButtonProps extends Omit<JSX.HTMLAttributes<HTMLButtonElement>, "icon"> {
  icon?: IconName;
  kind?: "plain" | "main" | "danger" | "quiet";
  type?: "button" | "submit";
  disabled?: boolean;
  label?: string;
  children?: ComponentChildren;
}

export function Button({ icon, kind = "plain", label, children, ...rest }: ButtonProps) {
  return (
    <button
      type="button"
      {...rest}
      class={`button button-${kind} ${children === undefined ? "button-icon" : ""}`}
      aria-label={label}
      title={rest.title ?? label}
    >
      {icon && <Icon name={icon} />}
      {children}
    </button>
  );
}

const STATES: Record<string, string> = {
  active: "good",
  registered: "wait",
  filling: "wait",
  paused: "wait",
  quarantined: "bad",
  dropped: "gone",
  ended: "gone",
};

export function State({ status, reason }: { status: string; reason?: string | null }) {
  return (
    <span class={`state state-${STATES[status] ?? "gone"}`} title={reason ?? undefined}>
      {status}
    </span>
  );
}

/** Input lag, wait for disorder and own work as one bar: where the time of an answer goes. */
export function Freshness({
  parts,
}: {
  parts: {
    input_lag: number | null;
    disorder_wait: number | null;
    own_work: number | null;
  } | null;
}) {
  const known: [string, string, number | null][] = [
    ["input", "input lag", parts?.input_lag ?? null],
    ["wait", "wait for disorder", parts?.disorder_wait ?? null],
    ["work", "own work", parts?.own_work ?? null],
  ];
  const total = known.reduce((sum, [, , value]) => sum + Math.max(0, value ?? 0), 0);
  if (known.every(([, , value]) => value === null)) return <span class="unknown">{UNKNOWN}</span>;
  const about = known.map(([, name, value]) => `${name} ${seconds(value)}`).join(" + ");
  return (
    <span class="freshness" title={about}>
      <span class="freshness-total">{seconds(total)}</span>
      <span class="freshness-bar" role="img" aria-label={about}>
        {known.map(([kind, , value]) => (
          <span
            class={`freshness-${kind}`}
            style={{ flexGrow: total === 0 ? 0 : Math.max(0, value ?? 0) / total }}
          />
        ))}
      </span>
    </span>
  );
}

export function Spark({ values, label }: { values: readonly number[]; label: string }) {
  const most = Math.max(1e-9, ...values);
  const width = 52;
  const height = 18;
  const step = width / Math.max(1, values.length - 1);
  const points = values.map((value, place) => {
    const y = height - 1.5 - (value / most) * (height - 3);
    return `${(place * step).toFixed(1)},${y.toFixed(1)}`;
  });
  return (
    <svg class="spark" width={width} height={height} role="img" aria-label={label}>
      {points.length > 1 && <polyline points={points.join(" ")} />}
    </svg>
  );
}

export function MistakeBox({ mistake }: { mistake: Mistake }) {
  const { line, column } = mistake.where ?? {};
  return (
    <div class="mistake" role="alert">
      <strong>{mistake.what}</strong>
      {line !== undefined && (
        <span class="mistake-place">
          line {line}, column {column}
        </span>
      )}
      {mistake.would_work !== null && <p>{mistake.would_work}</p>}
    </div>
  );
}

export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <h2>{title}</h2>
      {children}
    </div>
  );
}

export function Field({ label, children }: { label: string; children: ComponentChildren }) {
  return (
    <label class="field">
      <span>{label}</span>
      {children}
    </label>
  );
}

export interface Tab {
  readonly id: string;
  readonly name: string;
  readonly mark?: string | number | null;
}

export function Tabs({
  tabs,
  chosen,
  onChoose,
  label,
}: {
  tabs: readonly Tab[];
  chosen: string;
  onChoose(id: string): void;
  label: string;
}) {
  const bar = useRef<HTMLDivElement>(null);
  const move = (event: KeyboardEvent) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step === undefined) return;
    const place = tabs.findIndex(({ id }) => id === chosen);
    const next = tabs[(place + step + tabs.length) % tabs.length];
    if (next === undefined) return;
    onChoose(next.id);
    event.preventDefault();
    requestAnimationFrame(() => bar.current?.querySelector<HTMLElement>("[tabindex='0']")?.focus());
  };
  return (
    <div class="tabs" role="tablist" aria-label={label} ref={bar} onKeyDown={move}>
      {tabs.map(({ id, name, mark }) => (
        <button
          type="button"
          role="tab"
          id={`tab-${id}`}
          aria-selected={id === chosen}
          aria-controls={`panel-${id}`}
          tabIndex={id === chosen ? 0 : -1}
          onClick={() => onChoose(id)}
        >
          {name}
          {mark !== null && mark !== undefined && mark !== 0 && <span class="tab-mark">{mark}</span>}
        </button>
      ))}
    </div>
  );
}

export function Panel({ id, children }: { id: string; children: ComponentChildren }) {
  return (
    <div role="tabpanel" class="panel" id={`panel-${id}`} aria-labelledby={`tab-${id}`}>
      {children}
    </div>
  );
}

/** A dialog of the browser: it holds the focus, Escape closes it. */
export function Dialog({
  title,
  onClose,
  children,
}: {
  title: string;
  onClose(): void;
  children: ComponentChildren;
}) {
  const dialog = useRef<HTMLDialogElement>(null);
  const name = useId();
  useEffect(() => {
    const before = document.activeElement;
    dialog.current?.showModal();
    return () => before instanceof HTMLElement && before.focus();
  }, []);
  return (
    <dialog
      ref={dialog}
      aria-labelledby={name}
      onClose={onClose}
      onClick={(event) => event.target === event.currentTarget && event.currentTarget.close()}
    >
      <div class="dialog">
        <header>
          <h2 id={name}>{title}</h2>
          <Button icon="close" kind="quiet" label="Close" onClick={() => dialog.current?.close()} />
        </header>
        {children}
      </div>
    </dialog>
  );
}

export function Confirm({
  title,
  action,
  onYes,
  onClose,
  children,
}: {
  title: string;
  action: string;
  onYes(): void;
  onClose(): void;
  children: ComponentChildren;
}) {
  return (
    <Dialog title={title} onClose={onClose}>
      {children}
      <footer>
        <Button onClick={onClose}>Cancel</Button>
        <Button
          kind="danger"
          onClick={() => {
            onYes();
            onClose();
          }}
        >
          {action}
        </Button>
      </footer>
    </Dialog>
  );
}
