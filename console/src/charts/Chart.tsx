// A chart with its title, legend, values, and the ways to take it along. Charts over time share one zoom.
import { useCallback, useContext, useEffect, useId, useMemo, useRef, useState, useSyncExternalStore } from "react";
import type { KeyboardEvent, MouseEvent, PointerEvent } from "react";
import { ValueTableView } from "../components/DataTable";
import { copyText, save } from "../components/files";
import { usePrinting } from "../components/printing";
import { clock } from "../format";
import { ThemeContext, ZoomContext, type Zoom } from "./context";
import { toCsv } from "./csv";
import { echarts, type Option } from "./echarts";
import { afterLegendClick, legendRows, NONE } from "./legend";
import { tailName } from "./stage";
import { optionOf, sentenceOf, valuesOf, type ChartModel, type View } from "./model";
import { heatColour, PALETTES, type Theme } from "./palette";

/** A picture that is saved, px: its drawing with one row of a legend is so high. */
const WIDTH = 960;
const HEIGHT = 400;
const ROW = 20;

/** Fewer pixels are a click and no selection. */
const LEAST_DRAG_PX = 6;

type Instance = ReturnType<typeof echarts.init>;

/** `live`: the values change while one looks, so the box keeps its size and is drawn only while it is seen. */
export function Chart({ model, wide, live = false, heading: Heading = "h4" }: { model: ChartModel; wide?: boolean; live?: boolean; heading?: "h3" | "h4" }) {
  const theme = useContext(ThemeContext);
  const palette = PALETTES[theme];
  const zoom = useContext(ZoomContext);
  const [hidden, setHidden] = useState<ReadonlySet<string>>(NONE);
  const [log, setLog] = useState(model.kind === "lines" && model.log === true);
  const [table, setTable] = useState(false);
  const [said, setSaid] = useState("");
  const box = useRef<HTMLDivElement>(null);
  const chart = useRef<Instance | null>(null);
  const [width, setWidth] = useState(600);
  const title = useId();
  const overTime = model.kind === "heat" || model.x === "time";

  const view: View = useMemo(
    () => ({ palette, hidden, log, zoom: overTime ? zoom.range : null, width }),
    [palette, hidden, log, overTime, zoom.range, width],
  );

  const empty = model.empty !== undefined;
  const seen = useSeen(box, live && !empty);
  const shape = useRef("");

  useEffect(() => {
    const element = box.current;
    if (!element || empty) return;
    const made = echarts.init(element, null, { renderer: "canvas" });
    chart.current = made;
    shape.current = "";
    const watch = new ResizeObserver(() => {
      made.resize();
      setWidth(element.clientWidth);
    });
    watch.observe(element);
    return () => {
      watch.disconnect();
      made.dispose();
      chart.current = null;
    };
  }, [empty]);

  useEffect(() => {
    const now = live ? `${theme} ${log} ${[...hidden].join()} ${width}` : "";
    const same = now !== "" && now === shape.current;
    // New values wait until they are looked at; a new look does not.
    if (same && !seen) return;
    shape.current = now;
    // New values alone leave the axes and what is under the pointer as they are: a third of the work of a chart made anew.
    chart.current?.setOption(optionOf(model, view) as never, same ? { replaceMerge: ["series"] } : { notMerge: true });
  }, [model, view, seen, live, theme, log, hidden, width, empty]);

  const say = useCallback((text: string) => {
    setSaid(text);
    setTimeout(() => setSaid(""), 2500);
  }, []);

  const take = async (what: "csv" | "png" | "svg") => {
    if (what === "csv") {
      say((await copyText(toCsv(valuesOf(model)))) ? "Copied" : "The browser does not let this page copy");
      return;
    }
    const name = `${model.id}.${what}`;
    const [still, height] = withTitle(optionOf(model, { ...view, still: true, width: WIDTH }), model, view);
    save(name, what === "svg" ? svgOf(still, height) : await pngOf(still, height));
    say(`Saved ${name}`);
  };

  return (
    <figure className={`chart${wide ? " wide" : ""}${live ? " live" : ""}`} data-chart={model.id}>
      <figcaption>
        <Heading id={title} className="chart-title">{model.title}</Heading>
        <p className="hint">{model.hint}</p>
      </figcaption>
      {model.empty ? (
        <p className="empty">{model.empty}</p>
      ) : (
        <>
          <Legend model={model} hidden={hidden} onChange={setHidden} theme={theme} />
          <Plot box={box} chart={chart} label={sentenceOf(model)} model={model} zoom={overTime ? zoom : null} />
          <div className="tools">
            {model.kind === "lines" && model.mayLog && (
              <button type="button" aria-pressed={log} onClick={() => setLog(!log)}>Logarithmic</button>
            )}
            <button type="button" aria-pressed={table} onClick={() => setTable(!table)}>Table</button>
            <button type="button" onClick={() => void take("csv")}>Copy CSV</button>
            <button type="button" onClick={() => void take("png")}>PNG</button>
            <button type="button" onClick={() => void take("svg")}>SVG</button>
            <span role="status">{said}</span>
          </div>
          {table && <ValueTableView table={valuesOf(model)} label={model.title} />}
        </>
      )}
    </figure>
  );
}

