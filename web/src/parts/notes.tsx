import { dismiss, notes } from "../state/notes.ts";
import { Button } from "./small.tsx";

export function Notes() {
  return (
    <div class="notes" role="status" aria-live="polite">
      {notes.value.map(({ id, kind, text, hint }) => (
        <div key={id} class={`note note-${kind}`}>
          <div>
            <p>{text}</p>
            {hint !== null && <p class="note-hint">{hint}</p>}
          </div>
          <Button icon="close" kind="quiet" label="Dismiss" onClick={() => dismiss(id)} />
        </div>
      ))}
    </div>
  );
}
