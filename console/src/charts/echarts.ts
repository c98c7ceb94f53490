// The parts of ECharts that the report uses, and nothing else of it.
import { CustomChart, LineChart } from "echarts/charts";
import { GraphicComponent, GridComponent, MarkAreaComponent, MarkLineComponent, TooltipComponent } from "echarts/components";
import * as echarts from "echarts/core";
import { CanvasRenderer, SVGRenderer } from "echarts/renderers";

echarts.use([
  LineChart, CustomChart, GraphicComponent, GridComponent, TooltipComponent, MarkAreaComponent, MarkLineComponent, CanvasRenderer, SVGRenderer,
]);

export { echarts };
export type Option = Record<string, unknown>;
