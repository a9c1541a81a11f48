// The same results elsewhere: as a command, as Python, as SQL.

export interface Snippet {
  readonly name: string;
  readonly text: string;
}

export function snippets(address: string, id: string, name: string, text: string): Snippet[] {
  return [
    { name: "curl", text: `curl '${address}/api/v1/queries/${encodeURIComponent(id)}/results?format=csv'` },
    {
      name: "Python",
      text: [
        "import muntin as mt",
        "",
        `engine = mt.connect(${JSON.stringify(address)})`,
        `table = engine[${JSON.stringify(name)}].results()`,
        "frame = table.to_pandas()",
      ].join("\n"),
    },
    { name: "SQL", text: text.trim().replace(/;?$/, ";") },
  ];
}