const whenTabChanges = (changed: () => void) => {
  document.addEventListener("visibilitychange", changed);
  return () => document.removeEventListener("visibilitychange", changed);
};
const isTabSeen = () => document.visibilityState === "visible";

/** Whether an element is in sight, or near, in a tab that is seen, or on paper; always, where that does not matter. */
function useSeen(box: React.RefObject<HTMLElement | null>, matters: boolean): boolean {
  const [near, setNear] = useState(true);
  const printing = usePrinting(matters);
  const tab = useSyncExternalStore(whenTabChanges, isTabSeen, () => true);
  useEffect(() => {
    const element = box.current?.closest("figure") ?? box.current;
    if (!matters || !element) return;
    const watch = new IntersectionObserver((entries) => setNear(entries.some((entry) => entry.isIntersecting)), { rootMargin: "200px" });
    watch.observe(element);
    return () => watch.disconnect();
  }, [box, matters]);
  return !matters || printing || (near && tab);
}

/** The drawing itself: pointer, keys, and the selection of a time. */
function Plot(props: {
  box: React.RefObject<HTMLDivElement | null>;
  chart: React.RefObject<Instance | null>;
  label: string;
  model: ChartModel;
  zoom: Zoom | null;
}) {
  const { box, chart, label, model, zoom } = props;
  const [drag, setDrag] = useState<[number, number] | null>(null);
  const at = useRef(0);

  const xOf = (px: number) => chart.current?.convertFromPixel({ xAxisIndex: 0 }, px) as number | undefined;
  const local = (event: PointerEvent | MouseEvent) => event.clientX - (box.current?.getBoundingClientRect().left ?? 0);

  const down = (event: PointerEvent<HTMLDivElement>) => {
    if (!zoom || event.button !== 0 || event.pointerType !== "mouse") return;
    event.currentTarget.setPointerCapture(event.pointerId);
    setDrag([local(event), local(event)]);
  };
  const move = (event: PointerEvent) => {
    if (drag) setDrag([drag[0], local(event)]);
  };
  const up = () => {
    if (!drag || !zoom) return;
    setDrag(null);
    const [left, right] = [Math.min(...drag), Math.max(...drag)];
    if (right - left < LEAST_DRAG_PX) return;
    const [from, to] = [xOf(left), xOf(right)];
    if (from === undefined || to === undefined || !(to > from)) return;
    zoom.set([Math.max(0, from), Math.min(endOf(model), to)]);
  };
  const keys = (event: KeyboardEvent) => {
    const points = model.kind === "lines" ? (model.lines[0]?.points ?? []) : [];
    if (event.key === "ArrowRight" || event.key === "ArrowLeft") {
      const step = event.key === "ArrowRight" ? 1 : -1;
      at.current = Math.max(0, Math.min(points.length - 1, at.current + step));
      chart.current?.dispatchAction({ type: "showTip", seriesIndex: 0, dataIndex: at.current });
    } else if (zoom && (event.key === "+" || event.key === "-")) {
      const [from, to] = zoom.range ?? [0, endOf(model)];
      const middle = points[at.current]?.[0] ?? (from + to) / 2;
      const half = ((to - from) / 2) * (event.key === "+" ? 0.5 : 2);
      const range: [number, number] = [Math.max(0, middle - half), Math.min(endOf(model), middle + half)];
      zoom.set(range[0] <= 0 && range[1] >= endOf(model) ? null : range);
    } else if (zoom && (event.key === "0" || event.key === "Escape")) {
      zoom.set(null);
    } else {
      return;
    }
    event.preventDefault();
  };

  return (
    <div
      className="plot"
      tabIndex={0}
      role="application"
      aria-roledescription="chart"
      aria-label={`${label} Arrow keys show values${zoom ? ", plus and minus zoom, 0 shows all" : ""}.`}
      onPointerDown={down}
      onPointerMove={move}
      onPointerUp={up}
      onPointerCancel={() => setDrag(null)}
      onDoubleClick={() => zoom?.set(null)}
      onKeyDown={keys}
      onBlur={() => chart.current?.dispatchAction({ type: "hideTip" })}
    >
      <div className="canvas" ref={box} />
      {drag && <div className="selection" style={{ left: Math.min(...drag), width: Math.abs(drag[1] - drag[0]) }} />}
      {zoom?.range && (
        <button type="button" className="unzoom" onClick={() => zoom.set(null)}>
          {clock(zoom.range[0])} to {clock(zoom.range[1])} · show all
        </button>
      )}
    </div>
  );
}

