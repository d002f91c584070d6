import { IconPhotoOff } from "@tabler/icons-react";
import { Lexer, type MarkedToken, type Token, type Tokens } from "marked";
import { useMemo, type ReactElement, type ReactNode } from "react";
import { count } from "@/ui/format/numbers";
import { MarkedText } from "@/ui/MarkedText";
import { decodeEntities, safeAddress } from "./addresses";
import classes from "./Markdown.module.css";

/** Deeper parts are shown as they were recorded: a browser lays out only so many nested boxes. */
const MAX_DEPTH = 12;
/**
 * The squares of the lengths of the texts in which emphasis, links and the like are looked for: that takes so much time.
 * Texts beyond this are shown as they were recorded.
 */
const MAX_WORK = 2e8;
/** Parts of one list, paragraph or table; of larger ones, the rest is shown as recorded or left out with a note. */
const MAX_PARTS = 400;
const MAX_ROWS = 200;
const MAX_COLUMNS = 40;

/**
 * Recorded Markdown as React elements. HTML stays text, links lead only to other sites and mail programs, and nothing
 * is loaded: an image is its description and its address.
 */
export default function Markdown({ text }: { text: string }): ReactElement {
  const tokens = useMemo(() => parse(text), [text]);
  return (
    <div className={classes.text} dir="auto">
      {tokens ? <Parts tokens={tokens} depth={0} /> : <Plain text={text} />}
    </div>
  );
}

class BoundedLexer extends Lexer {
  #work = 0;

  override inlineTokens(text: string, tokens: Token[] = []): Token[] {
    this.#work += text.length ** 2;
    if (this.#work <= MAX_WORK) return super.inlineTokens(text, tokens);
    tokens.push({ type: "text", raw: text, text });
    return tokens;
  }
}

/** The parts of a text; null if it is nested so deeply that it cannot be parsed. */
function parse(text: string): Token[] | null {
  try {
    return new BoundedLexer({ gfm: true, breaks: true }).lex(text);
  } catch {
    return null;
  }
}

function Plain({ text }: { text: string }): ReactElement {
  return (
    <span className={classes.plain}>
      <MarkedText text={text} />
    </span>
  );
}

interface PartsProps {
  tokens: readonly Token[];
  depth: number;
}

function Parts({ tokens, depth }: PartsProps): ReactElement {
  if (depth > MAX_DEPTH) return <Plain text={rawOf(tokens)} />;
  return (
    <>
      {tokens.slice(0, MAX_PARTS).map((token, index) => (
        <Part key={index} token={token as MarkedToken} depth={depth + 1} />
      ))}
      {tokens.length > MAX_PARTS && <Plain text={rawOf(tokens.slice(MAX_PARTS))} />}
    </>
  );
}

const rawOf = (tokens: readonly Token[]): string => tokens.map(({ raw }) => raw).join("");

function Part({ token, depth }: { token: MarkedToken; depth: number }): ReactNode {
  const parts = (tokens: readonly Token[]) => <Parts tokens={tokens} depth={depth} />;
  switch (token.type) {
    case "paragraph":
      return <p>{parts(token.tokens)}</p>;
    case "heading": {
      const Heading = token.depth === 1 ? "h4" : token.depth === 2 ? "h5" : "h6";
      return <Heading>{parts(token.tokens)}</Heading>;
    }
    case "blockquote":
      return <blockquote>{parts(token.tokens)}</blockquote>;
    case "list":
      return <List list={token} depth={depth} />;
    case "list_item":
      return <li>{parts(token.tokens)}</li>;
    case "table":
      return <Table table={token} depth={depth} />;
    case "code":
      return (
        <pre>
          <code>
            <MarkedText text={token.text} />
          </code>
        </pre>
      );
    case "codespan":
      return (
        <code>
          <MarkedText text={token.text} />
        </code>
      );
    case "strong":
      return <strong>{parts(token.tokens)}</strong>;
    case "em":
      return <em>{parts(token.tokens)}</em>;
    case "del":
      return <del>{parts(token.tokens)}</del>;
    case "link":
      return <Address href={token.href}>{parts(token.tokens)}</Address>;
    case "image":
      return <Image image={token} />;
    case "checkbox":
      return <span aria-label={token.checked ? "done" : "to do"}>{token.checked ? "☑ " : "☐ "}</span>;
    case "text":
      return token.tokens ? parts(token.tokens) : <MarkedText text={decodeEntities(token.text)} />;
    case "escape":
      return token.text;
    case "br":
      return <br />;
    case "hr":
      return <hr />;
    case "space":
      return null;
    case "html":
      return <span className={classes.markup}>{token.raw}</span>;
    case "def":
      return <Plain text={token.raw} />;
    default:
      // An extension that is not installed here.
      return <Plain text={(token satisfies never as Token).raw} />;
  }
}

function List({ list, depth }: { list: Tokens.List; depth: number }): ReactElement {
  const items = <Parts tokens={list.items} depth={depth} />;
  return list.ordered ? <ol start={list.start === "" ? 1 : list.start}>{items}</ol> : <ul>{items}</ul>;
}

function Table({ table, depth }: { table: Tokens.Table; depth: number }): ReactElement {
  const columns = (cells: readonly Tokens.TableCell[]) => cells.slice(0, MAX_COLUMNS);
  const hiddenRows = table.rows.length - MAX_ROWS;
  const hiddenColumns = table.header.length - MAX_COLUMNS;
  return (
    <div className={classes.table} tabIndex={0} role="region" aria-label="Table">
      <table>
        <thead>
          <tr>
            {columns(table.header).map((cell, index) => (
              <th key={index} scope="col">
                <Parts tokens={cell.tokens} depth={depth} />
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {table.rows.slice(0, MAX_ROWS).map((row, index) => (
            <tr key={index}>
              {columns(row).map((cell, column) => (
                <td key={column}>
                  <Parts tokens={cell.tokens} depth={depth} />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {hiddenRows > 0 && <p className={classes.note}>{count(hiddenRows)} more rows. The raw text shows them.</p>}
      {hiddenColumns > 0 && (
        <p className={classes.note}>{count(hiddenColumns)} more columns. The raw text shows them.</p>
      )}
    </div>
  );
}

/** A link to another site, or the text and the address of one that may not be opened. */
function Address({ href, children }: { href: string; children: ReactNode }): ReactElement {
  const address = safeAddress(decodeEntities(href));
  if (address === null) {
    return (
      <>
        {children} (<code>{href}</code>)
      </>
    );
  }
  return (
    <a href={address} title={address} target="_blank" rel="noopener noreferrer">
      {children}
    </a>
  );
}

/** Loading the image would tell its server who reads the recording. */
function Image({ image }: { image: Tokens.Image }): ReactElement {
  return (
    <span className={classes.image}>
      <IconPhotoOff size={13} aria-label="Image, not loaded" />
      {image.text && <span>{decodeEntities(image.text)}</span>}
      <Address href={image.href}>{image.href}</Address>
    </span>
  );
}
