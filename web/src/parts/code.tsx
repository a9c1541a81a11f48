// The editor of SQL: CodeMirror with our words, completion from the catalog, and errors in place.

import { autocompletion, completionKeymap, type CompletionContext } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { SQLDialect, sql } from "@codemirror/lang-sql";
import {
  bracketMatching,
  HighlightStyle,
  indentOnInput,
  syntaxHighlighting,
} from "@codemirror/language";
import { lintKeymap, setDiagnostics, type Diagnostic } from "@codemirror/lint";
import { Annotation, EditorState } from "@codemirror/state";
import {
  drawSelection,
  EditorView,
  keymap,
  lineNumbers,
  placeholder,
  tooltips,
} from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { useEffect, useRef } from "preact/hooks";
import type { Mistake } from "../api/types.ts";
import { choices } from "../logic/completion.ts";
import { placeOf } from "../logic/place.ts";
import { catalog } from "../state/desk.ts";

const WORDS =
  "select from where group by having order limit as and or not in is null between case when then " +
  "else end distinct create query stream drop pause resume show explain range slide tumbling rows " +
  "frame frames threshold delta boundary aggregate trend density lasting ties mean partition wattr " +
  "sattr landmark session origin emit early every start history fill before after of asof join on " +
  "seconds second minutes minute hours hour days day tiebreak like cast with into true false interval " +
  "timestamp date";

const DIALECT = SQLDialect.define({
  keywords: WORDS,
  types: "int bigint double string boolean decimal float",
  builtin: "count sum avg min max stddev variance percentile median first last",
  operatorChars: "*+-%<>!=&|~^/",
  doubleQuotedStrings: false,
});

const HIGHLIGHT = HighlightStyle.define([
  { tag: tags.keyword, color: "var(--code-word)", fontWeight: "600" },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--code-string)" },
  { tag: [tags.number, tags.bool, tags.null], color: "var(--code-number)" },
  { tag: [tags.comment, tags.lineComment], color: "var(--soft)", fontStyle: "italic" },
  { tag: [tags.standard(tags.name)], color: "var(--code-function)" },
]);

/** A change that comes from outside, of which the outside need not hear. */
const GIVEN = Annotation.define<boolean>();

export function Code({
  text,
  onText,
  mistakes,
  onRun,
  label,
  example,
}: {
  text: string;
  onText(text: string): void;
  mistakes: readonly Mistake[];
  onRun?(): void;
  label: string;
  example?: string;
}) {
  const box = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView | null>(null);
  // What was typed comes back as `text` later, when more may have been typed: it is no change then.
  const typed = useRef<string[]>([]);
  const report = (now: string) => {
    typed.current.push(now);
    onText(now);
  };
  const given = useRef({ onText: report, onRun });
  given.current = { onText: report, onRun };
  useEffect(() => {
    if (box.current === null) return undefined;
    const made = new EditorView({
      parent: box.current,
      state: EditorState.create({ doc: text, extensions: extensions(given, label, example) }),
    });
    view.current = made;
    return () => made.destroy();
  }, []);
  useEffect(() => {
    const place = typed.current.lastIndexOf(text);
    if (place >= 0) return void typed.current.splice(0, place + 1);
    const own = view.current;
    if (own === null || own.state.doc.toString() === text) return;
    own.dispatch({
      changes: { from: 0, to: own.state.doc.length, insert: text },
      annotations: GIVEN.of(true),
    });
  }, [text]);
  useEffect(() => {
    const own = view.current;
    if (own === null) return;
    own.dispatch(setDiagnostics(own.state, diagnostics(own.state.doc.toString(), mistakes)));
  }, [mistakes]);
  return <div class="code" ref={box} />;
}

interface Given {
  readonly current: { onText(text: string): void; onRun?(): void };
}

function extensions(given: Given, label: string, example = "") {
  const run = () => {
    given.current.onRun?.();
    return given.current.onRun !== undefined;
  };
  return [
    lineNumbers(),
    history(),
    drawSelection(),
    indentOnInput(),
    bracketMatching(),
    placeholder(example),
    tooltips({ position: "fixed" }),
    sql({ dialect: DIALECT, upperCaseKeywords: true }),
    syntaxHighlighting(HIGHLIGHT),
    autocompletion({ override: [complete], icons: false }),
    keymap.of([
      { key: "Mod-Enter", run },
      ...completionKeymap,
      ...lintKeymap,
      ...historyKeymap,
      ...defaultKeymap,
    ]),
    EditorView.lineWrapping,
    EditorView.contentAttributes.of({ "aria-label": label }),
    EditorView.updateListener.of((update) => {
      const outside = update.transactions.some((own) => own.annotation(GIVEN) === true);
      if (update.docChanged && !outside) given.current.onText(update.state.doc.toString());
    }),
  ];
}

function complete(context: CompletionContext) {
  const word = context.matchBefore(/[\w.]*/);
  const text = context.state.doc.toString();
  if (word === null) return null;
  if (word.from === word.to && !context.explicit && !/[\s[,(]$/.test(text.slice(0, word.from)))
    return null;
  const { streams, functions, keywords } = catalog.value;
  const found = choices(text, context.pos, streams, functions, keywords);
  const only = word.from === word.to && !context.explicit;
  const shown = only ? found.filter(({ kind }) => kind === "stream") : found;
  if (shown.length === 0) return null;
  return {
    from: word.from,
    options: shown.map(({ label, kind, detail, insert }) => ({
      label,
      type: kind,
      ...(detail === undefined ? {} : { detail }),
      ...(insert === undefined ? {} : { apply: insert }),
      boost: { stream: 3, column: 2, query: 2, function: 1, keyword: 0 }[kind],
    })),
    validFor: /^[\w.]*$/,
  };
}

function diagnostics(text: string, mistakes: readonly Mistake[]): Diagnostic[] {
  return mistakes.map((mistake) => ({
    ...placeOf(text, mistake.where),
    severity: "error" as const,
    message: [mistake.what, mistake.would_work].filter(Boolean).join("\n"),
  }));
}