function endOf(model: ChartModel): number {
  return model.kind === "heat" ? model.xEnd : (model.xEnd ?? 0);
}

function Legend(props: {
  model: ChartModel;
  hidden: ReadonlySet<string>;
  onChange(hidden: ReadonlySet<string>): void;
  theme: Theme;
}) {
  const { model, hidden, onChange, theme } = props;
  const palette = PALETTES[theme];
  if (model.kind === "heat") {
    const steps = [0, 0.25, 0.5, 0.75, 1].map((share) => heatColour(palette, share));
    return (
      <div className="legend">
        <span>1</span>
        <span className="ramp" style={{ background: `linear-gradient(90deg, ${steps.join(",")})` }} />
        <span>{model.most.toLocaleString("en")} operations in a cell</span>
      </div>
    );
  }
  const lines = model.lines.filter((line) => !line.continues);
  const tails = (name: string) => model.lines.filter((line) => line.continues && line.name === tailName(name)).map((line) => line.name);
  const click = (name: string, one: boolean) => {
    const names = lines.map((line) => line.name);
    const bare = new Set([...hidden].filter((other) => names.includes(other)));
    const next = afterLegendClick(names, bare, name, one);
    onChange(new Set([...next].flatMap((other) => [other, ...tails(other)])));
  };
  return (
    <div className="legend" role="group" aria-label="Lines">
      {lines.map((line) => (
        <button
          key={line.name}
          type="button"
          aria-pressed={!hidden.has(line.name)}
          title="Click: only this line. Shift and click: on or off."
          onClick={(event) => click(line.name, event.shiftKey || event.ctrlKey || event.metaKey)}
        >
          <span
            className="stroke"
            style={{ borderTopColor: palette.categories[line.colour % 8], borderTopStyle: line.dash ?? "solid" }}
          />
          {line.name}
        </button>
      ))}
    </div>
  );
}

/** For files: the title, and a legend, which on the page is beside the drawing; and how high that is. */
function withTitle(option: Option, model: ChartModel, view: View): [Option, number] {
  const { palette, hidden } = view;
  const font = "12px system-ui, sans-serif";
  const graphic: Option[] = [{ type: "text", left: 12, top: 8, style: { text: model.title, fill: palette.text, font: "600 15px system-ui, sans-serif", width: WIDTH - 24, overflow: "truncate" } }];
  const lines = (model.kind === "lines" ? model.lines : []).filter((line) => !line.continues && !hidden.has(line.name));
  const entries = legendRows(lines.map((line) => line.name), WIDTH);
  entries.forEach(({ text, x, row }, at) => {
    const line = lines[at]!;
    const colour = palette.categories[line.colour % palette.categories.length]!;
    const lineDash = line.dash === "dashed" ? [6, 4] : line.dash === "dotted" ? [2, 3] : undefined;
    graphic.push({ type: "line", left: x, top: 40 + row * ROW, shape: { x1: 0, y1: 0, x2: 20, y2: 0 }, style: { stroke: colour, lineWidth: 3, lineDash } });
    graphic.push({ type: "text", left: x + 26, top: 34 + row * ROW, style: { text, fill: palette.soft, font } });
  });
  const rows = (entries.at(-1)?.row ?? -1) + 1;
  const top = rows > 0 ? 42 + rows * ROW : 40;
  return [{ ...option, grid: { ...(option["grid"] as object), top }, graphic }, HEIGHT + Math.max(0, rows - 1) * ROW];
}

function svgOf(option: Option, height: number): Blob {
  const chart = echarts.init(null, null, { renderer: "svg", ssr: true, width: WIDTH, height });
  chart.setOption(option as never);
  const text = chart.renderToSVGString();
  chart.dispose();
  return new Blob([text], { type: "image/svg+xml" });
}

async function pngOf(option: Option, height: number): Promise<Blob> {
  const element = document.createElement("div");
  element.style.cssText = `position:absolute;left:-2000px;width:${WIDTH}px;height:${height}px`;
  document.body.appendChild(element);
  const chart = echarts.init(element, null, { renderer: "canvas", devicePixelRatio: 2 });
  chart.setOption(option as never);
  const canvas = chart.renderToCanvas({ pixelRatio: 2 });
  const blob = await new Promise<Blob | null>((done) => canvas.toBlob(done, "image/png"));
  chart.dispose();
  element.remove();
  return blob ?? new Blob();
}
