// The Vega view of a chart, which Streamlit keeps to itself: Vega's own way leads to it from what it has drawn.
const viewOf = (chart) => {
  for (const mark of chart.querySelectorAll("svg.marks [class*=mark-] > *")) {
    const view = mark.__data__?.mark?.group?.context?.dataflow;
    if (view) return view;
  }
  return null;
};
