// The shapes of a chart, drawn on the canvas of uPlot in the order: rows, frames, windows.

import type uPlot from "uplot";
import { steps, type Extent } from "../logic/extents.ts";
import type { Series } from "../logic/thin.ts";

export interface Drawn {
  readonly key: string;
  /** The number of its colour. */
  readonly colour: number;
  readonly extents: readonly Extent[];
  readonly series: Series;
}

interface What {
  readonly drawn: readonly Drawn[];
  readonly frames: boolean;
  readonly apart: boolean;
}

type Colour = (name: string) => string;

export function drawShapes(plot: uPlot, { drawn, frames, apart }: What, colour: Colour): void {
  const { ctx, bbox } = plot;
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
  drawn.forEach((own, lane) => {
    const ink = colour(`--key-${own.colour}`);
    if (frames) drawFrames(plot, own, ink, lane);
    drawSeries(plot, own.series, ink, apart ? "s" : "y");
    if (!frames) drawSteps(plot, own.extents, ink);
  });
  ctx.restore();
}

function drawSeries(plot: uPlot, { x, y }: Series, ink: string, scale: string): void {
  const { ctx } = plot;
  ctx.strokeStyle = ink;
  ctx.globalAlpha = 0.38;
  ctx.lineWidth = devicePixelRatio;
  ctx.beginPath();
  let broken = true;
  x.forEach((at, place) => {
    const value = y[place];
    if (value === null || value === undefined) {
      broken = true;
      return;
    }
    const left = plot.valToPos(at, "x", true);
    const top = plot.valToPos(value, scale, true);
    if (broken) ctx.moveTo(left, top);
    else ctx.lineTo(left, top);
    broken = false;
  });
  ctx.stroke();
  ctx.globalAlpha = 1;
}

function drawSteps(plot: uPlot, extents: readonly Extent[], ink: string): void {
  const { ctx } = plot;
  const open = extents.filter((extent) => extent.open);
  drawLine(plot, steps(extents.filter((extent) => !extent.open)), ink, []);
  // What is open may still change: a broken line, from where the certain one ends.
  if (open.length > 0) drawLine(plot, steps(open), ink, [5, 4]);
  ctx.fillStyle = ink;
  for (const extent of extents) {
    if (extent.complete || extent.open || extent.value === null) continue;
    const left = plot.valToPos(extent.to, "x", true);
    const top = plot.valToPos(extent.value, "y", true);
    ctx.beginPath();
    ctx.arc(left, top, 3 * devicePixelRatio, 0, 2 * Math.PI);
    ctx.stroke();
  }
}

function drawLine(
  plot: uPlot,
  { x, y }: { x: number[]; y: (number | null)[] },
  ink: string,
  dashes: number[],
): void {
  const { ctx } = plot;
  ctx.strokeStyle = ink;
  ctx.lineWidth = 2 * devicePixelRatio;
  ctx.setLineDash(dashes.map((dash) => dash * devicePixelRatio));
  ctx.beginPath();
  let broken = true;
  x.forEach((at, place) => {
    const value = y[place];
    if (value === null || value === undefined) {
      broken = true;
      return;
    }
    const left = plot.valToPos(at, "x", true);
    const top = plot.valToPos(value, "y", true);
    if (broken) ctx.moveTo(left, top);
    else ctx.lineTo(left, top);
    broken = false;
  });
  ctx.stroke();
  ctx.setLineDash([]);
}

/**
 * A frame is a light rectangle from the top to the bottom, and a bar of its own lane at the top,
 * so that frames of several keys at one time can be told apart.
 */
function drawFrames(plot: uPlot, { extents }: Drawn, ink: string, lane: number): void {
  const { ctx, bbox } = plot;
  const unit = devicePixelRatio;
  const bar = bbox.top + (3 + lane * 9) * unit;
  for (const { from, to, value, open } of extents) {
    const left = plot.valToPos(from, "x", true);
    const width = Math.max(plot.valToPos(to, "x", true) - left, 2 * unit);
    ctx.fillStyle = ink;
    ctx.strokeStyle = ink;
    ctx.globalAlpha = open ? 0.09 : 0.13;
    ctx.fillRect(left, bbox.top, width, bbox.height);
    ctx.globalAlpha = open ? 0.55 : 1;
    ctx.fillRect(left, bar, width, 6 * unit);
    ctx.globalAlpha = 1;
    ctx.lineWidth = unit;
    upright(plot, left, []);
    // The end of an open frame is not there yet.
    upright(plot, left + width, open ? [4 * unit, 4 * unit] : []);
    if (value === null) continue;
    const top = plot.valToPos(value, "y", true);
    ctx.lineWidth = 2 * unit;
    ctx.beginPath();
    ctx.moveTo(left, top);
    ctx.lineTo(left + width, top);
    ctx.stroke();
  }
}

function upright({ ctx, bbox }: uPlot, left: number, dashes: number[]): void {
  ctx.globalAlpha = 0.6;
  ctx.setLineDash(dashes);
  ctx.beginPath();
  ctx.moveTo(left, bbox.top);
  ctx.lineTo(left, bbox.top + bbox.height);
  ctx.stroke();
  ctx.setLineDash([]);
  ctx.globalAlpha = 1;
}
